// Tasks of users: a data file with a grader, or a task file that names several of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "eval/tasks.h"

namespace counterbeam {

struct TaskOptions {
  std::filesystem::path data;  // of known tasks, as load_task() takes it
  std::string grader;          // of data files that users name
  std::uint64_t seed = 0;
  TaskPrompts prompts;
  Extraction extraction = Extraction::Strict;
};

// The graders that --grader and task files name: math, choice, code, exact, regex.
std::vector<std::string_view> grader_names();
// Throws an Error that lists the names.
Judging grader_named(std::string_view name);

// BadInput that opens with `place` where a task of a user cannot have this name.
void check_task_name(const std::string& name, const std::string& place);

// Whether --task names a data file or a task file rather than a known task.
bool is_task_path(std::string_view name);

// One data file or, for NAME.json, the tasks that it names:
//   {"tasks": [{"file": "a.jsonl", "grader": "math", "name": "a", "prompt": "...", "system": "...",
//               "limit": 50}, ...]}
// Files are looked for beside the task file; prompts of `options` come before those of the file.
// Throws an Error that names the file, the task and the field.
std::vector<TaskData> load_own_tasks(const std::filesystem::path& path, const TaskOptions& options);

// The tasks that --task names, known ones and those of users.
std::vector<TaskData> load_tasks(const std::vector<std::string>& names, const TaskOptions& options);

}  // namespace counterbeam
