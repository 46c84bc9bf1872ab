#include "eval/jobs.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/json.h"
#include "search/rerank.h"

namespace counterbeam {
namespace {

SampleKey key_of(const Job& job) {
  return {job.task->name, job.problem->id, job.method, job.sample};
}

std::vector<Job> all_jobs(const std::vector<TaskData>& tasks, const EvalOptions& options) {
  std::vector<Job> jobs;
  for (const TaskData& task : tasks) {
    const std::size_t count = options.limit > 0
                                  ? std::min<std::size_t>(task.problems.size(), options.limit)
                                  : task.problems.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (static_cast<int>(i % static_cast<std::size_t>(options.shards)) != options.shard) continue;
      for (const std::string& method : options.methods)
        for (int sample = 0; sample < options.samples; ++sample)
          jobs.push_back({&task, &task.problems[i], static_cast<std::uint32_t>(i), method, sample});
    }
  }
  return jobs;
}

// What the samples of a method depend on; methods other than best-of-n share
// nothing.
std::string sampling_of(const std::string& method) {
  const Settings settings = parse_method(method);
  return settings.method == Method::BestOfN ? to_line(to_json(without_contexts(settings))) : method;
}

}  // namespace

std::vector<Job> open_jobs(const std::vector<TaskData>& tasks, const EvalOptions& options,
                           const std::filesystem::path& samples) {
  std::set<SampleKey> done;
  for (const Sample& sample : read_samples(samples)) {
    if (!done.insert(key_of(sample)).second)
      bad_input("{}: sample {} of {} by {} occurs twice", samples.string(), sample.sample,
                sample.id, sample.method);
  }
  std::vector<Job> open = all_jobs(tasks, options);
  std::erase_if(open, [&](const Job& job) { return done.count(key_of(job)) > 0; });
  return open;
}

std::vector<Unit> units_of(const std::vector<Job>& jobs) {
  std::map<std::string, std::string> samplings;
  for (const Job& job : jobs)
    if (!samplings.count(job.method)) samplings[job.method] = sampling_of(job.method);
  std::vector<Unit> units;
  std::map<std::tuple<const Problem*, int, std::string>, std::size_t> places;
  for (const Job& job : jobs) {
    const auto [place, fresh] =
        places.emplace(std::tuple(job.problem, job.sample, samplings[job.method]), units.size());
    if (fresh) units.emplace_back();
    units[place->second].push_back(job);
  }
  return units;
}

}  // namespace counterbeam
