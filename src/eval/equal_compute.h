// Accuracy at equal compute: what each method reaches, beside the best that the other methods reach
// at the same cost. Cost is tokens per sample, generated and scored.
//
// Taking one method for a share of the questions and another for the rest costs and scores the
// weighted mean of the two, so between two methods the accuracies are interpolated over cost. A
// method sampled several times also stands there as "METHOD, best of k": k samples, the one with
// the highest score taken.
#pragma once

#include <string>
#include <vector>

namespace counterbeam {

struct CostPoint {
  std::string name;
  std::string method;  // whose samples these are
  double tokens = 0;
  double accuracy = 0;
};

struct EqualCompute {
  std::string method;
  double tokens = 0, accuracy = 0;
  bool has_rival = false;         // false: nothing else is as cheap
  double rival = 0;               // the best accuracy of the others at `tokens`
  std::string cheaper, costlier;  // the mix that reaches it; costlier is empty for one alone
  double costlier_share = 0;      // of the questions
};

// One row per method, in the order of its first point, which is the method itself. A method's own
// points are no rivals of it.
std::vector<EqualCompute> equal_compute(const std::vector<CostPoint>& points);

}  // namespace counterbeam
