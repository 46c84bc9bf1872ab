// Runs methods over the problems of tasks: every problem, method and sample is one search on a
// thread of its own, all in flight over one engine, each graded and recorded as it is done.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "eval/samples.h"
#include "eval/tasks.h"
#include "search/loaded_model.h"
#include "search/methods.h"

namespace counterbeam {

struct EvalOptions {
  std::vector<MethodString> methods;
  int samples = 1;            // k answers per problem and method
  int limit = 0;              // first so many problems; 0: all
  int shard = 0, shards = 1;  // problems whose index mod shards is shard
  int concurrency = 0;        // searches in flight; 0: chosen
  std::uint64_t seed = 0;
  bool resume = false;
  bool deterministic = false;  // seconds are written as 0, so that runs compare byte by byte
  bool quiet = false;
  bool traces = false;  // keep every search as OUT/traces/NUMBER.html
  std::filesystem::path out;
  const Cancellation* cancellation = nullptr;
};

// Writes OUT/samples.jsonl, and at the end orders it by task, problem, method and sample. What a
// former run of the same settings left there is kept with resume, and an error without. Ends with a
// Cancelled error when cancelled; what is done is kept.
void run_eval(const LoadedModel& model, const std::vector<TaskData>& tasks,
              const EvalOptions& options);

// Judges one answer. REQUIRES `judge` for code.
void grade(const TaskData& task, const Problem& problem, const CodeJudge* judge, Sample& sample);

// Puts samples of several shards together; error when two hold the same sample.
void merge_samples(const std::vector<std::filesystem::path>& shards,
                   const std::filesystem::path& out);

}  // namespace counterbeam
