#include "eval/parts.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/json_fields.h"

namespace counterbeam {
namespace {

constexpr int kMostShards = 1 << 20;

std::vector<std::string> texts_of(const JsonFields& fields, const char* key) {
  const Json* list = fields.array(key);
  if (!list) fields.missing(key, "a list of names");
  std::vector<std::string> texts;
  for (const Json& item : *list) {
    if (!item.is_string()) fields.wrong(key, "must hold texts");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

bool same_but_shard(RunPart a, const RunPart& b) {
  a.shard = b.shard;
  a.shards = b.shards;
  return a == b;
}

// Parts that differ in nothing but the shard, as lists.
std::vector<std::vector<RunPart>> families(const std::vector<RunPart>& parts) {
  std::vector<std::vector<RunPart>> families;
  for (const RunPart& part : parts) {
    const auto family = std::find_if(families.begin(), families.end(), [&](const auto& members) {
      return same_but_shard(part, members.front());
    });
    if (family == families.end())
      families.push_back({part});
    else
      family->push_back(part);
  }
  return families;
}

// The shards of a family that are open, as numbers of the least common multiple of their counts.
std::vector<int> open_shards(const std::vector<RunPart>& family, int& count) {
  std::int64_t multiple = 1;
  for (const RunPart& part : family)
    multiple = std::min<std::int64_t>(std::lcm(multiple, std::int64_t{part.shards}), kMostShards);
  count = static_cast<int>(multiple);
  std::vector<int> open;
  for (int i = 0; i < count; ++i)
    if (std::none_of(family.begin(), family.end(),
                     [&](const RunPart& part) { return i % part.shards == part.shard; }))
      open.push_back(i);
  return open;
}

}  // namespace

RunPart part_of(const std::vector<TaskData>& tasks, const EvalOptions& options) {
  RunPart part;
  for (const TaskData& task : tasks) part.tasks.push_back(task.name);
  for (const MethodString& method : options.methods) part.methods.push_back(method.text);
  part.first = options.first;
  part.limit = options.limit;
  part.samples = options.samples;
  part.shard = options.shard;
  part.shards = options.shards;
  return part;
}

Json to_json(const RunPart& part) {
  Json json = {{"tasks", part.tasks}, {"methods", part.methods}};
  if (part.first > 0) json["first"] = part.first;
  json["limit"] = part.limit;
  json["samples"] = part.samples;
  json["shard"] = fmt::format("{}/{}", part.shard, part.shards);
  return json;
}

std::vector<RunPart> parts_of(const Json& run, const std::string& place) {
  std::vector<RunPart> parts;
  for (const Json& json : run["parts"]) {
    if (!json.is_object()) bad_input("{}: \"parts\" must hold objects", place);
    const JsonFields fields(json, place, "parts.");
    RunPart part;
    part.tasks = texts_of(fields, "tasks");
    part.methods = texts_of(fields, "methods");
    part.first = static_cast<int>(fields.integer("first", 0, 1 << 30).value_or(0));
    part.limit = static_cast<int>(fields.integer("limit", 0, 1 << 30).value_or(0));
    part.samples = static_cast<int>(fields.integer("samples", 1, 1 << 30).value_or(1));
    const std::string shard = fields.string("shard").value_or("0/1");
    char end = 0;
    if (std::sscanf(shard.c_str(), "%d/%d%c", &part.shard, &part.shards, &end) != 2 ||
        part.shards < 1 || part.shard < 0 || part.shard >= part.shards)
      fields.wrong("shard", "is not I/N with 0 <= I < N");
    parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<RunPart> folded(std::vector<RunPart> parts) {
  std::vector<RunPart> result;
  for (std::vector<RunPart>& family : families(parts)) {
    int count = 0;
    if (open_shards(family, count).empty()) {
      family.resize(1);
      family.front().shard = 0;
      family.front().shards = 1;
    }
    result.insert(result.end(), family.begin(), family.end());
  }
  return result;
}

std::vector<std::string> missing_shards(const std::vector<RunPart>& parts) {
  std::vector<std::string> missing;
  for (const std::vector<RunPart>& family : families(parts)) {
    int count = 0;
    for (const int open : open_shards(family, count)) {
      std::string name = fmt::format("{}/{}", open, count);
      if (std::find(missing.begin(), missing.end(), name) == missing.end())
        missing.push_back(std::move(name));
    }
  }
  return missing;
}

std::size_t missing_samples(const Json& run, const std::vector<RunPart>& parts,
                            const std::vector<Sample>& samples) {
  using Place = std::tuple<std::string, std::string, int, int>;
  std::set<Place> present, absent;
  for (const Sample& sample : samples)
    present.emplace(sample.task, sample.method, sample.question, sample.sample);
  for (const RunPart& part : parts)
    for (const std::string& task : part.tasks) {
      const auto found = run["tasks"].find(task);
      int problems = found == run["tasks"].end() ? 0 : found->value("problems", 0);
      if (part.limit > 0) problems = std::min(problems, part.first + part.limit);
      for (const std::string& method : part.methods)
        for (int question = part.first; question < problems; ++question)
          for (int sample = 0; question % part.shards == part.shard && sample < part.samples;
               ++sample)
            if (Place place{task, method, question, sample}; !present.contains(place))
              absent.insert(std::move(place));
    }
  return absent.size();
}

}  // namespace counterbeam
