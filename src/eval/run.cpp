#include "eval/run.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <mutex>
#include <new>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/folder_lock.h"
#include "base/make_folder.h"
#include "base/parallel_for.h"
#include "base/progress.h"
#include "base/sha256.h"
#include "eval/jobs.h"
#include "eval/preflight.h"
#include "eval/provenance.h"
#include "eval/run_folder.h"
#include "eval/separation.h"
#include "eval/vote.h"
#include "search/answer.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

void refuse_repeats(const std::vector<std::string>& tasks) {
  std::set<std::string> seen;
  for (const std::string& task : tasks)
    if (!seen.insert(task).second) bad_input("--task: {} is given twice", task);
}

// A task or a method as part of a file name. A digest keeps those apart that are long or hold other
// texts, such as contexts.
std::string file_part(const std::string& name) {
  constexpr std::size_t kLongest = 80, kShown = 60;
  std::string part = name;
  bool whole = name.size() <= kLongest;
  for (char& c : part) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '=' || c == '_') continue;
    whole = whole && (c == ':' || c == '-');
    c = '-';
  }
  if (whole) return part;
  Sha256 digest;
  digest.add_field(name);
  return part.substr(0, kShown) + "-" + digest.hex().substr(0, 8);
}

// traces/TASK-QUESTION-METHOD-SAMPLE.html
std::string trace_name(const Job& job) {
  return fmt::format("traces/{}-{}-{}-{}.html", file_part(job.task->name), job.question,
                     file_part(job.method->text), job.sample);
}

Sample blank_sample(const Job& job) {
  Sample sample;
  sample.task = job.task->name;
  sample.id = job.problem->id;
  sample.question = static_cast<int>(job.question);
  sample.method = job.method->text;
  sample.sample = job.sample;
  sample.permutation = job.problem->permutation;
  return sample;
}

// What the contexts say about every token, for the report.
void add_rewards(const Stops& stops, const Candidate& answer, Sample& sample) {
  const TokenLogprobs& logprobs = answer.logprobs;
  if (logprobs.positive.empty()) return;
  for (const std::size_t bytes : stops.token_bytes(answer.tokens)) {
    const std::size_t i = sample.token_bytes.size();
    const double reward =
        std::clamp(100.0 * (logprobs.positive[i] - logprobs.negative[i]), -1e6, 1e6);
    sample.token_bytes.push_back(static_cast<int>(bytes));
    sample.token_rewards.push_back(static_cast<int>(std::lround(reward)));
  }
}

Sample record(const LoadedModel& model, const Job& job, const AnsweredQuestion& answered,
              const CodeJudge* judge, const EvalOptions& options) {
  const SearchResult& result = answered.result;
  const Candidate& answer = result.answer();
  if (!std::isfinite(answer.score))
    failed("the answer's score is {}; log-probabilities of the model are not finite", answer.score);
  Sample sample = blank_sample(job);
  sample.answer = answered.text;
  sample.score = answer.score;
  sample.truncated = !answer.ended;
  sample.answer_tokens = static_cast<std::int64_t>(answer.tokens.size());
  sample.generated_tokens = result.ledger.generated_tokens;
  sample.scored_tokens = result.ledger.scored_tokens;
  sample.prompt_tokens = result.ledger.prompt_tokens;
  sample.cached_tokens = result.ledger.cached_tokens;
  sample.seconds = result.ledger.seconds;
  sample.alone = measures_seconds(options);
  if (options.deterministic) {
    // How many prompt tokens were cached depends on what ran before.
    sample.prompt_tokens += sample.cached_tokens;
    sample.cached_tokens = 0;
    sample.seconds = 0;
  }
  add_rewards(stops_of(model, job.problem->question), answer, sample);
  if (options.traces && !result.trace.blocks.empty()) {
    sample.trace = trace_name(job);
    write_file(options.out / sample.trace,
               to_html(result.trace, job.problem->question.text,
                       [&](TokenId token) { return model.token_text(token); }));
  }
  grade_sample(*job.task, *job.problem, judge, sample);
  return sample;
}

// Samples of a question differ by their seed; methods share it, so that comparisons are paired.
std::uint64_t seed_of(const Job& job, const EvalOptions& options) {
  return options.seed + 0x9E3779B97F4A7C15ull * static_cast<std::uint64_t>(job.sample);
}

std::vector<Sample> run_group(const LoadedModel& model, const JobGroup& group,
                              const CodeJudge* judge, const EvalOptions& options) {
  const Job& first = group.front();
  AnswerOptions asking;
  asking.seed = seed_of(first, options);
  asking.question = first.question;
  asking.cancellation = options.cancellation;
  asking.keep_traces = options.traces;
  asking.vote = [&](std::string_view text) { return vote(*first.task, *first.problem, text); };
  asking.same_vote = [&](std::string_view a, std::string_view b) {
    return same_vote(*first.task, a, b);
  };
  std::vector<Settings> settings;
  for (const Job& job : group) settings.push_back(job.method->settings);
  const std::vector<AnsweredQuestion> answers =
      answer_question(model, first.problem->question, settings, asking);
  std::vector<Sample> samples;
  std::optional<CandidateGrader> grader;
  if (options.separation) grader.emplace(model, *first.task, *first.problem, judge);
  for (std::size_t i = 0; i < group.size(); ++i) {
    samples.push_back(record(model, group[i], answers[i], judge, options));
    if (grader) samples.back().separation = grader->separation(answers[i].result);
    if (const std::size_t size = to_line(samples.back()).size(); size >= kMostSampleBytes)
      failed("the answer and what was graded take {} bytes; at most {} are kept", size,
             kMostSampleBytes);
  }
  return samples;
}

