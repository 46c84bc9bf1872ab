// `reproduce`: the paper's experiments by name, on any model and task.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/eval_options.h"
#include "cli/reproduce_several.h"
#include "eval/presets.h"

namespace counterbeam::cli {
namespace {

constexpr std::string_view kAll = "all";

struct ReproduceOptions {
  EvalCommand eval;
  std::string name;
  bool quick = false;
};

// The options as this experiment takes them.
EvalCommand prepared(const ReproduceOptions& options, const Preset& preset) {
  EvalCommand eval = options.eval;
  eval.methods =
      options.quick && !preset.quick_methods.empty() ? preset.quick_methods : preset.methods;
  if (!eval.samples) eval.samples = preset.samples;
  if (eval.run.concurrency == 0) eval.run.concurrency = preset.concurrency;
  if (options.quick && eval.run.limit == 0) eval.run.limit = preset.quick_limit;
  if (eval.choice.tasks.empty()) eval.choice.tasks = {"tiny-math", "tiny-code", "tiny-choice"};
  if (eval.run.out.empty()) eval.run.out = std::filesystem::path("runs") / options.name;
  return eval;
}

void run_reproduce(const ReproduceOptions& options, const Globals& globals) {
  std::vector<PreparedExperiment> experiments;
  if (options.name == kAll)
    for (const Preset& preset : presets())
      experiments.push_back({std::string(preset.name), prepared(options, preset)});
  else
    experiments.push_back({options.name, prepared(options, preset_named(options.name))});
  const std::vector<std::string> models = models_named(globals.model);
  if (experiments.size() == 1 && models.size() == 1)
    return experiments.front().eval.execute(globals, options.name);
  for (PreparedExperiment& experiment : experiments) experiment.eval.resolve_methods();
  const std::filesystem::path out = experiments.front().eval.run.out;
  reproduce_several(std::move(experiments), models, out, globals);
}

}  // namespace

Command reproduce_command(const Globals& globals) {
  const auto options = std::make_shared<ReproduceOptions>();
  Section experiments = {.title = "Experiments"};
  std::vector<std::string> names;
  for (const Preset& preset : presets()) {
    names.emplace_back(preset.name);
    experiments.rows.push_back(
        {.name = std::string(preset.name), .help = std::string(preset.about)});
  }
  names.emplace_back(kAll);
  const Option name = {.name = "NAME",
                       .value = one_of(options->name, names),
                       .help = "The experiment",
                       .required = true};
  experiments.rows.push_back(
      {.name = std::string(kAll), .help = "every experiment above, one after the other"});
  Option task = options->eval.choice.task_option();
  task.standard = "the three tiny ones";
  Option out = options->eval.out_option();
  out.standard = "runs/NAME";
  Command command = {
      .name = "reproduce",
      .summary = "Run one of the paper's experiments, or all, on any models and tasks",
      .description =
          "Here --model takes several models, with commas between them; they are loaded one after "
          "the other. With several models or with all, every part has a folder of its own below "
          "--out, a part that fails does not stop the others, and --out/report compares them (see "
          "counterbeam report).",
      .arguments = {name},
      .options = {{.name = "--quick",
                   .value = flag(options->quick),
                   .help = "A few problems, and lighter power sampling"},
                  task,
                  out},
      .sections = {experiments},
      .examples = {"counterbeam reproduce table1 --quick",
                   "counterbeam reproduce all --quick --model tiny-dense,tiny-hybrid",
                   "counterbeam reproduce table1 --model Qwen/Qwen2.5-7B --task math500 --data "
                   "test.jsonl"},
      .run = [options, &globals] { run_reproduce(*options, globals); }};
  options->eval.add_to(command);
  for (Option& option : command.options)
    if (option.name == "--samples") option.standard = "as many as the experiment says";
  return command;
}

}  // namespace counterbeam::cli
