// Evaluations from a program: compares methods on tasks, as `counterbeam eval` does. The results
// are written to a folder (docs/evaluation.md): samples.jsonl, summary.json, report.html. A run
// that was stopped can be resumed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "counterbeam/counterbeam.h"

namespace counterbeam {

// A problem of your own, for a grader of your own.
struct OwnProblem {
  std::string id{};  // unique within the task
  std::string question{};
  std::string gold{};    // the right answer, shown in the report
  std::string system{};  // empty: none
};

struct OwnVerdict {
  bool correct = false;
  std::string extracted{};  // the part of the answer that was graded
};

// Problems and a grader that are not in files. The grader is called from several threads. A resumed
// run compares `grader_name`, since it cannot compare functions.
struct OwnTask {
  std::string name{};
  std::vector<OwnProblem> problems{};
  std::string grader_name{};
  std::function<OwnVerdict(const std::string& id, const std::string& answer)> grader{};
};

struct EvaluationOptions {
  std::vector<std::string> tasks{};  // known tasks, data files (with `grader`), or task files
  std::string data{};                // file or folder of a known task's problems
  std::string grader{};              // of data files: math, choice, code, exact, regex
  std::vector<OwnTask> own{};        // besides `tasks`
  std::vector<std::string> methods{};
  std::vector<ContextPair> pairs{};     // named pairs of your own, for `methods`
  std::optional<std::string> system{};  // in place of the tasks'; empty: none at all
  std::string prompt{};                 // user message in place of the tasks'
  std::string template_arguments = "{}";
  bool system_as_user = false;
  bool raw = false;
  std::vector<std::string> stop{};
  std::string extract = "strict";  // or lenient
  int samples = 1;                 // per problem and method
  int limit = 0;                   // problems of each task; 0: all
  int concurrency = 16;            // searches at once; 1: seconds are measured
  std::uint64_t seed = 0;
  bool resume = false;
  bool traces = false;          // keep every search as a page
  bool deterministic = false;   // leave timings out, so that two runs are equal byte for byte
  bool allow_failures = false;  // go on if the first problem fails; do not throw Failed
  std::string out{};            // folder
  std::string program{};        // who runs, for run.json: a version, and a command to show
  std::string command{};
  std::function<void(std::int64_t done, std::int64_t all)> on_sample{};  // from several threads
  const Cancellation* cancellation = nullptr;
};

// Runs the samples that are not done yet and writes the folder; returns the content of
// summary.json. Throws BadInput, which names the task, method or field; Cancelled, after which the
// run can be resumed; and Failed if samples could not be run or judged, after the folder is
// written, unless failures are allowed.
std::string evaluate(const LanguageModel& model, const EvaluationOptions& options);

// Whether an answer is right by one of the graders math, choice and exact, and which part of it was
// graded.
OwnVerdict grade_answer(const std::string& grader, const std::string& gold,
                        const std::string& answer);

}  // namespace counterbeam
