#include "eval/parts.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/json_fields.h"

namespace counterbeam {
namespace {

// Far more than any run has: a run.json with more is refused.
constexpr std::size_t kMostParts = 1 << 14;

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
    if (multiple = std::lcm(multiple, std::int64_t{part.shards}); multiple > kMostShards)
      bad_input(
          "run.json: the numbers N of shards I/N in \"parts\" have no common multiple up to {}; "
          "give every shard the same N in --shard I/N",
          kMostShards);
  count = static_cast<int>(multiple);
  std::vector<bool> covered(static_cast<std::size_t>(count));
  std::set<std::pair<int, int>> seen;
  for (const RunPart& part : family)
    if (seen.emplace(part.shard, part.shards).second)
      for (int i = part.shard; i < count; i += part.shards)
        covered[static_cast<std::size_t>(i)] = true;
  std::vector<int> open;
  for (int i = 0; i < count; ++i)
    if (!covered[static_cast<std::size_t>(i)]) open.push_back(i);
  return open;
}

// The questions of one task that a part asks one method.
struct AskedQuestions {
  std::int64_t first, end;
  int shard, shards, samples;
};

// How often a question is asked; every part numbers its samples from 0.
int samples_of(const std::vector<AskedQuestions>& asked, std::int64_t question) {
  int most = 0;
  for (const AskedQuestions& one : asked)
    if (question >= one.first && question < one.end && question % one.shards == one.shard)
      most = std::max(most, one.samples);
  return most;
}

// By task and method. The names are those of `parts`.
using AskedTasks =
    std::map<std::pair<std::string_view, std::string_view>, std::vector<AskedQuestions>>;

AskedTasks asked_tasks(const Json& run, const std::vector<RunPart>& parts,
                       const std::string& place) {
  const JsonFields tasks(run["tasks"], place, "tasks.");
  constexpr std::size_t kMostNames = 1 << 21;
  std::size_t names = 0;
  AskedTasks asked;
  for (const RunPart& part : parts) {
    if (names += part.tasks.size() * part.methods.size(); names > kMostNames)
      bad_input("{}: \"parts\" has too many tasks and methods", place);
    for (const std::string& task : part.tasks) {
      const auto described = tasks.object(task);
      if (!described) tasks.missing(task, "\"parts\" has that task");
      std::int64_t end = problems_of(*described);
      if (part.limit > 0) end = std::min(end, std::int64_t{part.first} + part.limit);
      for (const std::string& method : part.methods)
        asked[{task, method}].push_back({part.first, end, part.shard, part.shards, part.samples});
    }
  }
  return asked;
}

}  // namespace

std::int64_t problems_of(const JsonFields& task) {
  constexpr std::int64_t kMostProblems = 1 << 26;
  const auto problems = task.integer("problems", 0, kMostProblems);
  if (!problems) task.missing("problems", "the number of problems");
  return *problems;
}

std::optional<ShardName> shard_named(std::string_view text) {
  ShardName shard{};
  const char* const end = text.data() + text.size();
  const auto index = std::from_chars(text.data(), end, shard.index);
  if (index.ec != std::errc() || index.ptr == end || *index.ptr != '/') return std::nullopt;
  const auto count = std::from_chars(index.ptr + 1, end, shard.count);
  if (count.ec != std::errc() || count.ptr != end || shard.index < 0 ||
      shard.index >= shard.count || shard.count > kMostShards)
    return std::nullopt;
  return shard;
}

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
  if (run["parts"].size() > kMostParts)
    bad_input("{}: \"parts\" has {} entries; at most {} are read", place, run["parts"].size(),
              kMostParts);
  for (const Json& json : run["parts"]) {
    if (!json.is_object()) bad_input("{}: \"parts\" must hold objects", place);
    const JsonFields fields(json, place, "parts.");
    RunPart part;
    part.tasks = texts_of(fields, "tasks");
    part.methods = texts_of(fields, "methods");
    part.first = static_cast<int>(fields.integer("first", 0, 1 << 30).value_or(0));
    part.limit = static_cast<int>(fields.integer("limit", 0, 1 << 30).value_or(0));
    part.samples = static_cast<int>(fields.integer("samples", 1, 1 << 30).value_or(1));
    const auto shard = shard_named(fields.string("shard").value_or("0/1"));
    if (!shard) fields.wrong("shard", fmt::format("is not I/N with 0 <= I < N <= {}", kMostShards));
    part.shard = shard->index;
    part.shards = shard->count;
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
  std::set<std::pair<int, int>> seen;
  for (const std::vector<RunPart>& family : families(parts)) {
    int count = 0;
    for (const int open : open_shards(family, count))
      if (seen.emplace(open, count).second) missing.push_back(fmt::format("{}/{}", open, count));
  }
  return missing;
}

std::vector<bool> asked_for(const Json& run, const std::vector<RunPart>& parts,
                            const std::vector<Sample>& samples, const std::string& place) {
  const AskedTasks asked = asked_tasks(run, parts, place);
  std::vector<bool> result;
  for (const Sample& sample : samples) {
    const auto questions = asked.find({sample.task, sample.method});
    result.push_back(questions != asked.end() &&
                     sample.sample < samples_of(questions->second, sample.question));
  }
  return result;
}

std::size_t missing_samples(const Json& run, const std::vector<RunPart>& parts,
                            const std::vector<Sample>& samples, const std::string& place) {
  const AskedTasks asked = asked_tasks(run, parts, place);
  constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 30;
  std::uint64_t steps = 0;
  std::size_t most_parts = 0;
  const auto check_steps = [&] {
    if (steps > kMostSteps) bad_input("{}: \"parts\" asks for too many samples", place);
  };
  std::size_t missing = 0;
  for (const auto& [names, questions] : asked) {
    std::int64_t first = questions.front().first, end = 0;
    for (const AskedQuestions& one : questions) {
      first = std::min(first, one.first);
      end = std::max(end, one.end);
    }
    most_parts = std::max(most_parts, questions.size());
    steps += static_cast<std::uint64_t>(std::max<std::int64_t>(end - first, 0)) * questions.size();
    check_steps();
    for (std::int64_t question = first; question < end; ++question)
      missing += static_cast<std::size_t>(samples_of(questions, question));
  }
  steps += samples.size() * most_parts;
  check_steps();
  std::set<std::tuple<std::string_view, std::string_view, int, int>> present;
  for (const Sample& sample : samples) {
    const auto questions = asked.find({sample.task, sample.method});
    if (questions == asked.end() || sample.sample >= samples_of(questions->second, sample.question))
      continue;
    if (present.emplace(sample.task, sample.method, sample.question, sample.sample).second)
      --missing;
  }
  return missing;
}

}  // namespace counterbeam
