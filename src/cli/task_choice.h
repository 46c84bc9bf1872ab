// Which tasks a command runs on and how they are asked: what `eval`, `reproduce`,
// `diagnose` and `contexts search` have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/question_options.h"
#include "eval/own_tasks.h"

namespace counterbeam::cli {

// The options refer to this, which must outlive the parse.
struct TaskChoice {
  std::vector<std::string> tasks;
  std::string data;
  std::string grader;  // of data files that --task names
  PromptOptions prompt;
  std::string user;  // message in place of the task's
  StopOptions stop;
  std::string extract = "strict";

  Option task_option();
  std::vector<Option> data_options();    // --data, --grader
  std::vector<Option> answer_options();  // --prompt, --extract
  // --system and the other options of prompts, then where answers stop.
  void add_prompt_options_to(Command& command);

  std::vector<TaskData> load(std::uint64_t seed) const;
};

}  // namespace counterbeam::cli
