#include "eval/merge.h"

#include <fmt/ranges.h>

#include <map>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/folder_lock.h"
#include "eval/parts.h"
#include "eval/problem_texts.h"
#include "eval/provenance.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

struct Shard {
  fs::path folder, file;
  std::vector<Sample> samples;
  std::optional<Json> run;
};

// Reads a shard and adds what is missing in it to `gaps`.
Shard read_shard(const fs::path& path, std::vector<std::string>& gaps) {
  Shard shard;
  shard.file = fs::is_directory(path) ? path / "samples.jsonl" : path;
  shard.folder = shard.file.parent_path();
  shard.samples = read_samples(shard.file);
  const std::string content = read_file(shard.file);
  if (const std::size_t torn = content.size() - (content.rfind('\n') + 1); torn > 0)
    gaps.push_back(fmt::format("{}: the last line is incomplete ({} bytes without a line end)",
                               shard.file.string(), torn));
  if (!fs::exists(shard.folder / "run.json")) {
    gaps.push_back(fmt::format("{}: is missing, so nothing shows which run its samples are of",
                               (shard.folder / "run.json").string()));
    return shard;
  }
  shard.run = read_run(shard.folder);
  const std::string place = (shard.folder / "run.json").string();
  const std::size_t missing =
      missing_samples(*shard.run, parts_of(*shard.run, place), shard.samples);
  if (missing > 0)
    gaps.push_back(
        fmt::format("{}: {} of its samples are missing; finish it with the same eval command and "
                    "--resume",
                    shard.folder.string(), missing));
  return shard;
}

// The run.json of the whole; empty if no shard has one.
std::optional<Json> join(const std::vector<Shard>& shards, std::vector<std::string>& gaps) {
  std::optional<Json> whole;
  std::string first;
  for (const Shard& shard : shards) {
    if (!shard.run) continue;
    const std::string place = (shard.folder / "run.json").string();
    whole = whole ? joined_runs(*whole, *shard.run,
                                fmt::format("{} is not of the same run as {}", place, first))
                  : *shard.run;
    if (first.empty()) first = place;
  }
  if (!whole) return whole;
  const std::vector<RunPart> parts = parts_of(*whole, first);
  const std::vector<std::string> open = missing_shards(parts);
  if (!open.empty())
    gaps.push_back(
        fmt::format("missing shard{}: {}", open.size() == 1 ? "" : "s", fmt::join(open, ", ")));
  Json list = Json::array();
  for (const RunPart& part : folded(parts)) list.push_back(to_json(part));
  (*whole)["parts"] = std::move(list);
  return whole;
}

std::string merged_lines(const std::vector<Shard>& shards, const fs::path& out) {
  std::map<SampleKey, std::string> seen;
  std::string content;
  for (const Shard& shard : shards)
    for (Sample sample : shard.samples) {
      if (!sample.trace.empty())  // the page is not moved
        sample.trace = fs::relative(shard.folder / sample.trace, out).string();
      const auto [place, fresh] = seen.emplace(key_of(sample), shard.file.string());
      if (!fresh)
        bad_input("{}: sample {} of {} by {} is also in {}", shard.file.string(), sample.sample,
                  sample.id, sample.method, place->second);
      content += to_line(sample) + "\n";
    }
  return content;
}

}  // namespace

std::vector<std::string> merge_runs(const std::vector<fs::path>& paths, const fs::path& out,
                                    bool partial) {
  const FolderLock lock(out);
  std::vector<std::string> gaps;
  std::vector<Shard> shards;
  for (const fs::path& path : paths) shards.push_back(read_shard(path, gaps));
  const std::string content = merged_lines(shards, out);
  std::optional<Json> run = join(shards, gaps);
  if (!gaps.empty() && !partial)
    bad_input("merge: the evaluation would have gaps; complete it, or add --partial\n  {}",
              fmt::join(gaps, "\n  "));
  if (run) {
    if (!gaps.empty()) (*run)["gaps"] = gaps;
    write_file(out / "run.json", run->dump(2) + "\n");
  }
  std::vector<fs::path> folders;
  for (const Shard& shard : shards) folders.push_back(shard.folder);
  merge_problem_texts(folders, out);
  write_file(out / "samples.jsonl", content);
  sort_samples(out / "samples.jsonl", {}, {});
  return gaps;
}

}  // namespace counterbeam
