#include "eval/run.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <map>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "eval/jobs.h"
#include "eval/run_folder.h"
#include "eval/vote.h"
#include "search/rerank.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

constexpr int kDefaultConcurrency = 16;

void refuse_repeats(const std::vector<std::string>& names, std::string_view option) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i))
      bad_input("{}: {} is given twice", option, names[i]);
}

// traces/TASK-QUESTION-METHOD-SAMPLE.html
std::string trace_name(const Job& job) {
  std::string method = job.method;
  for (char& c : method)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '=') c = '-';
  return fmt::format("traces/{}-{}-{}-{}.html", job.task->name, job.question, method, job.sample);
}

Sample blank_sample(const Job& job) {
  Sample sample;
  sample.task = job.task->name;
  sample.id = job.problem->id;
  sample.question = static_cast<int>(job.question);
  sample.method = job.method;
  sample.sample = job.sample;
  sample.permutation = job.problem->permutation;
  return sample;
}

Sample record(const LoadedModel& model, const Job& job, const SearchResult& result,
              const CodeJudge* judge, const EvalOptions& options) {
  const Candidate& answer = result.answer();
  Sample sample = blank_sample(job);
  sample.answer = model.text(answer.tokens);
  sample.score = answer.score;
  sample.truncated = !answer.ended;
  sample.answer_tokens = static_cast<std::int64_t>(answer.tokens.size());
  sample.generated_tokens = result.ledger.generated_tokens;
  sample.scored_tokens = result.ledger.scored_tokens;
  sample.prompt_tokens = result.ledger.prompt_tokens;
  sample.cached_tokens = result.ledger.cached_tokens;
  sample.seconds = result.ledger.seconds;
  if (options.deterministic) {
    // How much of a prompt was shared depends on what ran just before.
    sample.prompt_tokens += sample.cached_tokens;
    sample.cached_tokens = 0;
    sample.seconds = 0;
  }
  if (options.traces && !result.trace.blocks.empty()) {
    sample.trace = trace_name(job);
    write_file(options.out / sample.trace,
               to_html(result.trace, job.problem->question.text,
                       [&](TokenId token) { return model.token_text(token); }));
  }
  grade(*job.task, *job.problem, judge, sample);
  return sample;
}

// Samples of a question differ by their seed; methods share it, so that they
// are compared on the same luck.
std::uint64_t seed_of(const Job& job, const EvalOptions& options) {
  return options.seed + 0x9E3779B97F4A7C15ull * static_cast<std::uint64_t>(job.sample);
}

SearchResult search(const LoadedModel& model, const Job& job, const EvalOptions& options) {
  const Settings settings = parse_method(job.method);
  const Prompts prompts = model.prompts(job.problem->question, settings);
  SearchHooks hooks;
  hooks.vote = [&](const std::vector<TokenId>& tokens) {
    return vote(*job.task, *job.problem, model.text(tokens));
  };
  return run_search(
      {model.engine(), prompts, seed_of(job, options), job.question, options.cancellation},
      settings, hooks);
}

// One best-of-n for every job, from the same samples.
std::vector<SearchResult> rerank_jobs(const LoadedModel& model, const Unit& unit,
                                      const EvalOptions& options) {
  const Job& first = unit.front();
  const Settings plain = without_contexts(parse_method(first.method));
  const Prompts base = model.prompts(first.problem->question, plain);
  std::vector<Ranking> rankings;
  for (const Job& job : unit) {
    const Settings settings = parse_method(job.method);
    rankings.push_back({model.prompts(job.problem->question, settings), settings.steer});
  }
  return rerank(
      {model.engine(), base, seed_of(first, options), first.question, options.cancellation}, plain,
      rankings);
}

std::vector<Sample> run_unit(const LoadedModel& model, const Unit& unit, const CodeJudge* judge,
                             const EvalOptions& options) {
  const bool reranks = parse_method(unit.front().method).method == Method::BestOfN;
  std::vector<SearchResult> results;
  if (reranks && !options.traces) {
    results = rerank_jobs(model, unit, options);
  } else {
    for (const Job& job : unit) results.push_back(search(model, job, options));
  }
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < unit.size(); ++i)
    samples.push_back(record(model, unit[i], results[i], judge, options));
  return samples;
}

