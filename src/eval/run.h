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

struct EvalOptions {
  std::vector<MethodString> methods;
  int samples = 1;            // k answers per problem and method
  int limit = 0;              // only the first `limit` problems; 0 for all
  int shard = 0, shards = 1;  // problems whose index mod shards is shard
  int concurrency = 0;        // concurrent searches; 0 for automatic
  std::uint64_t seed = 0;
  bool resume = false;
  bool deterministic = false;  // writes 0 for seconds, so that runs can be compared byte by byte
  bool quiet = false;
  bool traces = false;  // keep every search as OUT/traces/NUMBER.html
  std::filesystem::path out;
  const Cancellation* cancellation = nullptr;
};

// Writes OUT/samples.jsonl and finally sorts it by task, problem, method and sample. With resume,
// samples of an earlier run with the same settings are kept; without it they are an error. Throws a
// Cancelled error if cancelled; finished samples are kept.
void run_eval(const LoadedModel& model, const std::vector<TaskData>& tasks,
              const EvalOptions& options);

// Grades one answer. REQUIRES: `judge` for code.
void grade_sample(const TaskData& task, const Problem& problem, const CodeJudge* judge,
                  Sample& sample);

// Merges the samples of several shards. Throws Error if two contain the same sample.
void merge_samples(const std::vector<std::filesystem::path>& shards,
                   const std::filesystem::path& out);

}  // namespace counterbeam
