// Upper bounds on the total variation caused by truncating the future correction. T is the horizon,
// K the chunk length, r the largest |reward|, steer = 1/alpha. With balanced contexts (the mean
// reward is zero after every prefix) r * steer is replaced by (r * steer)^2 / 4.
#pragma once

namespace counterbeam {

struct TruncationBounds {
  int horizon = 0;            // T
  int chunk = 1;              // K
  double largest_reward = 0;  // r
  double steer = 0;           // 1/alpha
  bool balanced = false;

  // At a scoring point after t tokens: tanh((T - t - K) r/alpha), and 0 for t >= T - K.
  double step(int t) const;
  // Over the trajectory, without the last inequality of the proof: the sum over m = 1 .. T/K of
  // tanh((T - mK) r/alpha).
  double trajectory() const;
  // (r/alpha) T (T - K) / (2K); for K = 1 this bounds the naive policy.
  double closed_form() const;

 private:
  double rate() const;  // r/alpha, or its balanced form
};

// For weights w and w f with f in [least, most]: TV <= (most - least) / (most + least).
double reweighting_bound(double least, double most);

}  // namespace counterbeam
