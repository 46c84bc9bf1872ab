// Draws and log-probabilities of the simulated device (simulated_device.h), by backend/draw.h.
#include <vector>

#include "backend/draw.h"
#include "base/error.h"
#include "cuda_host/simulated_device.h"

namespace counterbeam::cuda {
namespace {

struct Logits {
  const float* data;
  int stride, vocab;

  std::span<const float> row(int r) const {
    return {data + std::ptrdiff_t{r} * stride, std::size_t(vocab)};
  }
};

// What the device is told of a draw: the whole Sampling, but a uniform number in place of the key.
HeadResult draw(const DeviceJob& device, const DeviceMix* mixes, const Logits& logits) {
  std::vector<std::pair<int, float>> mix;
  std::vector<std::span<const float>> mixed;
  for (int m = device.first_mix; m < device.first_mix + device.mixes; ++m) {
    mix.emplace_back(mixes[m].row, mixes[m].weight);
    mixed.push_back(logits.row(mixes[m].row));
  }
  HeadJob job;
  job.sampling = device.sampling;
  CB_CHECK(device.min_p_reach == min_p_reach(device.sampling));
  job.mix = mix;
  job.plausibility = device.plausibility;
  job.vocab_limit = device.vocab_limit;
  HeadResult result;
  for (const auto row : mixed) result.finite &= all_finite(row);
  result.finite &= all_finite(logits.row(device.row));
  if (!result.finite) return result;
  const auto logprobs = draw_distribution(job, {logits.row(device.row), mixed});
  result.token = invert_cdf(logprobs, device.uniform);
  result.drawn_logprob = static_cast<float>(logprobs[result.token]);
  return result;
}

DeviceResult run(const DeviceJob& device, const DeviceMix* mixes, const Logits& logits,
                 const DeviceResult* results) {
  const bool follows = device.given < 0 && device.follows >= 0;
  if (follows && results[device.follows].finite == 0) return {-1, 0, 0, 0};
  HeadJob score;
  HeadResult drawn;
  if (device.given >= 0) {
    score.given = device.given;
  } else if (follows) {
    score.given = results[device.follows].token;
  } else {
    drawn = draw(device, mixes, logits);
    if (!drawn.finite) return {-1, 0, 0, 0};
    score.given = drawn.token;
  }
  const HeadResult scored = run_head_job(score, {logits.row(device.row), {}}, -1);
  const bool draws = device.given < 0 && !follows;
  return {scored.token, scored.logprob, draws ? drawn.drawn_logprob : scored.drawn_logprob,
          scored.finite ? 1 : 0};
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
      if (jobs[j].row >= 0) results[j] = run(jobs[j], mixes, logits, results);
    }
  });
}

}  // namespace counterbeam::cuda
