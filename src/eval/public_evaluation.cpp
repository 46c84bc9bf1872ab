// The public interface of evaluations over the rooms behind it.
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "counterbeam/evaluation.h"
#include "eval/own_tasks.h"
#include "eval/report.h"
#include "eval/run.h"
#include "search/public_model.h"

namespace counterbeam {
namespace {

TaskData task_data_of(const OwnTask& own) {
  check_task_name(own.name, "task");
  if (own.problems.empty()) bad_input("task {}: it has no problems", own.name);
  if (!own.grader) bad_input("task {}: it has no grader", own.name);
  TaskData task;
  task.name = own.name;
  task.judging = Judging::Own;
  task.own_grader.name = own.grader_name;
  task.own_grader.grade = [grader = own.grader](const std::string& id, const std::string& answer) {
    OwnVerdict verdict = grader(id, answer);
    return Verdict{verdict.correct, verdict.correct, std::move(verdict.extracted)};
  };
  std::set<std::string> ids;
  for (const OwnProblem& given : own.problems) {
    if (!is_valid_utf8(given.id))
      bad_input("task {}: the id {} is not valid UTF-8", own.name, in_quotes(given.id));
    if (!ids.insert(given.id).second)
      bad_input("task {}: two problems have the id \"{}\"", own.name, given.id);
    Problem& problem = task.problems.emplace_back();
    problem.id = given.id;
    problem.question.text = given.question;
    problem.question.system = given.system;
    problem.gold = given.gold;
  }
  return task;
}

std::vector<TaskData> all_tasks_of(const EvaluationOptions& options) {
  std::vector<TaskData> tasks;
  if (!options.tasks.empty())
    tasks = load_tasks(options.tasks, {.data = options.data,
                                       .grader = options.grader,
                                       .seed = options.seed,
                                       .prompts = {options.system, options.prompt},
                                       .extraction = extraction_named(options.extract)});
  for (const OwnTask& own : options.own) tasks.push_back(task_data_of(own));
  if (tasks.empty()) bad_input("no task is given");
  for (TaskData& task : tasks)
    for (Problem& problem : task.problems) {
      problem.question.raw = options.raw;
      problem.question.system_as_user = options.system_as_user;
      problem.question.template_arguments = options.template_arguments;
      problem.question.stop = options.stop;
    }
  return tasks;
}

void check_at_least(int value, int least, const char* name) {
  if (value < least) bad_input("{}: {} is out of range; allowed: {} or more", name, value, least);
}

EvalOptions eval_options_of(const EvaluationOptions& options) {
  check_at_least(options.samples, 1, "samples");
  check_at_least(options.limit, 0, "limit");
  check_at_least(options.concurrency, 1, "concurrency");
  if (options.out.empty()) bad_input("out: the folder for the results is missing");
  if (options.methods.empty()) bad_input("methods: at least one is needed");
  ContextBook book;
  for (const ContextPair& pair : options.pairs)
    book.add(pair, fmt::format("pairs: \"{}\"", pair.name));
  std::vector<MethodText> texts;
  for (const std::string& method : options.methods) texts.push_back({method});
  EvalOptions run;
  run.methods = parse_methods(texts, book);
  run.samples = options.samples;
  run.limit = options.limit;
  run.concurrency = options.concurrency;
  run.seed = options.seed;
  run.resume = options.resume;
  run.deterministic = options.deterministic;
  run.quiet = true;
  run.allow_failures = options.allow_failures;
  run.traces = options.traces;
  run.out = options.out;
  run.session = {options.program, "", options.command};
  run.cancellation = options.cancellation;
  run.on_sample = options.on_sample;
  return run;
}

// The reports are written; what is missing in them must not be overlooked.
void refuse_failed(const EvalSummary& summary, const std::string& out) {
  const int samples = failed_samples(summary.failures);
  if (samples == 0) return;
  const Failure& first = summary.failures.front();
  failed(
      "{}: {} sample{} could not be run or judged, problem {} of {} among them: {}; see "
      "summary.json there; a resumed run tries them again, allow_failures accepts them",
      out, samples, samples == 1 ? "" : "s", first.id, first.task, first.cause);
}

}  // namespace

std::string evaluate(const LanguageModel& model, const EvaluationOptions& options) {
  const EvalOptions run = eval_options_of(options);
  const std::vector<TaskData> tasks = all_tasks_of(options);
  run_eval(PublicModel::of(model), tasks, run);
  const EvalSummary summary = write_reports(run.out);
  if (!options.allow_failures) refuse_failed(summary, options.out);
  return to_line(to_json(summary));
}

OwnVerdict grade_answer(const std::string& grader, const std::string& gold,
                        const std::string& answer) {
  Verdict verdict;
  switch (grader_named(grader)) {
    case Judging::Math:
      verdict = grade_math(gold, answer);
      break;
    case Judging::Choice:
      verdict = grade_choice(gold, answer);
      break;
    case Judging::Exact:
      verdict = grade_exact(gold, answer);
      break;
    default:
      bad_input("grader \"{}\" needs more than a gold answer; use evaluate()", grader);
  }
  return {verdict.equal, std::move(verdict.extracted)};
}

}  // namespace counterbeam
