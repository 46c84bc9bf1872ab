// The summary of samples. Per task and method: accuracy with its interval, pass@k, the shares of
// truncated and unparsed answers, and cost. Per pair of methods: a paired test. Also the samples on
// which the two graders disagree.
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
  std::vector<Interval> pass_at;       // k = 1, 2, ... up to the fewest samples of a question
  std::vector<double> best_of;         // k = 1, 2, ...: the sample with the highest score of k
  double truncated = 0, unparsed = 0;  // shares of samples
  int errors = 0;                      // samples that could not be run; they count as wrong
  double answer_tokens = 0;            // means per sample
  double generated_tokens = 0, scored_tokens = 0, cached_tokens = 0, seconds = 0;
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

struct EvalSummary {
  std::vector<TaskSummary> tasks;
  TaskSummary average;                // over tasks, equally weighted; empty if there is only one
  std::vector<Sample> disagreements;  // between the default and the strict grader
};

// Throws Error if there are no samples.
EvalSummary summarise(const std::vector<Sample>& samples);

Json to_json(const EvalSummary& summary);

// A table for the terminal: a row per method, a column per task.
std::string to_table(const EvalSummary& summary);

}  // namespace counterbeam
