// The quantities of the theory, computed exactly on a toy model: the target distribution, the
// future correction zeta, and the policies that truncate it.
#pragma once

#include <span>
#include <vector>

#include "theory/toy_model.h"

namespace counterbeam {

class ExactTheory {
 public:
  ExactTheory(const ToyModel& model, double steer);

  const ToyModel& model() const { return model_; }
  double steer() const { return steer_; }
  // The largest |reward| of any token.
  double largest_reward() const { return largest_reward_; }

  // The target distribution over all answers, in lexicographic order: pi(a) exp(R(a)/alpha) / Z.
  std::vector<double> target() const;

  // The future correction of a prefix (1 at the horizon): the sum over its continuations of the
  // product of pi(a_s) exp(r_s/alpha).
  double zeta(std::span<const TokenId> prefix) const;

  // The distribution over answers of the policy that draws `chunk` tokens at a time from pi(chunk)
  // exp(R(chunk)/alpha), normalised per chunk, which treats zeta after the chunk as 1. chunk = 1 is
  // the naive per-token policy, chunk = horizon the target.
  std::vector<double> truncated(int chunk) const;

  // The target again, from the exact per-token conditionals pi exp(r/alpha) zeta.
  std::vector<double> decomposed() const;

  // The largest total variation between the exact and the truncated distribution of the next chunk,
  // over all prefixes of length t.
  double worst_step(int t, int chunk) const;

 private:
  // pi(chunk | prefix) exp(R(chunk)/alpha) for every continuation of that length, in lexicographic
  // order.
  std::vector<double> chunk_weights(std::span<const TokenId> prefix, int length) const;

  ToyModel model_;
  double steer_;
  double largest_reward_ = 0;
  std::vector<std::vector<double>> zeta_;  // [length][index]
};

// Half the sum of absolute differences.
double total_variation(std::span<const double> p, std::span<const double> q);

}  // namespace counterbeam
