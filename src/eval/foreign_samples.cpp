#include "eval/foreign_samples.h"

#include <map>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "eval/parts.h"
#include "eval/provenance.h"
#include "eval/tasks.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

std::string described(const Sample& sample) {
  return fmt::format("sample {} of {} ({}, question {}) by {}", sample.sample, sample.id,
                     sample.task, sample.question, sample.method);
}

void refuse_other_name(const Sample& sample, std::string_view name, const fs::path& file) {
  if (sample.id != name)
    bad_input(
        "{}: {}: that question is {} elsewhere; the sample is of another run: remove its line",
        file.string(), described(sample), name);
}

}  // namespace

void refuse_foreign_samples(const Json& run, const std::string& place,
                            const std::vector<Sample>& samples, const fs::path& file) {
  if (run.contains("gaps")) return;
  const std::vector<bool> asked = asked_for(run, parts_of(run, place), samples, place);
  std::map<std::pair<std::string_view, int>, std::string_view> names;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample& sample = samples[i];
    if (!asked[i])
      bad_input(
          "{}: {} is not among those that run.json asks for; if a merge into this folder was "
          "interrupted, repeat it, otherwise remove the line of the sample, which is of another "
          "run",
          file.string(), described(sample));
    const auto known =
        names.emplace(std::pair(std::string_view(sample.task), sample.question), sample.id).first;
    refuse_other_name(sample, known->second, file);
  }
}

void refuse_foreign_samples(const fs::path& folder, const std::vector<TaskData>& tasks) {
  const fs::path file = folder / "samples.jsonl";
  std::map<std::string_view, const TaskData*> known;
  for (const TaskData& task : tasks) known.emplace(task.name, &task);
  std::vector<Sample> samples;
  visit_samples(file, [&](Sample sample) {
    const auto task = known.find(sample.task);
    if (task != known.end() && std::cmp_less(sample.question, task->second->problems.size()))
      refuse_other_name(sample,
                        task->second->problems[static_cast<std::size_t>(sample.question)].id, file);
    Sample kept;  // without its texts, which may be large
    kept.task = std::move(sample.task);
    kept.id = std::move(sample.id);
    kept.method = std::move(sample.method);
    kept.question = sample.question;
    kept.sample = sample.sample;
    samples.push_back(std::move(kept));
  });
  refuse_foreign_samples(read_run(folder), (folder / "run.json").string(), samples, file);
}

}  // namespace counterbeam
