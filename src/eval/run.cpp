#include "eval/run.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "eval/extract.h"
#include "eval/run_folder.h"
#include "search/search.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

constexpr int kDefaultConcurrency = 16;

// One search to run.
struct Job {
  const TaskData* task;
  const Problem* problem;
  std::uint32_t question;  // index of the problem in its task: keys the draws
  std::string method;
  int sample;
};

SampleKey key_of(const Job& job) {
  return {job.task->name, job.problem->id, job.method, job.sample};
}

std::vector<Job> all_jobs(const std::vector<TaskData>& tasks, const EvalOptions& options) {
  std::vector<Job> jobs;
  for (const TaskData& task : tasks) {
    const std::size_t count = options.limit > 0
                                  ? std::min<std::size_t>(task.problems.size(), options.limit)
                                  : task.problems.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (static_cast<int>(i % static_cast<std::size_t>(options.shards)) != options.shard) continue;
      for (const std::string& method : options.methods)
        for (int sample = 0; sample < options.samples; ++sample)
          jobs.push_back({&task, &task.problems[i], static_cast<std::uint32_t>(i), method, sample});
    }
  }
  return jobs;
}

// The jobs of a run that its samples file does not hold yet.
std::vector<Job> open_jobs(const std::vector<TaskData>& tasks, const EvalOptions& options,
                           const fs::path& path) {
  std::set<SampleKey> done;
  for (const Sample& sample : read_samples(path)) {
    if (!done.insert(key_of(sample)).second)
      bad_input("{}: sample {} of {} by {} occurs twice", path.string(), sample.sample, sample.id,
                sample.method);
  }
  std::vector<Job> open = all_jobs(tasks, options);
  std::erase_if(open, [&](const Job& job) { return done.count(key_of(job)) > 0; });
  return open;
}

void refuse_repeats(const std::vector<std::string>& names, std::string_view option) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i))
      bad_input("{}: {} is given twice", option, names[i]);
}

// What self-consistency votes with, by task.
std::optional<std::string> vote(const Job& job, const std::string& text) {
  switch (job.task->judging) {
    case Judging::Math: {
      MathAnswer answer = extract_math(text);
      if (answer.source == AnswerSource::None) return std::nullopt;
      return std::move(answer.text);
    }
    case Judging::Choice: {
      const auto letter = extract_choice(text);
      if (!letter) return std::nullopt;
      return std::string(1, *letter);
    }
    case Judging::Code: {
      std::string code =
          extract_code(text, job.problem->code.prompt, job.problem->code.entry_point);
      if (code.empty()) return std::nullopt;
      return code;
    }
  }
  CB_CHECK(false);
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

Sample run_job(const LoadedModel& model, const Job& job, const CodeJudge* judge,
               const EvalOptions& options) {
  const Settings settings = parse_method(job.method);
  const Prompts prompts = model.prompts(job.problem->question, settings);
  SearchHooks hooks;
  hooks.vote = [&](const std::vector<TokenId>& tokens) { return vote(job, model.text(tokens)); };
  // Samples of a question differ by their seed; methods share it, so that they are compared on the
  // same luck.
  const std::uint64_t seed =
      options.seed + 0x9E3779B97F4A7C15ull * static_cast<std::uint64_t>(job.sample);
  const SearchResult result = run_search(
      {model.engine(), prompts, seed, job.question, options.cancellation}, settings, hooks);
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

// A problem that cannot be run, such as one longer than the model's context, is recorded as such
// and does not stop the others.
Sample run_or_record(const LoadedModel& model, const Job& job, const CodeJudge* judge,
                     const EvalOptions& options) {
  try {
    return run_job(model, job, judge, options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::BadInput) throw;
    Sample sample = blank_sample(job);
    sample.error = error.what();
    return sample;
  }
}

// Workers take jobs until none is left or one of them fails.
class Crew {
 public:
  Crew(const std::vector<Job>& jobs, std::function<void(const Job&)> work)
      : jobs_(jobs), work_(std::move(work)) {}

  // Throws the first error of any worker, when all have stopped.
  void run(int workers) {
    std::vector<std::thread> threads;
    for (int i = 0; i < workers; ++i) threads.emplace_back([this] { labour(); });
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void labour() {
    for (std::size_t i = next_++; i < jobs_.size() && !stop_; i = next_++) {
      try {
        work_(jobs_[i]);
      } catch (...) {
        if (!stop_.exchange(true)) error_ = std::current_exception();
      }
    }
  }

  const std::vector<Job>& jobs_;
  std::function<void(const Job&)> work_;
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
  Progress progress("eval", static_cast<std::int64_t>(open.size()), options.quiet);
  std::mutex counts;
  std::int64_t right = 0, graded = 0;
  Crew crew(open, [&](const Job& job) {
    const Sample sample = run_or_record(model, job, judge.get(), options);
    file.append(sample);
    const std::lock_guard counting(counts);
    right += sample.correct;
    progress.set_note(
        fmt::format("{:.3f} right", static_cast<double>(right) / static_cast<double>(++graded)));
    progress.add();
  });
  const int workers = options.concurrency > 0 ? options.concurrency : kDefaultConcurrency;
  crew.run(std::min<int>(workers, static_cast<int>(open.size())));
  sort_samples(path, names, options.methods);
}

void merge_samples(const std::vector<fs::path>& shards, const fs::path& out) {
  const FolderLock lock(out);
  std::map<SampleKey, std::string> seen;
  std::string content;
  for (const fs::path& shard : shards) {
    const fs::path path = fs::is_directory(shard) ? shard / "samples.jsonl" : shard;
    for (const Sample& sample : read_samples(path)) {
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
