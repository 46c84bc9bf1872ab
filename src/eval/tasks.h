// The tasks of the paper and the tiny tasks that ship with the program: where their problems come
// from, their prompts, and how answers are graded. The user supplies the data files of the paper's
// tasks in their public formats.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eval/code_judge.h"
#include "grade/extract.h"
#include "grade/grade.h"
#include "search/prompts.h"

namespace counterbeam {

enum class Judging { Math, Choice, Code, Exact, Regex, Own };
std::string_view to_string(Judging judging);  // the name of the grader: "math", "choice", ...

// A grader of the caller's, for Judging::Own. Called from several threads.
struct OwnGrader {
  std::string name{};  // part of what a resumed run compares
  std::function<Verdict(const std::string& id, const std::string& answer)> grade{};
};

struct Problem {
  std::string id;                // unique within the task
  Question question;             // the task's prompts with their fields filled in
  std::string gold;              // math, exact: the answer; choice: the letter; regex: the pattern
  CodeProblem code;              // code
  std::vector<int> permutation;  // choice: which of the file's choices is shown as A, B, C, D
};

struct TaskData {
  std::string name;
  Judging judging = Judging::Math;
  std::vector<Problem> problems;
  bool withheld = false;                       // its authors ask not to publish its questions
  std::filesystem::path file{};                // the problems come from
  std::string file_sha256{};                   // of its content
  Extraction extraction = Extraction::Strict;  // how answers are read
  OwnGrader own_grader{};                      // REQUIRED for Judging::Own
};

// Overrides of the prompts. Without a system message here the published one is used; an empty one
// means none at all. An empty user message is the published one. The fields that the task has of
// {problem}, {prompt}, {question} and {choices} are filled in, and for tasks of users every field
// of a row.
struct TaskPrompts {
  std::optional<std::string> system{};
  std::string user{};
};

std::vector<std::string_view> task_names();

// Loads a task. `data` is a file, a folder that contains the file under its public name (directly
// or in a folder named like the task), or empty for the shipped tasks. The choices of a question
// are shuffled by (seed, question). Throws an Error that names the file, row and field, or says
// where to download the data.
TaskData load_task(std::string_view name, const std::filesystem::path& data, std::uint64_t seed,
                   const TaskPrompts& prompts = {});

}  // namespace counterbeam
