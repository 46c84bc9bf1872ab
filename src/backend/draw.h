// The definition of a head job: log-probability, filters and draw, given the logits. Plain scalar
// code in vocabulary order: the same key and the same logits give the same token on every back end
// that uses it.
#pragma once

#include <span>

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

// Runs one job. `drawn` is the token drawn by the job that this one follows, if it follows one.
HeadResult run_head_job(const HeadJob& job, const JobLogits& logits, TokenId drawn);

}  // namespace counterbeam
