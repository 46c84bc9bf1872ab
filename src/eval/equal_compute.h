// Accuracy at equal compute: each method's accuracy next to the best that the other methods reach
// at the same cost. Cost is tokens per sample, generated and scored.
//
// Using one method for a share of the questions and another for the rest has the weighted mean of
// their costs and accuracies, so accuracies are interpolated over cost between two methods. A
// method with several samples per question also counts as "METHOD, best of k": the sample with the
// highest score of k.
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
  bool has_rival = false;         // false if no other method is as cheap
  double rival = 0;               // the best accuracy of the others at `tokens`
  std::string cheaper, costlier;  // the mixture that reaches it; costlier is empty for one method
  double costlier_share = 0;      // share of the questions
};

// One row per method, in order of its first point, which is the method itself. A method is not
// compared with its own points.
std::vector<EqualCompute> equal_compute(const std::vector<CostPoint>& points);

}  // namespace counterbeam