struct Fault {
  ErrorKind kind;
  std::string cause;
};

Fault fault_of(const std::exception& error) {
  if (const auto* own = dynamic_cast<const Error*>(&error)) return {own->kind(), own->what()};
  if (dynamic_cast<const std::bad_alloc*>(&error)) return {ErrorKind::Failed, "out of memory"};
  return {ErrorKind::Failed, error.what()};
}

// A job that cannot be run, such as a problem longer than the model's context, is recorded with its
// error and does not stop the others. The first problem of a task does: what keeps it from running
// is rarely about that problem.
std::vector<Sample> run_or_record(const LoadedModel& model, const JobGroup& group,
                                  const CodeJudge* judge, const EvalOptions& options) {
  try {
    return run_group(model, group, judge, options);
  } catch (const std::exception& error) {
    const Fault fault = fault_of(error);
    if (fault.kind == ErrorKind::Cancelled) throw;
    const Job& job = group.front();
    if (group.size() == 1 && job.first && !options.allow_failures)
      failed(
          "{}, problem {}, {}: {}; the first problem of a task must not fail, unless "
          "--allow-failures is given",
          job.task->name, job.problem->id, job.method->text, fault.cause);
    if (group.size() == 1) {
      Sample sample = blank_sample(job);
      sample.error = fault.cause;
      return {sample};
    }
  }
  std::vector<Sample> samples;  // one by one, to find the job that cannot be run
  for (const Job& job : group) samples.push_back(run_or_record(model, {job}, judge, options)[0]);
  return samples;
}

// One search of every method, not recorded: memory is touched, kernels are loaded and graphs
// captured before the first search that counts. What fails here will fail again and be recorded.
void warm_up(const LoadedModel& model, const std::vector<Job>& jobs, const CodeJudge* judge,
             const EvalOptions& options) {
  std::set<const MethodString*> warm;
  for (const Job& job : jobs) {
    if (!warm.insert(job.method).second) continue;
    try {
      run_group(model, {job}, judge, options);
    } catch (const std::exception& error) {
      if (fault_of(error).kind == ErrorKind::Cancelled) throw;
    }
  }
}

// How the samples so far turned out, beside the progress bar.
class Outcomes {
 public:
  // Returns how many samples there are so far.
  std::int64_t add(const Sample& sample, Progress& progress) {
    const std::lock_guard lock(mutex_);
    if (sample.error.empty()) {
      ++graded_;
      right_ += sample.correct;
    } else {
      ++failed_;
    }
    std::string note;
    if (graded_ > 0)
      note =
          fmt::format("{:.3f} right", static_cast<double>(right_) / static_cast<double>(graded_));
    if (failed_ > 0) note += fmt::format("{}{} failed", note.empty() ? "" : ", ", failed_);
    progress.set_note(note);
    progress.add();
    return graded_ + failed_;
  }

 private:
  std::mutex mutex_;
  std::int64_t right_ = 0, graded_ = 0, failed_ = 0;
};

}  // namespace

int searches_at_once(const EvalOptions& options) {
  constexpr int kAutomatic = 16;
  return options.concurrency > 0 ? options.concurrency : kAutomatic;
}

bool measures_seconds(const EvalOptions& options) {
  return searches_at_once(options) == 1 && !options.deterministic;
}

void run_eval(const LoadedModel& model, const std::vector<TaskData>& tasks,
              const EvalOptions& options) {
  std::vector<std::string> names;
  for (const TaskData& task : tasks) names.push_back(task.name);
  refuse_repeats(names);
  refuse_damaged_weights(model, options.allow_failures);
  std::unique_ptr<CodeJudge> judge;
  for (const TaskData& task : tasks)
    if (task.judging == Judging::Code && !judge) judge = std::make_unique<CodeJudge>();
  const FolderLock lock(options.out);
  const std::vector<Job> jobs = jobs_of(tasks, options);
  const std::int64_t longest_prompt = render_all_prompts(model, jobs);
  claim_folder(describe_run(model, tasks, options, longest_prompt), tasks, options);
  if (options.traces) make_folder(options.out / "traces");

  const fs::path path = options.out / "samples.jsonl";
  forget_failures(jobs, path);
  SampleFile file(path);  // before reading, because it removes a partial last line
  const std::vector<Job> open = open_jobs(jobs, path);
  const bool measured = measures_seconds(options);
  std::vector<JobGroup> groups;
  if (measured)  // samples that methods share have no seconds of their own
    for (const Job& job : open) groups.push_back({job});
  else
    groups = group_jobs(open);
  if (measured) warm_up(model, open, judge.get(), options);
  Progress progress(options.label, static_cast<std::int64_t>(open.size()), options.quiet);
  Outcomes outcomes;
  parallel_for(groups.size(), searches_at_once(options), [&](std::size_t i) {
    if (measured) model.engine().forget_prompts();
    for (const Sample& sample : run_or_record(model, groups[i], judge.get(), options)) {
      file.append(sample);
      const std::int64_t done = outcomes.add(sample, progress);
      if (options.on_sample) options.on_sample(done, static_cast<std::int64_t>(open.size()));
    }
  });
  std::vector<std::string> methods;
  for (const MethodString& method : options.methods) methods.push_back(method.text);
  sort_samples(path, names, methods);
}

}  // namespace counterbeam