// A problem that cannot be run, such as one longer than the model's context, is
// recorded as such and does not stop the others.
std::vector<Sample> run_or_record(const LoadedModel& model, const Unit& unit,
                                  const CodeJudge* judge, const EvalOptions& options) {
  try {
    return run_unit(model, unit, judge, options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::BadInput) throw;
    if (unit.size() == 1) {
      Sample sample = blank_sample(unit.front());
      sample.error = error.what();
      return {sample};
    }
  }
  std::vector<Sample> samples;  // which of them is it?
  for (const Job& job : unit) samples.push_back(run_or_record(model, {job}, judge, options)[0]);
  return samples;
}

// Workers take units until none is left or one of them fails.
class Crew {
 public:
  Crew(const std::vector<Unit>& units, std::function<void(const Unit&)> work)
      : units_(units), work_(std::move(work)) {}

  // Throws the first error of any worker, when all have stopped.
  void run(int workers) {
    std::vector<std::thread> threads;
    for (int i = 0; i < workers; ++i) threads.emplace_back([this] { labour(); });
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void labour() {
    for (std::size_t i = next_++; i < units_.size() && !stop_; i = next_++) {
      try {
        work_(units_[i]);
      } catch (...) {
        if (!stop_.exchange(true)) error_ = std::current_exception();
      }
    }
  }

  const std::vector<Unit>& units_;
  std::function<void(const Unit&)> work_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::exception_ptr error_;
};

}  // namespace

void run_eval(const LoadedModel& model, const std::vector<TaskData>& tasks,
              const EvalOptions& options) {
  std::vector<std::string> names;
  for (const TaskData& task : tasks) names.push_back(task.name);
  refuse_repeats(names, "--task");
  refuse_repeats(options.methods, "--methods");
  for (const std::string& method : options.methods) parse_method(method);  // fail before working
  std::unique_ptr<CodeJudge> judge;
  for (const TaskData& task : tasks)
    if (task.judging == Judging::Code && !judge) judge = std::make_unique<CodeJudge>();
  const FolderLock lock(options.out);
  claim_folder(model.name(), tasks, options);
  if (options.traces) fs::create_directories(options.out / "traces");

  const fs::path path = options.out / "samples.jsonl";
  SampleFile file(path);  // before reading: it cuts a torn line off
  const std::vector<Job> open = open_jobs(tasks, options, path);
  const std::vector<Unit> units = units_of(open);
  Progress progress("eval", static_cast<std::int64_t>(open.size()), options.quiet);
  std::mutex counts;
  std::int64_t right = 0, graded = 0;
  Crew crew(units, [&](const Unit& unit) {
    for (const Sample& sample : run_or_record(model, unit, judge.get(), options)) {
      file.append(sample);
      const std::lock_guard counting(counts);
      right += sample.correct;
      progress.set_note(
          fmt::format("{:.3f} right", static_cast<double>(right) / static_cast<double>(++graded)));
      progress.add();
    }
  });
  const int workers = options.concurrency > 0 ? options.concurrency : kDefaultConcurrency;
  crew.run(std::min<int>(workers, static_cast<int>(units.size())));
  sort_samples(path, names, options.methods);
}

void merge_samples(const std::vector<fs::path>& shards, const fs::path& out) {
  const FolderLock lock(out);
  std::map<SampleKey, std::string> seen;
  std::string content;
  for (const fs::path& shard : shards) {
    const fs::path path = fs::is_directory(shard) ? shard / "samples.jsonl" : shard;
    for (Sample& sample : read_samples(path)) {
      if (!sample.trace.empty())  // its page stays where it is
        sample.trace = fs::relative(path.parent_path() / sample.trace, out).string();
      const auto [place, fresh] = seen.emplace(key_of(sample), path.string());
      if (!fresh)
        bad_input("{}: sample {} of {} by {} is also in {}", path.string(), sample.sample,
                  sample.id, sample.method, place->second);
      content += to_line(sample) + "\n";
    }
  }
  merge_claims(shards, out);
  write_file(out / "samples.jsonl", content);
  sort_samples(out / "samples.jsonl", {}, {});
}

}  // namespace counterbeam
