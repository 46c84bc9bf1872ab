// Runs methods on the problems of tasks. Every problem, method and sample is one search on its own
// thread; the searches run concurrently on one engine, and each is graded and recorded when it
// finishes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "eval/samples.h"
#include "eval/tasks.h"
#include "search/loaded_model.h"
#include "search/method_strings.h"

namespace counterbeam {

// The program that runs, for run.json; no result depends on it.
struct RunSession {
  std::string version, commit;  // of the program; commit: empty if the build does not know it
  std::string command;          // as the user could type it again
};

struct EvalOptions {
  std::vector<MethodString> methods;
  int samples = 1;            // k answers per problem and method
  int first = 0;              // number of the first problem; those before it are left out
  int limit = 0;              // at most that many problems from there on; 0 for all
  int shard = 0, shards = 1;  // problems whose index mod shards is shard
  int concurrency = 0;        // concurrent searches; 0 for automatic
  std::uint64_t seed = 0;
  bool resume = false;
  bool deterministic = false;  // writes 0 for seconds, so that runs can be compared byte by byte
  bool quiet = false;
  std::string label = "eval";   // of the progress bar
  bool allow_failures = false;  // go on if the first problem of a task fails
  bool separation = false;      // grade every candidate: Sample::separation
  bool traces = false;          // keep every search as OUT/traces/NUMBER.html
  std::filesystem::path out;
  std::string experiment;  // a name of presets(), or empty
  RunSession session;
  const Cancellation* cancellation = nullptr;
  // Called after every sample that this call finishes, with the numbers of done and of all samples.
  std::function<void(std::int64_t done, std::int64_t all)> on_sample{};
};

// How many searches run at once.
int searches_at_once(const EvalOptions& options);
// Whether the seconds of its samples are measured.
bool measures_seconds(const EvalOptions& options);

// Writes OUT/samples.jsonl and finally sorts it by task, problem, method and sample. With resume,
// samples of an earlier run with the same settings are kept; without it they are an error. All
// prompts are rendered first: one that cannot be is an error that names the problem, and nothing is
// run. A problem that fails later (too long for the model, a test that cannot be run, a fault of
// the machine) is recorded with its error, is not graded, and is run again by a resumed run; if it
// is the first problem of its task, the run ends with the error unless failures are allowed. Throws
// a Cancelled error if cancelled; finished samples are kept.
//
// With one search at a time, seconds are measured: every method is warmed up by one search that is
// not recorded, and prompts are never cached from one search to the next, so that the order of
// methods does not matter.
void run_eval(const LoadedModel& model, const std::vector<TaskData>& tasks,
              const EvalOptions& options);

// Grades one answer. REQUIRES: `judge` for code.
void grade_sample(const TaskData& task, const Problem& problem, const CodeJudge* judge,
                  Sample& sample);

}  // namespace counterbeam
