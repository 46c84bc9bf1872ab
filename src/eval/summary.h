// The summary of samples. Per task and method: accuracy with its interval, pass@k, the shares of
// truncated and unparsed answers, and cost. Per pair of methods: a paired test. Also the samples on
// which the two graders disagree.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "eval/equal_compute.h"
#include "eval/samples.h"
#include "eval/statistics.h"

namespace counterbeam {

struct MethodSummary {
  std::string method;
  int questions = 0;
  int samples = 0;
  Interval accuracy;
  Interval strict;                     // by the strict grader
  std::vector<Interval> pass_at;       // k = 1, 2, ... up to the fewest samples of a question
  std::vector<double> best_of;         // k = 1, 2, ...: the sample with the highest score of k
  double truncated = 0, unparsed = 0;  // shares of samples
  int errors = 0;                      // samples that failed; nothing else here counts them
  double answer_tokens = 0;            // means per sample
  double generated_tokens = 0, scored_tokens = 0, cached_tokens = 0;
  std::optional<double> seconds;  // only if each was measured with no other search running
};

struct MethodPair {
  std::string a, b;
  PairedTest test;  // on the questions that both have
  int questions = 0;
};

struct TaskSummary {
  std::string task;
  std::vector<MethodSummary> methods;  // in order of appearance
  std::vector<MethodPair> pairs;       // every two methods
  std::vector<EqualCompute> equal;     // per method: the best of the others at its cost
};

// Samples that could not be run or judged, with the same cause up to its numbers.
struct Failure {
  std::string task, method;
  std::string cause;  // of the first of them
  std::string id;     // its problem
  int samples = 0;
};

// Adds a failure to those of the same task, method and cause up to its numbers, or as a new one.
void add_failure(std::vector<Failure>& failures, Failure failure);

int failed_samples(std::span<const Failure> failures);

struct EvalSummary {
  std::vector<TaskSummary> tasks;     // those with graded samples
  TaskSummary average;                // over tasks, equally weighted; empty if there is only one
  std::vector<Sample> disagreements;  // between the default and the strict grader
  std::vector<Failure> failures;      // by task and method, in order of appearance
};

// Samples that failed are counted, and left out of everything else. Throws Error if there are no
// samples.
EvalSummary summarise(const std::vector<Sample>& samples);

Json to_json(const EvalSummary& summary);

// A table for the terminal: a row per method, a column per task.
std::string to_table(const EvalSummary& summary);

}  // namespace counterbeam
