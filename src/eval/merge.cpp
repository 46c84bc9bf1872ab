#include "eval/merge.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/folder_lock.h"
#include "base/json.h"
#include "base/output_file.h"
#include "eval/foreign_samples.h"
#include "eval/parts.h"
#include "eval/problem_texts.h"
#include "eval/provenance.h"
#include "eval/run_folder.h"

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
  const std::size_t torn =
      visit_samples(shard.file, [&](Sample sample) { shard.samples.push_back(std::move(sample)); });
  if (torn > 0)
    gaps.push_back(fmt::format("{}: the last line is incomplete ({} bytes without a line end)",
                               shard.file.string(), torn));
  if (!fs::exists(shard.folder / "run.json")) {
    gaps.push_back(fmt::format("{}: is missing, so it is unknown which run its samples belong to",
                               (shard.folder / "run.json").string()));
    return shard;
  }
  shard.run = read_run(shard.folder);
  const std::string place = (shard.folder / "run.json").string();
  const std::size_t missing =
      missing_samples(*shard.run, parts_of(*shard.run, place), shard.samples, place);
  if (missing > 0)
    gaps.push_back(
        fmt::format("{}: {} of its samples are missing; finish it with the same eval command and "
                    "--resume",
                    shard.folder.string(), missing));
  return shard;
}

// "missing shards: 0/3, 2/3"
std::string sentence_of(const std::vector<std::string>& open) {
  constexpr std::size_t kMostNamed = 100;
  const std::size_t named = std::min(open.size(), kMostNamed);
  std::string sentence = fmt::format("missing shard{}: {}", open.size() == 1 ? "" : "s",
                                     fmt::join(open.data(), open.data() + named, ", "));
  if (named < open.size()) sentence += fmt::format(" and {} more", open.size() - named);
  return sentence;
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
  if (!open.empty()) gaps.push_back(sentence_of(open));
  Json list = Json::array();
  for (const RunPart& part : folded(parts)) list.push_back(to_json(part));
  (*whole)["parts"] = std::move(list);
  return whole;
}

// The shard whose folder is `out`, if it has a run.json.
Shard* shard_in(const fs::path& out, std::vector<Shard>& shards) {
  const fs::path file = out / "samples.jsonl";
  if (!fs::exists(file)) return nullptr;
  for (Shard& shard : shards)
    if (shard.run && fs::equivalent(shard.file, file)) return &shard;
  return nullptr;
}

// A merge into the folder of a shard that was interrupted has left all samples there, beside the
// run.json of the shard. Samples that this run.json does not ask for are those of the other shards.
void leave_to_others(Shard& own, const std::vector<Shard>& shards) {
  std::set<SampleKey> others;
  for (const Shard& shard : shards)
    if (&shard != &own)
      for (const Sample& sample : shard.samples) others.insert(key_of(sample));
  const std::string place = (own.folder / "run.json").string();
  const std::vector<bool> asked =
      asked_for(*own.run, parts_of(*own.run, place), own.samples, place);
  std::size_t i = 0;
  std::erase_if(own.samples, [&](const Sample& sample) {
    return !asked[i++] && others.contains(key_of(sample));
  });
}

// Moves the samples of all shards into one list. Throws an Error if one occurs twice.
std::vector<Sample> merged_samples(std::vector<Shard>& shards, const fs::path& out) {
  std::map<SampleKey, const Shard*> seen;
  std::vector<Sample> merged;
  for (Shard& shard : shards) {
    for (Sample& sample : shard.samples) {
      if (!sample.trace.empty())  // the page is not moved
        sample.trace = fs::relative(shard.folder / sample.trace, out).string();
      const auto [place, fresh] = seen.emplace(key_of(sample), &shard);
      if (!fresh)
        bad_input("{}: sample {} of {} by {} is also in {}", shard.file.string(), sample.sample,
                  sample.id, sample.method, place->second->file.string());
      merged.push_back(std::move(sample));
    }
    shard.samples = {};
  }
  return merged;
}

// The samples in `out` are about to be replaced, so every one must be among those of the shards.
void refuse_to_lose_samples(const std::vector<Sample>& merged, const std::vector<Shard>& shards,
                            const std::optional<Json>& run, const fs::path& out) {
  if (!has_samples(out)) return;
  const fs::path file = out / "samples.jsonl";
  for (const Shard& shard : shards)
    if (fs::equivalent(shard.file, file)) return;
  const std::string refusal = fmt::format(
      "{}: has samples of another run, which would be lost; name another --out", out.string());
  if (!run || !fs::exists(out / "run.json")) bad_input("{}", refusal);
  joined_runs(read_run(out), *run, refusal);
  std::set<SampleKey> kept;
  for (const Sample& sample : merged) kept.insert(key_of(sample));
  visit_samples(file, [&](const Sample& sample) {
    if (!kept.contains(key_of(sample)))
      bad_input(
          "{}: sample {} of {} ({}) by {} is in none of the shards and would be lost; name {} "
          "among the shards, or another --out",
          file.string(), sample.sample, sample.id, sample.task, sample.method, out.string());
  });
}

}  // namespace

std::vector<std::string> merge_runs(const std::vector<fs::path>& paths, const fs::path& out,
                                    bool partial) {
  const FolderLock lock(out);
  check_run_files(out);
  remove_partial_files(out);
  std::vector<std::string> gaps;
  std::vector<Shard> shards;
  for (const fs::path& path : paths) shards.push_back(read_shard(path, gaps));
  Shard* const own = shard_in(out, shards);
  if (own) leave_to_others(*own, shards);
  for (const Shard& shard : shards)
    if (shard.run)
      refuse_foreign_samples(*shard.run, (shard.folder / "run.json").string(), shard.samples,
                             shard.file);
  const std::vector<Sample> merged = merged_samples(shards, out);
  std::optional<Json> run = join(shards, gaps);
  refuse_to_lose_samples(merged, shards, run, out);
  if (!gaps.empty() && !partial)
    bad_input("merge: the evaluation would have gaps; complete it, or add --partial\n  {}",
              fmt::join(gaps, "\n  "));
  std::vector<fs::path> folders;
  for (const Shard& shard : shards) folders.push_back(shard.folder);
  folders.push_back(out);  // what lies there is kept, and refused if it is no file of ours
  merge_problem_texts(folders, out);
  if (run && !gaps.empty()) (*run)["gaps"] = gaps;
  const auto write_run = [&] {
    if (run) write_json_file(out / "run.json", *run);
  };
  // Whatever comes between the two files, the same merge can be made again: run.json says which
  // samples are the shard's own until they are among all others; elsewhere it says whose samples
  // are replaced.
  if (!own) write_run();
  std::vector<std::string> tasks, methods;  // in the order of the run, whatever that of the lines
  if (run)
    for (const RunPart& part : parts_of(*run, (out / "run.json").string())) {
      tasks.insert(tasks.end(), part.tasks.begin(), part.tasks.end());
      methods.insert(methods.end(), part.methods.begin(), part.methods.end());
    }
  write_samples(merged, out / "samples.jsonl", tasks, methods);
  if (own) write_run();
  return gaps;
}

}  // namespace counterbeam
