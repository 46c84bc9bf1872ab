#include "eval/tasks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/closest.h"
#include "base/error.h"
#include "eval/task_rows.h"
#include "model/hub.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

struct TaskKind {
  std::string_view name;
  Judging judging;
  std::string_view file;    // its public name; for a shipped task, under tasks/
  std::string_view source;  // where to download it; empty for a shipped task
  std::string_view id_field;
  RowReader read;
  bool withheld = false;
};

constexpr std::array<TaskKind, 7> kTasks = {{
    {"tiny-math", Judging::Math, "tiny-math.jsonl", "", "unique_id", read_math},
    {"tiny-code", Judging::Code, "tiny-code.jsonl", "", "task_id", read_code},
    {"tiny-choice", Judging::Choice, "tiny-choice.jsonl", "", "id", read_tiny_choice},
    {"math500", Judging::Math, "test.jsonl", "math_splits/test.jsonl of openai/prm800k",
     "unique_id", read_math},
    {"humaneval", Judging::Code, "HumanEval.jsonl.gz",
     "data/HumanEval.jsonl.gz of openai/human-eval", "task_id", read_code},
    {"gpqa", Judging::Choice, "gpqa_diamond.csv",
     "gpqa_diamond.csv of the GPQA authors (they ask that it is not shown in the open)",
     "Record ID", read_gpqa, true},
    {"gsm8k", Judging::Math, "test.jsonl",
     "grade_school_math/data/test.jsonl of openai/grade-school-math", "id", read_gsm8k},
}};

fs::path data_path(const TaskKind& task, const fs::path& data) {
  const bool ships = task.source.empty();
  if (!data.empty() && !fs::is_directory(data)) return data;
  if (!data.empty()) {
    // Two public files are named test.jsonl, so a folder named like the task is tried first.
    for (const fs::path& candidate : {data / task.name / task.file, data / task.file})
      if (fs::exists(candidate)) return candidate;
    if (!ships)
      bad_input("{}: does not contain {}; it is {}", data.string(), task.file, task.source);
  }
  if (ships) return shipped_folder("tasks") / task.file;
  bad_input("task {} needs --data FILE: {}", task.name, task.source);
}

}  // namespace

std::string_view to_string(Judging judging) {
  switch (judging) {
    case Judging::Math:
      return "math";
    case Judging::Choice:
      return "choice";
    case Judging::Code:
      return "code";
    case Judging::Exact:
      return "exact";
    case Judging::Regex:
      return "regex";
    case Judging::Own:
      return "own";
  }
  CB_CHECK(false);
}

std::vector<std::string_view> task_names() {
  std::vector<std::string_view> names;
  for (const TaskKind& task : kTasks) names.push_back(task.name);
  return names;
}

TaskData load_task(std::string_view name, const fs::path& data, std::uint64_t seed,
                   const TaskPrompts& prompts) {
  const auto task = std::find_if(kTasks.begin(), kTasks.end(),
                                 [&](const TaskKind& kind) { return kind.name == name; });
  if (task == kTasks.end())
    bad_input("task \"{}\" is not known; known: {}, or a data file of yours (.jsonl, .csv){}", name,
              fmt::join(task_names(), ", "), did_you_mean(name, task_names()));
  const fs::path path = data_path(*task, data);
  TaskData loaded = read_task(std::string(name), task->judging, path, task->read, task->id_field,
                              {seed, prompts});
  loaded.withheld = task->withheld;
  return loaded;
}

}  // namespace counterbeam
