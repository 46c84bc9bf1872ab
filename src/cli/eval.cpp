// `eval`: methods over the problems of tasks; `merge`: shards of such runs put together.
#include <memory>

#include "base/output.h"
#include "cli/commands.h"
#include "cli/eval_options.h"
#include "cli/method_options.h"
#include "eval/merge.h"

namespace counterbeam::cli {

Command eval_command(const Globals& globals) {
  const auto options = std::make_shared<EvalCommand>();
  Option methods = {.name = "--methods",
                    .value = repeated(options->methods, "METHOD,..."),
                    .help =
                        "Methods with settings, such as sample,beam,cbs:steer=0.7:block=16; put a "
                        "value with commas or colons in double quotes. @FILE reads them "
                        "from a file: one per line, or a JSON array"};
  methods.value.choices = method_choices();
  Command command = {
      .name = "eval",
      .summary = "Compare methods on tasks: accuracy, intervals, cost, a report",
      .options = {options->choice.task_option(), methods, options->out_option()},
      .sections = {methods_section(), settings_section()},
      .examples = {"counterbeam eval --task tiny-math --methods sample,beam,cbs:steer=0.7 --out "
                   "runs/math",
                   "counterbeam eval --task tiny-math --methods beam,cbs:contexts=mine --contexts "
                   "@pairs.json --out runs/mine",
                   "counterbeam eval --task math500 --data math500/test.jsonl --model "
                   "Qwen/Qwen2.5-7B --methods beam,cbs --out runs/math500 --resume"},
      .run = [options, &globals] { options->execute(globals, ""); }};
  for (Option& option : command.options) option.required = true;
  options->add_to(command);
  return command;
}

Command merge_command(const Globals& globals) {
  struct Merge {
    std::vector<std::string> shards;
    std::string out;
    bool partial = false, allow_failures = false;
  };
  const auto options = std::make_shared<Merge>();
  return {
      .name = "merge",
      .summary = "Join the shards of an evaluation",
      .description =
          "Shards must be of the same run: model, dtype, seed, data, prompts and settings are "
          "compared as for eval --resume. A missing shard, an unfinished shard and an incomplete "
          "last line are errors, unless --partial is given.",
      .arguments = {{.name = "SHARD",
                     .value = repeated(options->shards, "FOLDER"),
                     .help = "Folders of eval --shard I/N",
                     .required = true}},
      .options = {{.name = "--out",
                   .value = folder(options->out),
                   .help = "Folder for the whole evaluation",
                   .required = true},
                  {.name = "--partial",
                   .value = flag(options->partial),
                   .help = "Merge even if shards, samples or the end of a line are missing; "
                           "run.json lists the gaps"},
                  {.name = "--allow-failures",
                   .value = flag(options->allow_failures),
                   .help = "Exit with 0 even if samples failed"}},
      .examples = {"counterbeam merge runs/part0 runs/part1 --out runs/whole"},
      .run = [options, &globals] {
        for (const std::string& gap : merge_runs({options->shards.begin(), options->shards.end()},
                                                 options->out, options->partial))
          print_message("counterbeam: {}\n", gap);
        const EvalSummary summary = write_reports(options->out);
        print_summary(summary, options->out, globals);
        if (!options->allow_failures) refuse_failures(summary);
      }};
}

}  // namespace counterbeam::cli
