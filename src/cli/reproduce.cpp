// `reproduce`: the paper's experiments by name, on any model and task.
#include <fmt/format.h>

#include "cli/eval_options.h"
#include "eval/presets.h"

namespace counterbeam::cli {
namespace {

struct Options {
  EvalCommand eval;
  std::string name;
  bool quick = false;
};

void run(Options& options, const CLI::App& command, const Globals& globals) {
  const Preset& preset = preset_named(options.name);
  EvalCommand& eval = options.eval;
  eval.methods =
      options.quick && !preset.quick_methods.empty() ? preset.quick_methods : preset.methods;
  if (command.count("--samples") == 0) eval.run.samples = preset.samples;
  if (eval.run.concurrency == 0) eval.run.concurrency = preset.concurrency;
  if (options.quick && eval.run.limit == 0) eval.run.limit = preset.quick_limit;
  if (eval.tasks.empty()) eval.tasks = {"tiny-math", "tiny-code", "tiny-choice"};
  if (eval.run.out.empty()) eval.run.out = std::filesystem::path("runs") / options.name;
  eval.execute(globals, std::string(preset.name));
}

}  // namespace

void add_reproduce(CLI::App& app, const Globals& globals) {
  auto options = std::make_shared<Options>();
  std::string about = "The paper's experiments, on any model and task:";
  for (const Preset& preset : presets())
    about += fmt::format("\n  {:<11} {}", preset.name, preset.about);
  CLI::App* command = app.add_subcommand("reproduce", about);
  command->add_option("name", options->name, "Which experiment")->required();
  command->add_flag("--quick", options->quick, "A few problems, and lighter power sampling");
  command
      ->add_option("--task", options->eval.tasks,
                   "Tasks: " + task_names() + " (default: the three tiny ones)")
      ->delimiter(',');
  command->add_option("--out", options->eval.run.out,
                      "Folder for the results (default: runs/NAME)");
  options->eval.add_to(*command);
  command->footer(
      "Examples:\n"
      "  counterbeam reproduce table1 --quick\n"
      "  counterbeam reproduce table1 --model Qwen/Qwen2.5-7B --task math500 --data test.jsonl");
  command->callback([options, command, &globals] { run(*options, *command, globals); });
}

}  // namespace counterbeam::cli
