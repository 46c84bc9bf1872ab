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
  bool first = false;  // of the first problem of its task that is run
};

// Every job of a run. REQUIRES: tasks and options outlive them.
std::vector<Job> jobs_of(const std::vector<TaskData>& tasks, const EvalOptions& options);

// Those of the jobs that are not in the samples file yet. Throws Error if a sample occurs twice.
std::vector<Job> open_jobs(std::vector<Job> jobs, const std::filesystem::path& samples);

// Removes the records of these jobs that failed, so that they are run again.
void forget_failures(const std::vector<Job>& jobs, const std::filesystem::path& samples);

// Jobs of one problem that can be answered from the same samples, or one other job. Not empty.
using JobGroup = std::vector<Job>;

std::vector<JobGroup> group_jobs(const std::vector<Job>& jobs);

}  // namespace counterbeam
