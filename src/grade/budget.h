// The step budget of one comparison. Every part of the grader charges its steps here; if the budget
// runs out, the answers count as not shown equal.
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
