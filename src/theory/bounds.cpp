#include "theory/bounds.h"

#include <algorithm>
#include <cmath>

namespace counterbeam {

double TruncationBounds::rate() const {
  const double tilt = largest_reward * std::abs(steer);
  return balanced ? tilt * tilt / 4 : tilt;
}

double TruncationBounds::step(int t) const {
  return std::tanh(std::max(0, horizon - t - chunk) * rate());
}

double TruncationBounds::trajectory() const {
  double sum = 0;
  for (int t = 0; t < horizon; t += chunk) sum += step(t);
  return sum;
}

double TruncationBounds::closed_form() const {
  // The sum of max(0, T - mK) over the chunks, which is T(T - K)/(2K) if K divides T.
  double left = 0;
  for (int t = 0; t < horizon; t += chunk) left += std::max(0, horizon - t - chunk);
  return left * rate();
}

double reweighting_bound(double least, double most) {
  return (most - least) / (most + least);
}

}  // namespace counterbeam
