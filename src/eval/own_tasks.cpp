#include "eval/own_tasks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/closest.h"
#include "base/error.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/quote.h"
#include "eval/task_rows.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

constexpr std::array<Judging, 5> kGraders = {Judging::Math, Judging::Choice, Judging::Code,
                                             Judging::Exact, Judging::Regex};

bool is_task_file(const fs::path& path) {
  return path.extension() == ".json";
}

// "a.jsonl.gz" is a.
std::string stem_of(const fs::path& file) {
  fs::path stem = file.filename();
  if (stem.extension() == ".gz") stem = stem.stem();
  return stem.stem().string();
}

// One entry of a task file.
TaskData load_entry(const Json& entry, const fs::path& path, std::size_t number,
                    const TaskOptions& options) {
  const std::string place = fmt::format("{}: task {}", path.string(), number + 1);
  if (!entry.is_object()) bad_input("{}: an object is needed", place);
  constexpr std::array<std::string_view, 6> kKeys = {"name",   "file",   "grader",
                                                     "prompt", "system", "limit"};
  for (const auto& [key, value] : entry.items())
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
      bad_input("{}: \"{}\" is not known; known: {}{}", place, printable(key),
                fmt::join(kKeys, ", "), did_you_mean(key, kKeys));
  const JsonFields fields(entry, place);
  const auto file = fields.string("file");
  if (!file || file->empty()) fields.missing("file", "the data file");
  const auto grader = fields.string("grader");
  if (!grader) fields.missing("grader", fmt::format("one of {}", fmt::join(grader_names(), ", ")));
  RowContext context{options.seed, options.prompts};
  if (context.prompts.user.empty()) context.prompts.user = fields.string("prompt").value_or("");
  if (!context.prompts.system) context.prompts.system = fields.string("system");
  const std::string name = fields.string("name").value_or(stem_of(*file));
  check_task_name(name, place);
  Judging judging = Judging::Math;
  try {
    judging = grader_named(*grader);
  } catch (const Error& error) {
    throw_error(error.kind(), fmt::format("{}: {}", place, error.what()));
  }
  TaskData task =
      read_task(name, judging, path.parent_path() / *file, own_row_reader(judging), "id", context);
  if (const auto limit = fields.integer("limit", 1, 1 << 30))
    if (static_cast<std::size_t>(*limit) < task.problems.size())
      task.problems.resize(static_cast<std::size_t>(*limit));
  return task;
}

}  // namespace

// Names stand in tables, file names and JSON, and must not be taken for a task of the paper, whose
// published figures would be shown beside them.
void check_task_name(const std::string& name, const std::string& place) {
  constexpr std::string_view kNameMarks = "-_.";
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kNameMarks.find(c) != kNameMarks.npos;
  });
  if (!plain)
    bad_input("{}: the task's name {} must consist of letters, digits, \"-\", \"_\" and \".\"",
              place, in_quotes(name));
  const std::vector<std::string_view> known = task_names();
  if (name == "average" || std::find(known.begin(), known.end(), name) != known.end())
    bad_input("{}: {} is the name of a task of Counterbeam; give yours another{}", place, name,
              name == "average" ? "" : fmt::format(", or use --task {} --data FILE", name));
}

std::vector<std::string_view> grader_names() {
  std::vector<std::string_view> names;
  for (const Judging grader : kGraders) names.push_back(to_string(grader));
  return names;
}

Judging grader_named(std::string_view name) {
  for (const Judging grader : kGraders)
    if (name == to_string(grader)) return grader;
  bad_input("grader {} is not known; known: {}{}", in_quotes(name), fmt::join(grader_names(), ", "),
            did_you_mean(name, grader_names()));
}

bool is_task_path(std::string_view name) {
  const fs::path path(name);
  const fs::path plain = path.extension() == ".gz" ? path.stem() : path;
  return plain.extension() == ".jsonl" || plain.extension() == ".csv" || is_task_file(path);
}

std::vector<TaskData> load_own_tasks(const fs::path& path, const TaskOptions& options) {
  if (!is_task_file(path)) {
    if (options.grader.empty())
      bad_input("--task {}: a data file needs --grader, one of {}", path.string(),
                fmt::join(grader_names(), ", "));
    const Judging judging = grader_named(options.grader);
    const std::string name = stem_of(path);
    check_task_name(name, fmt::format("--task {}", path.string()));
    return {read_task(name, judging, path, own_row_reader(judging), "id",
                      {options.seed, options.prompts})};
  }
  if (!options.grader.empty())
    bad_input("--grader: {} names the graders of its tasks; leave --grader out", path.string());
  const Json json = read_json_file(path);
  const bool listed = json.is_object() && json.size() == 1 && json.contains("tasks") &&
                      json["tasks"].is_array() && !json["tasks"].empty();
  if (!listed)
    bad_input("{}: a task file is {{\"tasks\": [{{\"file\": ..., \"grader\": ...}}, ...]}}",
              path.string());
  std::vector<TaskData> tasks;
  for (std::size_t i = 0; i < json["tasks"].size(); ++i)
    tasks.push_back(load_entry(json["tasks"][i], path, i, options));
  return tasks;
}

std::vector<TaskData> load_tasks(const std::vector<std::string>& names,
                                 const TaskOptions& options) {
  const auto known = std::count_if(names.begin(), names.end(),
                                   [](const std::string& name) { return !is_task_path(name); });
  if (known == static_cast<std::ptrdiff_t>(names.size()) && !options.grader.empty())
    bad_input(
        "--grader: is for data files of your own, as in --task my.jsonl --grader {}; the given "
        "tasks have their own",
        options.grader);
  if (known == 0 && !options.data.empty())
    bad_input("--data: is for the tasks of Counterbeam; --task names data files of your own");
  if (known > 1 && !options.data.empty() && !fs::is_directory(options.data))
    bad_input("--data: {} is one file, but there are {} tasks; name a folder that holds theirs",
              options.data.string(), known);
  std::vector<TaskData> tasks;
  for (const std::string& name : names) {
    if (!is_task_path(name)) {
      tasks.push_back(load_task(name, options.data, options.seed, options.prompts));
      continue;
    }
    for (TaskData& task : load_own_tasks(name, options)) tasks.push_back(std::move(task));
  }
  for (TaskData& task : tasks) task.extraction = options.extraction;
  return tasks;
}

}  // namespace counterbeam
