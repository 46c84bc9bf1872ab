#include "cli/task_choice.h"

namespace counterbeam::cli {

Option TaskChoice::task_option() {
  Option option = {.name = "--task",
                   .value = texts(tasks, "TASK,..."),
                   .help =
                       "Tasks to run; also data files of yours with --grader, such as "
                       "my.jsonl, or a task file .json that names several"};
  for (const std::string_view name : task_names()) option.value.choices.emplace_back(name);
  return option;
}

std::vector<Option> TaskChoice::data_options() {
  return {{.name = "--data",
           .value = text(data, "FILE"),
           .help = "The task's file, or a folder that holds it (the tiny tasks ship)"},
          {.name = "--grader",
           .value = text(grader, "GRADER"),
           .help = "How the answers of your own data file are graded: math (by value), choice (by "
                   "letter), code (by its test), exact (same text), regex (a pattern matches)"}};
}

std::vector<Option> TaskChoice::answer_options() {
  return {
      {.name = "--prompt",
       .value = text(user),
       .help = "User message in place of the task's; {problem}, {prompt}, {question} and {choices} "
               "are filled in, for your own files every field"},
      {.name = "--extract",
       .value = one_of(extract, {"strict", "lenient"}),
       .help = "Whether an answer is looked for in a <think> block that is never closed: strict "
               "does not, lenient does"}};
}

void TaskChoice::add_prompt_options_to(Command& command) {
  prompt.add_to(command, "System message in place of the task's; '' for none");
  stop.add_to(command);
}

std::vector<TaskData> TaskChoice::load(std::uint64_t seed) const {
  std::vector<TaskData> loaded = load_tasks(tasks, {.data = data,
                                                    .grader = grader,
                                                    .seed = seed,
                                                    .prompts = {prompt.system, user},
                                                    .extraction = extraction_named(extract)});
  for (TaskData& task : loaded)
    for (Problem& problem : task.problems) {
      prompt.apply_to(problem.question);
      stop.apply_to(problem.question);
    }
  return loaded;
}

}  // namespace counterbeam::cli
