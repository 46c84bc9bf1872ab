// `reproduce`: the paper's experiments by name, on any model and task.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/eval_options.h"
#include "eval/presets.h"

namespace counterbeam::cli {
namespace {

struct ReproduceOptions {
  EvalCommand eval;
  std::string name;
  bool quick = false;
};

void run_reproduce(ReproduceOptions& options, const Globals& globals) {
  const Preset& preset = preset_named(options.name);
  EvalCommand& eval = options.eval;
  eval.methods =
      options.quick && !preset.quick_methods.empty() ? preset.quick_methods : preset.methods;
  if (!eval.samples) eval.samples = preset.samples;
  if (eval.run.concurrency == 0) eval.run.concurrency = preset.concurrency;
  if (options.quick && eval.run.limit == 0) eval.run.limit = preset.quick_limit;
  if (eval.choice.tasks.empty()) eval.choice.tasks = {"tiny-math", "tiny-code", "tiny-choice"};
  if (eval.run.out.empty()) eval.run.out = std::filesystem::path("runs") / options.name;
  eval.execute(globals, std::string(preset.name));
}

}  // namespace

Command reproduce_command(const Globals& globals) {
  const auto options = std::make_shared<ReproduceOptions>();
  Section experiments = {.title = "Experiments"};
  Option name = {
      .name = "NAME", .value = text(options->name), .help = "The experiment", .required = true};
  for (const Preset& preset : presets()) {
    name.value.choices.emplace_back(preset.name);
    experiments.rows.push_back(
        {.name = std::string(preset.name), .help = std::string(preset.about)});
  }
  Option task = options->eval.choice.task_option();
  task.standard = "the three tiny ones";
  Option out = options->eval.out_option();
  out.standard = "runs/NAME";
  Command command = {
      .name = "reproduce",
      .summary = "Run one of the paper's experiments, on any model and task",
      .arguments = {name},
      .options = {{.name = "--quick",
                   .value = flag(options->quick),
                   .help = "A few problems, and lighter power sampling"},
                  task,
                  out},
      .sections = {experiments},
      .examples = {"counterbeam reproduce table1 --quick",
                   "counterbeam reproduce table1 --model Qwen/Qwen2.5-7B --task math500 --data "
                   "test.jsonl"},
      .run = [options, &globals] { run_reproduce(*options, globals); }};
  options->eval.add_to(command);
  for (Option& option : command.options)
    if (option.name == "--samples") option.standard = "as many as the experiment says";
  return command;
}

}  // namespace counterbeam::cli
