// The future correction on a real model. A search ranks partial answers by what they have; the
// target also weighs what is to come: pi(a) exp(R(a)/alpha) zeta(a), with zeta the mean of
// exp(R(future)/alpha) over futures drawn from pi. Here zeta is estimated by rollouts from
// siblings, candidates that a search would compare, beside the theory's bounds on what ignoring it
// costs.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "diagnose/probe.h"
#include "eval/statistics.h"

namespace counterbeam {

// log zeta from the rewards of rollouts, with its standard error; both by the jackknife, which
// removes most of the bias that the logarithm of a mean has. REQUIRES: two rollouts or more.
struct LogZeta {
  double value = 0;
  double error = 0;
};
LogZeta log_zeta(std::span<const double> rewards, double steer);

// (sum of weights)^2 / sum of squared weights, for weights exp(steer * reward): how many rollouts
// carry the estimate.
double effective_rollouts(std::span<const double> rewards, double steer);

// What the theory needs to know beside the probes.
struct FutureFacts {
  int block = 32;             // K
  int longest = 0;            // T: tokens of the longest answer or rollout
  double largest_reward = 0;  // r_max: the largest |r| seen
  double usual_reward = 0;    // the 99.9 % quantile of |r|
};

struct FutureAtSteer {
  double steer = 0;
  double log_zeta = 0;            // mean over siblings
  double spread = 0;              // standard deviation among siblings, without rollout noise
  double noise = 0;               // standard error of the log zeta of one sibling
  double score_spread = 0;        // standard deviation among siblings of log pi(a) + R(a)/alpha
  double order_changes = 0;       // share of pairs of siblings that the estimate reorders
  double effective_rollouts = 0;  // mean over siblings
  // After the first block: total variation between siblings weighted with and without zeta, and
  // how much of it is noise (half the distance between two halves of the rollouts).
  std::optional<Interval> distance = {};
  double distance_noise = 0;
  // tanh((T - t - K) r/alpha), mean over questions, with the largest and with the usual |r|, and in
  // the form for balanced contexts.
  double bound = 0, usual_bound = 0, balanced_bound = 0;
  // The same summed over all scoring points of an answer of T tokens; vacuous from 1 on.
  double trajectory_bound = 0;
};

struct FutureSummary {
  ScoringPlace place = ScoringPlace::FirstBlock;
  int questions = 0;
  int siblings = 0;        // over all questions
  int rollouts = 0;        // per sibling
  double tokens = 0;       // mean length of the siblings
  double remaining = 0;    // mean tokens of a rollout
  double informative = 0;  // the strength below which the bound is under 1/2
  std::vector<FutureAtSteer> steers;
};

// For every scoring place that was probed. `pair` is the index of the pair.
std::vector<FutureSummary> summarise_futures(std::span<const ProbedQuestion> questions,
                                             std::size_t pair, std::span<const double> steers,
                                             const FutureFacts& facts);

std::string_view to_string(ScoringPlace place);  // "first-block", "halfway"

}  // namespace counterbeam
