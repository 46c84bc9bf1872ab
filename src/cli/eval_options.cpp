#include "cli/eval_options.h"

#include "base/error.h"
#include "base/json.h"
#include "base/output.h"
#include "cli/build.h"
#include "cli/interrupt.h"
#include "cli/loading.h"
#include "eval/parts.h"
#include "eval/run_facts.h"

namespace counterbeam::cli {
namespace {

void parse_shard(const std::string& text, EvalOptions& options) {
  const auto shard = shard_named(text);
  if (!shard) bad_input("--shard: \"{}\" is not I/N with 0 <= I < N <= {}", text, kMostShards);
  options.shard = shard->index;
  options.shards = shard->count;
}

}  // namespace

Option EvalCommand::out_option() {
  return {.name = "--out",
          .value =
              custom("FOLDER", [this](std::string_view path, std::string_view) { run.out = path; }),
          .help = "Folder for samples.jsonl, summary.json and report.html"};
}

void EvalCommand::add_to(Command& command) {
  add_tasks_to(command);
  std::vector<Option> options = {
      {.name = "--limit",
       .value = whole(run.limit, 1, 1 << 30),
       .help = "Run the first N problems of each task",
       .standard = "all"},
      {.name = "--shard",
       .value = text(shard, "I/N"),
       .help = "Run part I of N, such as 0/4; counterbeam merge joins the parts"},
      {.name = "--traces",
       .value = flag(run.traces),
       .help = "Keep every search as a page, linked from the report"},
  };
  command.options.insert(command.options.end(), options.begin(), options.end());
  add_running_to(command);
}

void EvalCommand::add_tasks_to(Command& command) {
  for (const std::vector<Option>& part :
       {choice.data_options(), {contexts.files_option()}, choice.answer_options()})
    command.options.insert(command.options.end(), part.begin(), part.end());
  choice.add_prompt_options_to(command);
  shared.add_to(command);
}

void EvalCommand::add_running_to(Command& command) {
  std::vector<Option> options = {
      {.name = "--samples",
       .value = whole(samples, 1, 10000),
       .help = "Answers per problem and method, for pass@k",
       .standard = "1"},
      {.name = "--resume", .value = flag(run.resume), .help = "Continue the run in --out"},
      {.name = "--concurrency",
       .value = whole(run.concurrency, 1, 4096),
       .help = "Searches that run at once",
       .standard = "16"},
      {.name = "--allow-failures",
       .value = flag(run.allow_failures),
       .help = "Continue if the first problem of a task fails, and exit with 0 even if samples "
               "failed; failed samples are listed and never graded"},
      {.name = "--deterministic",
       .value = flag(run.deterministic),
       .help = "Leave timings out of samples.jsonl, so that two runs are equal byte for byte"},
  };
  command.options.insert(command.options.end(), options.begin(), options.end());
}

void EvalCommand::resolve_methods() {
  parse_shard(shard, run);
  std::vector<MethodText> given;
  for (const std::string& list : methods)
    for (MethodText& method : split_methods(list)) given.push_back(std::move(method));
  run.methods = parse_methods(given, contexts.book());
  shared.apply_to(run.methods, contexts.book());
}

void EvalCommand::run_samples(const LoadedModel& model, const std::vector<TaskData>& loaded,
                              const Globals& globals, const std::string& experiment) {
  run.experiment = experiment;
  prepare_run(globals);
  run_resumably([&] { run_eval(model, loaded, run); });
}

EvalSummary EvalCommand::run_and_report(const LoadedModel& model,
                                        const std::vector<TaskData>& loaded, const Globals& globals,
                                        const std::string& experiment) {
  run_samples(model, loaded, globals, experiment);
  return write_reports(run.out);
}

void EvalCommand::execute(const Globals& globals, const std::string& experiment) {
  resolve_methods();
  const std::vector<TaskData> loaded = choice.load(globals.seed);
  const LoadedModel model = load_model(globals, choice.stop.at);
  run_samples(model, loaded, globals, experiment);
  if (run.shards > 1 && std::filesystem::is_empty(run.out / "samples.jsonl")) {
    // More shards than problems: the folder is complete, and merge takes it.
    print_message("counterbeam: shard {} has no problems\n", shard);
    return;
  }
  const EvalSummary summary = write_reports(run.out);
  print_summary(summary, run.out, globals);
  if (!run.allow_failures) refuse_failures(summary);
}

void EvalCommand::prepare_run(const Globals& globals) {
  if (samples) run.samples = *samples;
  run.seed = globals.seed;
  run.session = {std::string(kVersion), std::string(kCommit), globals.command};
  run.quiet = globals.quiet || globals.json;
  run.cancellation = &cancelled_by_ctrl_c();
}

void EvalCommand::run_resumably(const std::function<void()>& work) const {
  try {
    work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Cancelled) throw;
    throw Cancelled(
        fmt::format("stopped; what is done is in {}; go on with the same command and "
                    "--resume",
                    run.out.string()));
  }
}

void refuse_failures(const EvalSummary& summary) {
  if (const int samples = failed_samples(summary.failures); samples > 0)
    failed(
        "{} sample{} could not be run or judged: see above and summary.json; --resume tries them "
        "again, --allow-failures accepts them",
        samples, samples == 1 ? "" : "s");
}

void print_summary(const EvalSummary& summary, const std::filesystem::path& out,
                   const Globals& globals) {
  const RunFacts facts = read_run_facts(out);
  const PublishedTable published =
      published_figures(published_query(summary, facts.experiment, facts.model, facts.settings));
  if (globals.json) {
    Json json = to_json(summary);
    json["published"] = to_json(published);
    print_result("{}\n", to_line(json));
    return;
  }
  print_result("{}", to_table(summary));
  const std::string paper = to_table(published, summary);
  if (!paper.empty()) print_result("\n{}", paper);
  if (!globals.quiet)
    print_result("\nsamples.jsonl, summary.json and report.html are in {}\n", out.string());
}

}  // namespace counterbeam::cli
