// The tasks of the paper and the tiny ones that ship: where their problems come from, the prompts
// they become, and how an answer is judged. Data files are the user's own, in their public formats.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "eval/code_judge.h"
#include "search/contexts.h"

namespace counterbeam {

enum class Judging { Math, Choice, Code };

struct Problem {
  std::string id;                // unique in its task
  Question question;             // the task's prompts, filled in
  std::string gold;              // math: the answer; choice: the letter
  CodeProblem code;              // code
  std::vector<int> permutation;  // choice: which of the file's choices stands at A, B, C, D
};

struct TaskData {
  std::string name;
  Judging judging = Judging::Math;
  std::vector<Problem> problems;
  bool withheld = false;  // its authors ask that its questions are not shown in the open
};

// Prompts may be overridden; {problem}, {prompt}, {question}, {choices} are filled in as the task
// has them. Empty: the published ones.
struct TaskPrompts {
  std::string system, user;
};

std::string task_names();  // "tiny-math, ..."

// Reads a task. `data` is a file, a folder that holds one by its public name (in a folder named
// like the task, or itself), or empty for the tasks that ship. Choices of a question are shuffled
// by (seed, question). Error names file, row and field, or says where the data is to be had.
TaskData load_task(std::string_view name, const std::filesystem::path& data, std::uint64_t seed,
                   const TaskPrompts& prompts = {});

}  // namespace counterbeam
