// problems.jsonl in the folder of a run: the question and the correct answer of every problem, for
// readers of the report. Questions whose authors ask not to publish them (gpqa) are left out.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "eval/tasks.h"

namespace counterbeam {

struct ProblemText {
  std::string task, id;
  std::string question;  // as the model saw it; empty if it must not be published
  std::string gold;      // the answer, the letter, or the test
};

// Writes the problems of these tasks to OUT/problems.jsonl and keeps those of other tasks that an
// earlier run wrote there.
void write_problem_texts(const std::filesystem::path& out, const std::vector<TaskData>& tasks);

// Reads OUT/problems.jsonl; empty if there is no such file.
std::vector<ProblemText> read_problem_texts(const std::filesystem::path& out);

// Merges the problems of several runs into `out`.
void merge_problem_texts(const std::vector<std::filesystem::path>& shards,
                         const std::filesystem::path& out);

}  // namespace counterbeam
