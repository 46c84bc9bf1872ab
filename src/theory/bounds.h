// The bounds on what truncating the future correction costs, in total variation. T horizon, K
// chunk, r the largest |reward|, steer = 1/alpha. With balanced contexts (mean reward zero after
// every prefix) r * steer is replaced by (r * steer)^2 / 4.
#pragma once

namespace counterbeam {

struct TruncationBounds {
  int horizon = 0;            // T
  int chunk = 1;              // K
  double largest_reward = 0;  // r
  double steer = 0;           // 1/alpha
  bool balanced = false;

  // At a scoring point after t tokens: tanh((T - t - K) r/alpha); 0 from t = T - K on.
  double step(int t) const;
  // Over the trajectory, before the last inequality: the sum over m = 1 .. T/K of
  // tanh((T - mK) r/alpha).
  double trajectory() const;
  // (r/alpha) T (T - K) / (2K); with K = 1 the naive policy's bound.
  double closed_form() const;

 private:
  double rate() const;  // r/alpha, or its balanced form
};

// For weights w and w f with f in [least, most]: TV <= (most - least) / (most + least).
double reweighting_bound(double least, double most);

}  // namespace counterbeam
