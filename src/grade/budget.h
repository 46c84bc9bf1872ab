// What one grade may spend. Every part of the grader pays for its steps here; when the budget is
// gone the question is answered "not shown equal".
#pragma once

#include "base/error.h"

namespace counterbeam::grade {

class Budget {
 public:
  explicit Budget(long steps) : left_(steps) {}
  void spend(long steps) {
    left_ -= steps;
    if (left_ < 0) failed("the answer is too large to compare");
  }

 private:
  long left_;
};

}  // namespace counterbeam::grade
