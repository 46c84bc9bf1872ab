#include "eval/reported_run.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "eval/foreign_samples.h"
#include "eval/parts.h"
#include "eval/provenance.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

bool is_run(const fs::path& folder) {
  return fs::is_regular_file(folder / "samples.jsonl");
}

// Folders of runs below this one, by name.
std::vector<fs::path> runs_below(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry :
       fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied))
    if (entry.path().filename() == "samples.jsonl") found.push_back(entry.path().parent_path());
  std::sort(found.begin(), found.end());
  return found;
}

fs::path without_end(const std::string& given) {
  const fs::path path = fs::path(given).lexically_normal();
  return path.has_filename() || !path.has_parent_path() ? path : path.parent_path();
}

void refuse_twice(const ReportedRun& run, const fs::path& file) {
  std::map<SampleKey, std::size_t> lines;
  for (std::size_t i = 0; i < run.samples.size(); ++i) {
    const auto [place, fresh] = lines.emplace(key_of(run.samples[i]), i + 1);
    if (!fresh)
      bad_input("{}: line {}: sample {} of {} by {} is already on line {}; remove one of them",
                file.string(), i + 1, run.samples[i].sample, run.samples[i].id,
                run.samples[i].method, place->second);
  }
}

}  // namespace

std::vector<fs::path> find_runs(const std::vector<std::string>& given) {
  std::vector<fs::path> runs;
  std::set<fs::path> seen;
  for (const std::string& name : given) {
    const fs::path folder = without_end(name);
    if (!fs::exists(folder))
      bad_input("{}: does not exist; name the --out folder of an eval, reproduce or merge", name);
    if (!fs::is_directory(folder))
      bad_input("{}: is not a folder; name the folder that holds the samples.jsonl of a run", name);
    const std::vector<fs::path> found =
        is_run(folder) ? std::vector<fs::path>{folder} : runs_below(folder);
    if (found.empty())
      bad_input(
          "{}: holds no samples.jsonl, in no folder below it either; name the --out folder of an "
          "eval, reproduce or merge",
          name);
    for (const fs::path& run : found)
      if (seen.insert(fs::canonical(run)).second) runs.push_back(run);
  }
  return runs;
}

ReportedRun read_reported_run(const fs::path& folder) {
  ReportedRun run;
  run.folder = folder.string();
  run.facts = read_run_facts(folder);
  const fs::path file = folder / "samples.jsonl";
  run.samples = read_samples(file);
  refuse_twice(run, file);
  // Older runs and samples from elsewhere do not say what they were asked for.
  const fs::path record = folder / "run.json";
  if (fs::exists(record) && read_json_file(record).contains("parts")) {
    const Json json = read_run(folder);
    refuse_foreign_samples(json, record.string(), run.samples, file);
    run.missing =
        missing_samples(json, parts_of(json, record.string()), run.samples, record.string());
  }
  return run;
}

}  // namespace counterbeam
