// What a head does with the logits of a row once they are there: log-probability, filters, draw.
// Plain scalar code over one row in vocabulary order, so that the same key and the same logits give
// the same token on every back end that uses it.
#pragma once

#include <span>

#include "backend/ops.h"

namespace counterbeam {

// The logits of the rows that a job speaks of.
struct JobLogits {
  std::span<const float> own;                   // [vocab], of HeadJob::row
  std::span<const std::span<const float>> mix;  // [job.mix.size()][vocab], of the mixed rows
};

// The log of the sum of exponentials, in double; nothing finite comes of a row with NaN or +inf.
double log_sum_exp(std::span<const float> logits);

// True where every logit is a finite number.
bool all_finite(std::span<const float> logits);

// Carries out one job. `drawn` is the token of the job that this one follows, where it does.
HeadResult run_head_job(const HeadJob& job, const JobLogits& logits, TokenId drawn);

}  // namespace counterbeam
