// `diagnose`: whether a pair of contexts is likely to help on a model, before a whole evaluation.
#include <filesystem>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/folder_lock.h"
#include "base/json.h"
#include "base/output.h"
#include "base/output_file.h"
#include "base/quote.h"
#include "base/regular_file.h"
#include "cli/build.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/loading.h"
#include "cli/task_choice.h"
#include "diagnose/describe.h"
#include "diagnose/diagnosis_page.h"
#include "diagnose/run_diagnosis.h"
#include "search/context_book.h"

namespace counterbeam::cli {
namespace {

struct DiagnoseCommand {
  TaskChoice choice;
  std::vector<std::string> contexts;  // names, and files as @FILE
  std::string out = "runs/diagnose";
  DiagnoseOptions run{.settings = {.pairs = {}, .steers = {0.25, 0.7}, .probe = {}}};
};

// The named pairs; without names those of the files; without files the default pair.
std::vector<ContextPair> chosen_pairs(const std::vector<std::string>& given) {
  ContextBook book;
  std::vector<std::string> names;
  for (const std::string& item : given)
    if (item.starts_with('@'))
      book.add_file(item.substr(1));
    else
      names.push_back(item);
  if (names.empty())
    for (const ContextPair& pair : book.added()) names.push_back(pair.name);
  if (names.empty()) names.push_back(Settings().contexts);
  std::vector<ContextPair> pairs;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (name == "none")
      bad_input("--contexts: none has no contexts to diagnose; likelihood alone is always shown");
    if (!seen.insert(name).second) bad_input("--contexts: {} is given twice", in_quotes(name));
    pairs.push_back(book.at(name));
  }
  return pairs;
}

void check_choice(const DiagnoseCommand& command) {
  std::set<std::string> tasks;
  for (const std::string& task : command.choice.tasks)
    if (!tasks.insert(task).second) bad_input("--task: {} is given twice", task);
  std::set<double> steers;
  for (const double steer : command.run.settings.steers)
    if (!steers.insert(steer).second) bad_input("--steer: {} is given twice", steer);
  if (command.run.settings.probe.rollouts == 1)
    bad_input(
        "--rollouts: one rollout gives no estimate of the noise; give 2 or more, or 0 for none");
}

void execute(DiagnoseCommand& command, const Globals& globals) {
  DiagnoseOptions& run = command.run;
  check_choice(command);
  run.settings.pairs = chosen_pairs(command.contexts);
  run.seed = globals.seed;
  run.quiet = globals.quiet || globals.json;
  run.cancellation = &cancelled_by_ctrl_c();
  const std::vector<TaskData> tasks = command.choice.load(globals.seed);
  const std::filesystem::path out = command.out;
  const FolderLock lock(out);
  for (const char* name : {"diagnose.json", "diagnose.html"}) refuse_irregular(out / name);
  remove_partial_files(out);
  const LoadedModel model = load_model(globals, command.choice.stop.at);
  const Json described = describe_diagnosis(
      model, tasks, run, {std::string(kVersion), std::string(kCommit), globals.command});
  std::vector<TaskDiagnosis> diagnoses;
  try {
    diagnoses = run_diagnosis(model, tasks, run);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Cancelled) throw;
    throw Cancelled("stopped; nothing was written");
  }
  Json json = {{"run", described}, {"tasks", Json::array()}};
  int failures = 0;
  for (const TaskDiagnosis& task : diagnoses) {
    json["tasks"].push_back(to_json(task));
    failures += failed_samples(task.failures);
  }
  write_json_file(out / "diagnose.json", json);
  write_file(out / "diagnose.html", diagnosis_page(diagnoses, described));
  if (globals.json) {
    print_result("{}\n", to_line(json));
  } else {
    for (const TaskDiagnosis& task : diagnoses) print_result("{}\n", to_table(task));
    if (!globals.quiet) print_result("diagnose.json and diagnose.html are in {}\n", out.string());
  }
  if (failures > 0 && !run.allow_failures)
    failed(
        "{} question{} could not be run or judged: see above and diagnose.json; "
        "--allow-failures accepts them",
        failures, failures == 1 ? "" : "s");
}

}  // namespace

Command diagnose_command(const Globals& globals) {
  const auto options = std::make_shared<DiagnoseCommand>();
  DiagnoseOptions& run = options->run;
  ProbeSettings& probe = run.settings.probe;
  Option task = options->choice.task_option();
  task.required = true;
  Option contexts = {.name = "--contexts",
                     .value = texts(options->contexts, "NAME|@FILE,..."),
                     .help =
                         "The pairs to diagnose, on the same answers; @FILE makes the pairs of "
                         "a file known, and stands for all of them where none is named",
                     .standard = "reasoning"};
  for (const ContextPair& pair : named_contexts()) contexts.value.choices.push_back(pair.name);
  Command command = {
      .name = "diagnose",
      .summary = "Tell whether a context pair is likely to help on a model, before an evaluation",
      .description =
          "Draws answers from the base model, reads them under the contexts of each pair, and "
          "reports how far apart the contexts are, how well the reward separates right from wrong "
          "answers to the same question, and what the search leaves out by ignoring the future "
          "(docs/diagnose.md).",
      .options = {task,
                  contexts,
                  {.name = "--limit",
                   .value = whole(run.limit, 1, 1 << 30),
                   .help = "Take the first N problems of each task",
                   .standard = "all"},
                  {.name = "--samples",
                   .value = whole(probe.samples, 2, 1000),
                   .help = "Answers per problem, drawn at temperature 1"},
                  {.name = "--steer",
                   .value = numbers(run.settings.steers, 0, 100),
                   .help = "Steering strengths 1/alpha of the score"},
                  {.name = "--block",
                   .value = whole(probe.block, 1, 4096),
                   .help = "Tokens of a block; the AUC is computed after every block"},
                  {.name = "--max-tokens",
                   .value = whole(probe.max_tokens, 1, 1 << 20),
                   .help = "Tokens of an answer"},
                  {.name = "--rollouts",
                   .value = whole(probe.rollouts, 0, 10000),
                   .help =
                       "Continuations of each partial answer, for the future correction (0: none)"},
                  {.name = "--siblings",
                   .value = whole(probe.siblings, 2, 1000),
                   .help = "Partial answers that are continued, per problem and scoring point"},
                  {.name = "--rollout-problems",
                   .value = whole(run.rollout_questions, 1, 1 << 30),
                   .help = "Problems with rollouts: the first N"},
                  {.name = "--out",
                   .value = folder(options->out),
                   .help = "Folder for diagnose.json and diagnose.html"}},
      .examples = {"counterbeam diagnose --task tiny-math --limit 60",
                   "counterbeam diagnose --task math500 --data math500/test.jsonl --limit 50 "
                   "--contexts reasoning,reviewer,neutral --model Qwen/Qwen2.5-7B",
                   "counterbeam diagnose --task mine.jsonl --grader math --contexts @pairs.json"},
      .run = [options, &globals] { execute(*options, globals); }};
  const std::vector<Option> running = {
      {.name = "--concurrency",
       .value = whole(run.concurrency, 1, 4096),
       .help = "Problems that are worked on at once"},
      {.name = "--allow-failures",
       .value = flag(run.allow_failures),
       .help = "Continue if the first problem of a task fails, and exit with 0 even if problems "
               "failed; failed problems are listed and never counted"}};
  for (const std::vector<Option>& part :
       {options->choice.data_options(), running, options->choice.answer_options()})
    command.options.insert(command.options.end(), part.begin(), part.end());
  options->choice.add_prompt_options_to(command);
  return command;
}

}  // namespace counterbeam::cli
