// What was asked and what would have been right, for whoever reads a report: problems.jsonl in the
// folder of a run, a line for every problem of its tasks. Questions that their authors ask not to
// show in the open (gpqa) are left out.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "eval/tasks.h"

namespace counterbeam {

struct ProblemText {
  std::string task, id;
  std::string question;  // as it was put to the model; empty where it is not to be shown
  std::string gold;      // the answer, the letter, or the test of a program
};

// Writes the problems of these tasks into OUT/problems.jsonl, beside those of other tasks that a
// former run left there.
void write_problem_texts(const std::filesystem::path& out, const std::vector<TaskData>& tasks);

// Those of OUT/problems.jsonl; none where there is no such file.
std::vector<ProblemText> read_problem_texts(const std::filesystem::path& out);

// Puts the problems of several runs together in `out`.
void merge_problem_texts(const std::vector<std::filesystem::path>& shards,
                         const std::filesystem::path& out);

}  // namespace counterbeam
