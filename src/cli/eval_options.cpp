#include "cli/eval_options.h"

#include <fmt/ranges.h>

#include <cstdio>

#include "base/error.h"
#include "base/json.h"
#include "cli/interrupt.h"
#include "cli/loading.h"

namespace counterbeam::cli {
namespace {

void parse_shard(const std::string& text, EvalOptions& options) {
  int index = -1, count = 0;
  char end = 0;
  if (std::sscanf(text.c_str(), "%d/%d%c", &index, &count, &end) != 2 || count < 1 || index < 0 ||
      index >= count)
    bad_input("--shard: \"{}\" is not I/N with 0 <= I < N", text);
  options.shard = index;
  options.shards = count;
}

}  // namespace

void EvalCommand::add_to(CLI::App& command) {
  command.add_option("--data", data,
                     "The task's file, or a folder that holds it (tiny-* tasks ship)");
  command.add_option("--limit", run.limit, "The first N problems of a task only")
      ->check(CLI::Range(1, 1 << 30));
  command.add_option("--samples", run.samples, "Answers per problem and method, for pass@k")
      ->check(CLI::Range(1, 10000));
  command.add_flag("--resume", run.resume, "Go on with what a former run left in --out");
  command.add_option("--concurrency", run.concurrency, "Searches in flight at once (default 16)")
      ->check(CLI::Range(1, 4096));
  command.add_option("--shard", shard,
                     "Run part I of N only, as 0/4; counterbeam merge joins them");
  command.add_option("--system", prompts.system, "System message instead of the task's");
  command.add_option("--prompt", prompts.user,
                     "User message instead of the task's; {problem}, {prompt}, {question} and "
                     "{choices} are filled in");
  command.add_flag("--traces", run.traces, "Keep every search as a page, linked from the report");
  command.add_flag("--deterministic", run.deterministic,
                   "Leave timings out of samples.jsonl, so that two runs are equal byte by byte");
}

void EvalCommand::execute(const Globals& globals, const std::string& experiment) {
  parse_shard(shard, run);
  run.methods = parse_methods(fmt::format("{}", fmt::join(methods, ",")));
  if (tasks.size() > 1 && !data.empty() && !std::filesystem::is_directory(data))
    bad_input("--data: {} is one file, but there are {} tasks; name a folder that holds theirs",
              data, tasks.size());
  std::vector<TaskData> loaded;
  for (const std::string& name : tasks)
    loaded.push_back(load_task(name, data, globals.seed, prompts));
  const LoadedModel model = LoadedModel::load(globals.model, load_options(globals));
  run.seed = globals.seed;
  run.quiet = globals.quiet || globals.json;
  run.cancellation = &cancelled_by_ctrl_c();
  try {
    run_eval(model, loaded, run);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Cancelled) throw;
    throw Cancelled(
        fmt::format("stopped; what is done is in {}; go on with the same command and "
                    "--resume",
                    run.out.string()));
  }
  print_summary(write_reports(run.out, {experiment, model.name()}), run.out, globals);
}

void print_summary(const EvalSummary& summary, const std::filesystem::path& out,
                   const Globals& globals) {
  if (globals.json) {
    fmt::print("{}\n", to_line(to_json(summary)));
    return;
  }
  fmt::print("{}", to_table(summary));
  if (!globals.quiet)
    fmt::print("\nsamples.jsonl, summary.json and report.html are in {}\n", out.string());
}

}  // namespace counterbeam::cli
