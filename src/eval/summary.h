// What samples amount to: per task and method accuracy with its interval, pass@k, the share of cut
// and unreadable answers, cost; per pair of methods a paired test; where the two graders disagree.
#pragma once

#include <optional>
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
  std::vector<double> pass_at;         // k = 1, 2, ... as far as every question has samples
  std::vector<double> best_of;         // k = 1, 2, ...: the best-scored of k samples taken
  double truncated = 0, unparsed = 0;  // shares of samples
  int errors = 0;                      // samples that could not be run; they count as wrong
  double answer_tokens = 0;            // means per sample
  double generated_tokens = 0, scored_tokens = 0, cached_tokens = 0, seconds = 0;
};

struct MethodPair {
  std::string a, b;
  PairedTest test;  // on the questions both have
  int questions = 0;
};

struct TaskSummary {
  std::string task;
  std::vector<MethodSummary> methods;  // in order of appearance
  std::vector<MethodPair> pairs;       // every two methods
  std::vector<EqualCompute> equal;     // per method: the others at its cost
};

struct EvalSummary {
  std::vector<TaskSummary> tasks;
  TaskSummary average;                // over tasks, each with the same weight; empty with one task
  std::vector<Sample> disagreements;  // of the default and the strict grader
};

// Error when there are no samples.
EvalSummary summarise(const std::vector<Sample>& samples);

Json to_json(const EvalSummary& summary);

// The grid for a terminal: a row per method, a column per task.
std::string to_table(const EvalSummary& summary);

}  // namespace counterbeam
