// The work of an evaluation: one job per problem, method and sample that is not finished yet, and
// groups of jobs that are run together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "eval/run.h"
#include "eval/samples.h"

namespace counterbeam {

struct Job {
  const TaskData* task;
  const Problem* problem;
  std::uint32_t question;  // index of the problem in its task; part of the key of its draws
  const MethodString* method;
  int sample;
};

// The jobs of a run that are not in its samples file yet. REQUIRES: tasks and options outlive them
std::vector<Job> open_jobs(const std::vector<TaskData>& tasks, const EvalOptions& options,
                           const std::filesystem::path& samples);

// Jobs of one problem that can be answered from the same samples, or one other job. Not empty.
using JobGroup = std::vector<Job>;

std::vector<JobGroup> group_jobs(const std::vector<Job>& jobs);

}  // namespace counterbeam
