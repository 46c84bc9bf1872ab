// `eval`: methods over the problems of tasks; `merge`: shards of such runs put together.
#include "cli/eval_options.h"
#include "eval/run_folder.h"

namespace counterbeam::cli {

void add_eval(CLI::App& app, const Globals& globals) {
  auto options = std::make_shared<EvalCommand>();
  CLI::App* command =
      app.add_subcommand("eval", "Compare methods on a task: accuracy, intervals, cost, a report");
  command->add_option("--task", options->tasks, "Tasks: " + task_names())
      ->required()
      ->delimiter(',');
  command
      ->add_option("--methods", options->methods,
                   "Methods with settings, as sample,beam,cbs:steer=0.7:block=16; a value with "
                   "commas or colons stands in double quotes")
      ->required();
  command
      ->add_option("--out", options->run.out, "Folder for samples.jsonl, summary.json, report.html")
      ->required();
  options->add_to(*command);
  command->footer(
      "Examples:\n"
      "  counterbeam eval --task tiny-math --methods sample,beam,cbs:steer=0.7 --out runs/math\n"
      "  counterbeam eval --task math500 --data math500/test.jsonl --model Qwen/Qwen2.5-7B \\\n"
      "      --methods beam,cbs:steer=0.25 --out runs/math500 --resume");
  command->callback([options, &globals] { options->execute(globals, ""); });
}

void add_merge(CLI::App& app, const Globals& globals) {
  struct Merge {
    std::vector<std::string> shards;
    std::string out;
  };
  auto options = std::make_shared<Merge>();
  CLI::App* command = app.add_subcommand("merge", "Put the shards of an evaluation together");
  command->add_option("shards", options->shards, "Folders of eval --shard I/N")->required();
  command->add_option("--out", options->out, "Folder for the whole")->required();
  command->callback([options, &globals] {
    merge_samples({options->shards.begin(), options->shards.end()}, options->out);
    print_summary(write_reports(options->out, {"", model_of(options->out)}), options->out, globals);
  });
}

}  // namespace counterbeam::cli
