// Which samples a run was asked for, so that gaps show: a part is a set of tasks and methods with a
// limit, a number of samples and a shard. run.json lists the parts of all sessions and shards.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "eval/run.h"

namespace counterbeam {

class JsonFields;

struct RunPart {
  std::vector<std::string> tasks, methods;
  int first = 0;  // number of the first problem
  int limit = 0;  // 0: all problems from there on
  int samples = 1;
  int shard = 0, shards = 1;

  friend bool operator==(const RunPart&, const RunPart&) = default;
};

inline constexpr int kMostShards = 1 << 20;

// "2/8": shard 2 of 8.
struct ShardName {
  int index, count;
};
// Empty if the text is not I/N with 0 <= I < N <= kMostShards.
std::optional<ShardName> shard_named(std::string_view text);

RunPart part_of(const std::vector<TaskData>& tasks, const EvalOptions& options);

Json to_json(const RunPart& part);
// The parts in a run.json. Errors start with `place`, the file.
std::vector<RunPart> parts_of(const Json& run, const std::string& place);

// Replaces parts that differ in nothing but the shard by the whole if they cover all problems.
std::vector<RunPart> folded(std::vector<RunPart> parts);
// The shards ("1/2") that the parts leave open, each once. Parts that differ in more than the shard
// are looked at separately.
std::vector<std::string> missing_shards(const std::vector<RunPart>& parts);

// How many problems the entry of a task in run.json says it has.
std::int64_t problems_of(const JsonFields& task);

// Whether the parts ask for each of the samples. Errors start with `place`, the file of `run`.
std::vector<bool> asked_for(const Json& run, const std::vector<RunPart>& parts,
                            const std::vector<Sample>& samples, const std::string& place);

// How many of the samples that the run was asked for are absent. Errors start with `place`, the
// file of `run`: numbers that cannot be true are refused before they cost memory or time.
std::size_t missing_samples(const Json& run, const std::vector<RunPart>& parts,
                            const std::vector<Sample>& samples, const std::string& place);

}  // namespace counterbeam
