// The head of the CUDA back end: logits of up to some 512 rows at a time stay on the device, only
// tokens and log-probabilities come back to the host.
#include <algorithm>
#include <cstring>

#include "backend/cuda/cuda_ops.h"
#include "backend/cuda/head_job.h"
#include "backend/cuda/launch.h"
#include "backend/draw.h"
#include "base/error.h"

namespace counterbeam::cuda {
namespace {

constexpr int kLogitRows = 512;  // rows of logits at once

int stride_of(const PackedMatrix& weight) {
  return (weight.out + 3) / 4 * 4;
}

}  // namespace

const float* CudaOps::logits_on_device(Matrix x, const PackedMatrix& weight) {
  const int stride = stride_of(weight);
  const std::size_t bytes = std::size_t(x.rows) * std::size_t(stride) * sizeof(float);
  if (bytes > logits_.bytes()) {
    wait();
    logits_.want(bytes, "logits");
  }
  product_into({Finish::StoreFloat, logits_.data(), stride, nullptr}, x, weight);
  return logits_.as<float>();
}

std::vector<HeadResult> CudaOps::head(Matrix x, const PackedMatrix& weight,
                                      std::span<const HeadJob> jobs) {
  steps_.end();
  std::vector<HeadResult> results(jobs.size());
  // A job and the jobs that follow it stay in one launch. Rows of jobs ascend.
  int first = 0;
  for (int j = 1; j <= static_cast<int>(jobs.size()); ++j) {
    if (j < static_cast<int>(jobs.size()) &&
        (jobs[std::size_t(j)].follows >= 0 ||
         jobs[std::size_t(j)].row + kLogitRows / 8 < jobs[std::size_t(first)].row + kLogitRows))
      continue;
    run_jobs(results, x, weight, jobs, first, j);
    first = j;
  }
  return results;
}

void CudaOps::run_jobs(std::span<HeadResult> results, Matrix x, const PackedMatrix& weight,
                       std::span<const HeadJob> jobs, int first, int last) {
  int low = x.rows, high = 0;
  for (const HeadJob& job : jobs.subspan(std::size_t(first), std::size_t(last - first))) {
    low = std::min(low, job.row);
    high = std::max(high, job.row);
    for (const auto& [row, share] : job.mix) {
      low = std::min(low, row);
      high = std::max(high, row);
    }
  }
  DeviceJobs on_device;
  for (const HeadJob& job : jobs.subspan(std::size_t(first), std::size_t(last - first)))
    on_device.add(job, weight.out, low, first);
  const HeadKind kind = on_device.kind;
  const int count = last - first, row_count = high - low + 1;
  const std::size_t job_bytes = on_device.jobs.size() * sizeof(DeviceJob);
  const std::size_t mix_bytes = on_device.mixes.size() * sizeof(DeviceMix);
  const std::size_t result_bytes = std::size_t(count) * sizeof(DeviceResult);
  const std::size_t workspace = head_workspace(row_count, count, weight.out, kind);
  const std::size_t sent_bytes = std::max<std::size_t>(job_bytes + mix_bytes, 1 << 20);
  if (workspace > workspace_.bytes() || sent_bytes > jobs_.bytes() ||
      sent_bytes > jobs_there_.bytes() || result_bytes > results_.bytes()) {
    wait();
    workspace_.want(workspace, "drawing tokens");
    jobs_.want(sent_bytes, "drawing tokens");
    jobs_there_.want(sent_bytes);
    results_.want(std::max<std::size_t>(result_bytes, 1 << 20));
  }
  // The layers are still computing: jobs are copied on another stream meanwhile.
  std::memcpy(jobs_there_.data(), on_device.jobs.data(), job_bytes);
  if (mix_bytes > 0) std::memcpy(jobs_there_.data() + job_bytes, on_device.mixes.data(), mix_bytes);
  check(cudaMemcpyAsync(jobs_.data(), jobs_there_.data(), job_bytes + mix_bytes,
                        cudaMemcpyHostToDevice, beside_.get()),
        "copying jobs");
  check(cudaStreamSynchronize(beside_.get()), "copying jobs");

  Matrix rows = x;
  rows.rows = row_count;
  rows.data = static_cast<Bf16*>(x.data) + std::ptrdiff_t{low} * x.stride;
  const float* logits = logits_on_device(rows, weight);
  auto* results_there = reinterpret_cast<DeviceResult*>(results_.data());
  head_jobs(steps_.end(), logits, rows.rows, stride_of(weight), weight.out, jobs_.as<DeviceJob>(),
            count, reinterpret_cast<const DeviceMix*>(jobs_.as<std::byte>() + job_bytes), kind,
            results_there, workspace_.data());
  busy_ = true;
  wait();
  for (int j = 0; j < count; ++j) {
    HeadResult& result = results[std::size_t(first + j)];
    result.finite = results_there[j].finite != 0;
    if (!result.finite) continue;
    result.token = results_there[j].token;
    result.logprob = results_there[j].logprob;
    result.drawn_logprob = results_there[j].drawn_logprob;
    const HeadJob& job = jobs[std::size_t(first + j)];
    if (job.top > 0) result.top = top_of_row(logits, job.row - low, job, weight, result);
  }
}

// The likeliest tokens of a row, chosen on the host: few requests want them, and a row is copied in
// some 20 microseconds. The chosen token keeps the log-probability that the device has computed.
TopTokens CudaOps::top_of_row(const float* logits, int row, const HeadJob& job,
                              const PackedMatrix& weight, const HeadResult& result) {
  std::vector<float> there(std::size_t(weight.out));
  check(cudaMemcpyAsync(there.data(), logits + std::ptrdiff_t{row} * stride_of(weight),
                        there.size() * sizeof(float), cudaMemcpyDeviceToHost, steps_.end()),
        "copying logits");
  busy_ = true;
  wait();
  const std::size_t limit = job.vocab_limit > 0 ? std::size_t(job.vocab_limit) : there.size();
  TopTokens top = top_tokens(std::span(there).first(std::min(limit, there.size())), job.top,
                             log_sum_exp(there));
  for (TokenLogprob& one : top)
    if (one.token == result.token) one.logprob = result.logprob;
  return top;
}

void CudaOps::logits(std::span<float> out, Matrix x, const PackedMatrix& weight) {
  const cudaStream_t stream = steps_.end();
  const float* logits = logits_on_device(x, weight);
  const std::size_t width = std::size_t(weight.out) * sizeof(float);
  check(cudaMemcpy2DAsync(out.data(), width, logits, std::size_t(stride_of(weight)) * sizeof(float),
                          width, std::size_t(x.rows), cudaMemcpyDeviceToHost, stream),
        "copying logits");
  busy_ = true;
  wait();
}

}  // namespace counterbeam::cuda
