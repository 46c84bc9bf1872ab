#include "diagnose/run_diagnosis.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/parallel_for.h"
#include "base/progress.h"
#include "eval/preflight.h"
#include "eval/run.h"
#include "search/answer.h"

namespace counterbeam {
namespace {

struct QuestionPrompts {
  Prompts base;
  std::vector<Prompts> pairs;
};

QuestionPrompts prompts_of(const LoadedModel& model, const Question& question,
                           const std::vector<ContextPair>& pairs) {
  const std::string joiner = Settings().joiner;
  QuestionPrompts prompts{model.prompts(question, std::nullopt, joiner), {}};
  for (const ContextPair& pair : pairs)
    prompts.pairs.push_back(model.prompts(question, pair, joiner));
  return prompts;
}

std::size_t probed_count(const TaskData& task, const DiagnoseOptions& options) {
  return options.limit > 0 ? std::min(task.problems.size(), static_cast<std::size_t>(options.limit))
                           : task.problems.size();
}

void render_prompts(const LoadedModel& model, const TaskData& task,
                    const DiagnoseOptions& options) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  parallel_for(probed_count(task, options), cores, [&](std::size_t i) {
    try {
      prompts_of(model, task.problems[i].question, options.settings.pairs);
    } catch (const Error& error) {
      throw_error(error.kind(), fmt::format("{}, problem {}: the prompt cannot be rendered: {}",
                                            task.name, task.problems[i].id, error.what()));
    }
  });
}

ProbedQuestion probe_and_grade(const LoadedModel& model, const TaskData& task, std::size_t index,
                               const CodeJudge* judge, const DiagnoseOptions& options) {
  const Problem& problem = task.problems[index];
  const QuestionPrompts prompts = prompts_of(model, problem.question, options.settings.pairs);
  const Stops stops = stops_of(model, problem.question);
  const Task search = {model.engine(),       prompts.base,
                       options.seed,         static_cast<std::uint32_t>(index),
                       options.cancellation, &stops};
  ProbedQuestion question =
      probe_question(search, prompts.pairs, options.settings.probe,
                     index < static_cast<std::size_t>(options.rollout_questions));
  question.id = problem.id;
  for (ProbedAnswer& answer : question.answers) {
    Sample sample;
    sample.answer = stops.text(answer.tokens);
    grade_sample(task, problem, judge, sample);
    answer.correct = sample.correct;
  }
  return question;
}

// How the answers so far turned out, beside the progress bar.
class AnswerTally {
 public:
  void add(const ProbedQuestion* question, Progress& progress) {
    const std::lock_guard lock(mutex_);
    if (!question) ++failed_;
    for (std::size_t i = 0; question && i < question->answers.size(); ++i) {
      ++graded_;
      right_ += question->answers[i].correct;
    }
    std::string note;
    if (graded_ > 0) note = fmt::format("{:.3f} right", right_ / graded_);
    if (failed_ > 0) note += fmt::format("{}{} failed", note.empty() ? "" : ", ", failed_);
    progress.set_note(note);
    progress.add();
  }

 private:
  std::mutex mutex_;
  double right_ = 0, graded_ = 0;
  int failed_ = 0;
};

struct ProbedTask {
  std::vector<ProbedQuestion> questions;
  std::vector<Failure> failures;
};

ProbedTask probe_task(const LoadedModel& model, const TaskData& task, const CodeJudge* judge,
                      const DiagnoseOptions& options, AnswerTally& tally, Progress& progress) {
  const std::size_t count = probed_count(task, options);
  std::vector<std::optional<ProbedQuestion>> probed(count);
  std::vector<std::string> errors(count);
  parallel_for(count, options.concurrency, [&](std::size_t i) {
    try {
      probed[i] = probe_and_grade(model, task, i, judge, options);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Cancelled) throw;
      if (i == 0 && !options.allow_failures)
        throw_error(error.kind(),
                    fmt::format("{}, problem {}: {}; the first problem of a task must not fail, "
                                "unless --allow-failures is given",
                                task.name, task.problems[i].id, error.what()));
      errors[i] = error.what();
    }
    tally.add(probed[i] ? &*probed[i] : nullptr, progress);
  });
  ProbedTask result;
  for (std::size_t i = 0; i < count; ++i)
    if (probed[i])
      result.questions.push_back(std::move(*probed[i]));
    else
      add_failure(result.failures, {task.name, "", errors[i], task.problems[i].id, 1});
  if (result.questions.empty())
    failed("{}: every question failed: {}", task.name, result.failures.front().cause);
  return result;
}

}  // namespace

std::vector<TaskDiagnosis> run_diagnosis(const LoadedModel& model,
                                         const std::vector<TaskData>& tasks,
                                         const DiagnoseOptions& options) {
  refuse_damaged_weights(model, options.allow_failures);
  std::unique_ptr<CodeJudge> judge;
  std::int64_t total = 0;
  for (const TaskData& task : tasks) {
    if (task.judging == Judging::Code && !judge) judge = std::make_unique<CodeJudge>();
    render_prompts(model, task, options);
    total += static_cast<std::int64_t>(probed_count(task, options));
  }
  Progress progress("diagnose", total, options.quiet);
  AnswerTally tally;
  std::vector<TaskDiagnosis> diagnoses;
  for (const TaskData& task : tasks) {
    ProbedTask probed = probe_task(model, task, judge.get(), options, tally, progress);
    const TokenTexts texts = {[&](TokenId token) { return model.token_text(token); },
                              [&](std::span<const TokenId> tokens) { return model.text(tokens); },
                              !task.withheld};
    diagnoses.push_back(diagnose_task(task.name, probed.questions, options.settings, texts));
    diagnoses.back().failures = std::move(probed.failures);
  }
  return diagnoses;
}

}  // namespace counterbeam
