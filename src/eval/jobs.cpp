#include "eval/jobs.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/output_file.h"
#include "search/answer.h"

namespace counterbeam {
namespace {

SampleKey key_of(const Job& job) {
  return {job.task->name, job.problem->id, job.method->text, job.sample};
}

}  // namespace

std::vector<Job> jobs_of(const std::vector<TaskData>& tasks, const EvalOptions& options) {
  std::vector<Job> jobs;
  for (const TaskData& task : tasks) {
    const auto start = std::min(task.problems.size(), static_cast<std::size_t>(options.first));
    const std::size_t end =
        options.limit > 0
            ? std::min(task.problems.size(), start + static_cast<std::size_t>(options.limit))
            : task.problems.size();
    bool first = true;
    for (std::size_t i = start; i < end; ++i) {
      if (static_cast<int>(i % static_cast<std::size_t>(options.shards)) != options.shard) continue;
      for (const MethodString& method : options.methods)
        for (int sample = 0; sample < options.samples; ++sample)
          jobs.push_back(
              {&task, &task.problems[i], static_cast<std::uint32_t>(i), &method, sample, first});
      first = false;
    }
  }
  return jobs;
}

std::vector<Job> open_jobs(std::vector<Job> jobs, const std::filesystem::path& samples) {
  std::set<SampleKey> done;
  visit_samples(samples, [&](const Sample& sample) {
    if (!done.insert(key_of(sample)).second)
      bad_input("{}: sample {} of {} by {} occurs twice", samples.string(), sample.sample,
                sample.id, sample.method);
  });
  std::erase_if(jobs, [&](const Job& job) { return done.count(key_of(job)) > 0; });
  return jobs;
}

void forget_failures(const std::vector<Job>& jobs, const std::filesystem::path& samples) {
  if (!std::filesystem::exists(samples)) return;
  std::set<SampleKey> retried;
  for (const Job& job : jobs) retried.insert(key_of(job));
  const auto forget = [&](const Sample& sample) {
    return !sample.error.empty() && retried.contains(key_of(sample));
  };
  bool failed = false;
  visit_samples(samples, [&](const Sample& sample) { failed |= forget(sample); });
  if (!failed) return;
  OutputFile kept(samples);
  visit_samples(samples, [&](const Sample& sample) {
    const std::string line = forget(sample) ? "" : to_line(sample) + "\n";
    kept.write(line.data(), line.size());
  });
  kept.finish();
}

std::vector<JobGroup> group_jobs(const std::vector<Job>& jobs) {
  std::vector<JobGroup> groups;
  std::map<std::pair<const Problem*, int>, std::vector<std::size_t>> places;  // of groups
  for (const Job& job : jobs) {
    std::vector<std::size_t>& candidates = places[{job.problem, job.sample}];
    const auto found = std::find_if(candidates.begin(), candidates.end(), [&](std::size_t place) {
      return share_samples(groups[place].front().method->settings, job.method->settings);
    });
    if (found != candidates.end()) {
      groups[*found].push_back(job);
    } else {
      candidates.push_back(groups.size());
      groups.push_back({job});
    }
  }
  return groups;
}

}  // namespace counterbeam
