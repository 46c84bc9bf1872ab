// The jobs of a head as the kernels of head.cpp take them: one list of jobs, one of the rows they
// mix, and which stages they need.
#pragma once

#include <vector>

#include "backend/cuda/kernels.h"
#include "backend/ops.h"

namespace counterbeam::cuda {

// Rows and jobs are counted from `first_row` and `first_job` of the caller's.
inline DeviceJob device_job(const HeadJob& job, int first_row, int first_job) {
  DeviceJob device;
  device.row = job.row - first_row;
  device.given = job.given;
  device.follows = job.given < 0 && job.follows >= 0 ? job.follows - first_job : -1;
  if (device.given >= 0 || device.follows >= 0) return device;
  device.sampling = job.sampling;
  device.vocab_limit = job.vocab_limit;
  device.plausibility = job.plausibility;
  device.uniform = uniform(job.key);
  device.min_p_reach = min_p_reach(job.sampling);
  return device;
}

struct DeviceJobs {
  std::vector<DeviceJob> jobs;
  std::vector<DeviceMix> mixes;
  HeadKind kind;

  void add(const HeadJob& job, int vocab, int first_row, int first_job) {
    DeviceJob device = device_job(job, first_row, first_job);
    if (device.given < 0 && device.follows < 0) {
      kind.filtered |= filters(job.sampling, vocab);
      kind.mixed |= !job.mix.empty();
      device.first_mix = static_cast<int>(mixes.size());
      device.mixes = static_cast<int>(job.mix.size());
      for (const auto& [row, weight] : job.mix) mixes.push_back({row - first_row, weight});
    }
    jobs.push_back(device);
  }
};

}  // namespace counterbeam::cuda
