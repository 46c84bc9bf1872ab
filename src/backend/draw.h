// The definition of a head job: log-probability, filters and draw, given the logits, by the rules
// of backend/sampling.h. Plain scalar code in vocabulary order. The reference back end and the toy
// engine draw by it, and every other back end is tested against it.
#pragma once

#include <span>
#include <vector>

#include "backend/ops.h"

namespace counterbeam {

// The logits of the rows that a job refers to.
struct JobLogits {
  std::span<const float> own;                   // [vocab], of HeadJob::row
  std::span<const std::span<const float>> mix;  // [job.mix.size()][vocab], of the mixed rows
};

// The log of the sum of exponentials, in double. Not finite if the row holds NaN or +inf.
double log_sum_exp(std::span<const float> logits);

// Whether every logit is finite.
bool all_finite(std::span<const float> logits);

// The distribution that a job draws from, as log-probabilities by id; -inf for tokens that are
// never drawn. At temperature 0 one token has all the mass. REQUIRES finite logits.
std::vector<double> draw_distribution(const HeadJob& job, const JobLogits& logits);

// The token at which the cumulative distribution, in vocabulary order, exceeds `u`, a number in
// [0, 1).
TokenId invert_cdf(std::span<const double> logprobs, double u);

// Runs one job. `drawn` is the token drawn by the job that this one follows, if it follows one.
HeadResult run_head_job(const HeadJob& job, const JobLogits& logits, TokenId drawn);

}  // namespace counterbeam
