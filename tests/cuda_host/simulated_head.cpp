// Draws and log-probabilities (simulated_device.h): a draw is by the inverse of the cumulative
// distribution in the order of ids, among the top_k likeliest; top_p is not looked at.
#include <algorithm>
#include <cmath>
#include <vector>

#include "cuda_host/simulated_device.h"

namespace counterbeam::cuda {
namespace {

struct Logits {
  const float* data;
  int stride, vocab;

  double at(int row, int token) const { return data[std::ptrdiff_t{row} * stride + token]; }
  double log_sum(int row) const {
    double sum = 0;
    for (int i = 0; i < vocab; ++i) sum += std::exp(at(row, i));
    return std::log(sum);
  }
};

struct Drawn {
  int token;
  double logprob;
};

Drawn draw(const DeviceJob& job, const DeviceMix* mixes, const Logits& logits) {
  std::vector<double> scores;
  for (int i = 0; i < logits.vocab; ++i) {
    double score = job.mixes == 0 ? logits.at(job.row, i) : 0;
    for (int m = job.first_mix; m < job.first_mix + job.mixes; ++m)
      score +=
          double{mixes[m].weight} * (logits.at(mixes[m].row, i) - logits.log_sum(mixes[m].row));
    scores.push_back(score);
  }
  const auto top = std::max_element(scores.begin(), scores.end());
  if (job.temperature == 0) return {static_cast<int>(top - scores.begin()), 0};
  std::vector<double> sorted = scores;
  std::sort(sorted.rbegin(), sorted.rend());
  const double least =
      job.top_k > 0 ? sorted[std::size_t(std::min(job.top_k, logits.vocab)) - 1] : -INFINITY;
  double sum = 0, passed = 0;
  const auto mass = [&](double score) {
    return score < least ? 0 : std::exp((score - *top) / double{job.temperature});
  };
  for (const double score : scores) sum += mass(score);
  int token = 0;
  while (token + 1 < logits.vocab &&
         (passed += mass(scores[std::size_t(token)])) <= job.uniform * sum)
    ++token;
  return {token, std::log(mass(scores[std::size_t(token)]) / sum)};
}

}  // namespace

std::size_t head_workspace(int, int, int, HeadKind) {
  return 64;
}

void head_jobs(cudaStream_t stream, const float* data, int, int stride, int vocab,
               const DeviceJob* jobs, int job_count, const DeviceMix* mixes, HeadKind,
               DeviceResult* results, void*) {
  testing::enqueue(stream, [=] {
    const Logits logits{data, stride, vocab};
    for (int j = 0; j < job_count; ++j) {
      const DeviceJob& job = jobs[j];
      const bool draws = job.given < 0 && job.follows < 0;
      Drawn drawn{job.given, 0};
      if (draws) drawn = draw(job, mixes, logits);
      if (job.given < 0 && job.follows >= 0) drawn.token = results[job.follows].token;
      const auto logprob =
          static_cast<float>(logits.at(job.row, drawn.token) - logits.log_sum(job.row));
      results[j] = {drawn.token, logprob, draws ? static_cast<float>(drawn.logprob) : logprob,
                    std::isfinite(logprob)};
    }
  });
}

}  // namespace counterbeam::cuda
