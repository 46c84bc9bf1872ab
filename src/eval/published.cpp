#include "eval/published.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.h"
#include "base/json.h"
#include "search/method_strings.h"

namespace counterbeam {
namespace {

constexpr std::array<std::string_view, 3> kPublishedTasks = {"math500", "humaneval", "gpqa"};
constexpr std::array<std::string_view, 4> kModels = {"Qwen3.5-0.8B", "Qwen2.5-7B", "Qwen3.5-2B",
                                                     "DeepSeek-Math-7B-Instruct"};

constexpr double kNone = -1;  // not published
using Accuracies = std::array<double, 3>;
constexpr Accuracies kNothing = {kNone, kNone, kNone};
constexpr Accuracies math500(double accuracy) {
  return {accuracy, kNone, kNone};
}

struct PaperFigure {
  std::string_view experiments;  // the experiments that show it
  std::string_view name;
  std::string_view method;
  std::array<Accuracies, 4> accuracy;  // by model, then task
};

constexpr std::array<PaperFigure, 13> kFigures = {{
    {"table1 efficiency",
     "sample",
     "sample",
     {{{.198, .085, .020}, {.326, .500, .222}, {.444, .439, .106}, {.342, .335, .298}}}},
    {"table1 efficiency",
     "low temperature",
     "low-temperature",
     {{{.342, .225, .101}, {.508, .677, .288}, {.632, .600, .217}, {.436, .445, .298}}}},
    {"table1 population efficiency pass-at-k pairs",
     "beam search",
     "beam",
     {{{.398, .207, .091}, {.570, .707, .247}, {.656, .560, .177}, {.432, .494, .293}}}},
    {"population efficiency",
     "beam search, N = 24",
     "beam:beams=24",
     {math500(.391), math500(.600), math500(.676), math500(.452)}},
    {"table1 pass-at-k",
     "power, tau 0.25",
     "power:temperature=0.25",
     {{{.430, .287, .131}, {.626, .738, .283}, {.646, .561, .241}, {.430, .537, .278}}}},
    {"table1",
     "power, tau 1",
     "power:temperature=1",
     {{{.300, .262, .060}, {.450, .665, .242}, {.578, .524, .176}, {.410, .500, .303}}}},
    {"table1 population pass-at-k efficiency block-size",
     "CBS 0.25",
     "cbs:steer=0.25",
     {{{.480, .238, .106}, {.610, .744, .313}, {.672, .604, .247}, {.462, .512, .369}}}},
    {"table1 population pass-at-k efficiency",
     "CBS 0.7",
     "cbs:steer=0.7",
     {{{.436, .329, .131}, {.640, .732, .235}, {.694, .585, .258}, {.458, .518, .258}}}},
    {"contexts", "no contexts", "cbs:contexts=none", {math500(.398), kNothing, kNothing, kNothing}},
    {"contexts",
     "neutral contexts",
     "cbs:steer=0.25:contexts=neutral",
     {math500(.380), kNothing, kNothing, kNothing}},
    {"contexts",
     "neutral contexts",
     "cbs:steer=0.7:contexts=neutral",
     {math500(.380), kNothing, kNothing, kNothing}},
    {"contexts",
     "contrastive contexts",
     "cbs:steer=0.25",
     {math500(.509), kNothing, kNothing, kNothing}},
    {"contexts",
     "contrastive contexts",
     "cbs:steer=0.7",
     {math500(.509), kNothing, kNothing, kNothing}},
}};

// An empty model or task: one of the paper's, which one is not known here.
struct Note {
  std::string_view experiment, model, task, text;
};

constexpr std::array<Note, 6> kNotes = {{
    {"block-size", "Qwen3.5-0.8B", "",
     "Accuracy over the block size is an inverted U with its peak at 32 (Qwen3.5-0.8B)."},
    {"pass-at-k", "", "", "CBS lies above power sampling at every k from 1 to 4."},
    {"efficiency", "", "",
     "Wall clock per prompt: beam search about 2 times sampling, CBS about 1.5 times beam search, "
     "with 11 to 20 % fewer completion tokens."},
    {"contexts", "Qwen3.5-0.8B", "math500",
     "In this experiment the paper has .509 for CBS, in its main table .480 at 1/alpha 0.25 and "
     ".436 at 0.7."},
    {"contexts", "Qwen3.5-0.8B", "math500",
     "At which 1/alpha the paper compares contexts is not recorded here; its figures stand beside "
     "both."},
    {"pairs", "", "",
     "The paper ranks 16 samples by each of the ten pairs, at 1/alpha 0.25 and 0.7; its figures "
     "per pair are not recorded here."},
}};

bool is_shown(std::string_view experiments, std::string_view experiment) {
  while (!experiments.empty()) {
    const std::size_t end = std::min(experiments.find(' '), experiments.size());
    if (experiments.substr(0, end) == experiment) return true;
    experiments.remove_prefix(std::min(end + 1, experiments.size()));
  }
  return false;
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char left, char right) {
    return std::tolower(static_cast<unsigned char>(left)) ==
           std::tolower(static_cast<unsigned char>(right));
  });
}

// The index of the model in kModels; kModels.size() for any other.
std::size_t place_of(std::string_view model) {
  const std::size_t slash = model.rfind('/');
  const std::string_view name = slash == model.npos ? model : model.substr(slash + 1);
  const auto known = std::find_if(kModels.begin(), kModels.end(), [&](std::string_view published) {
    return same_letters(name, published);
  });
  return static_cast<std::size_t>(known - kModels.begin());
}

std::optional<std::size_t> column_of(std::string_view task) {
  const auto known = std::find(kPublishedTasks.begin(), kPublishedTasks.end(), task);
  if (known == kPublishedTasks.end()) return std::nullopt;
  return static_cast<std::size_t>(known - kPublishedTasks.begin());
}

// A setting that the run does not record did not exist when it was made.
bool same_settings(const Json& recorded, const Json& wanted) {
  for (const auto& [name, value] : recorded.items())
    if (!wanted.contains(name) || wanted[name] != value) return false;
  return recorded.contains("method");
}

bool runs_with(const PublishedQuery& query, const std::string& method, const Json& wanted) {
  try {
    const auto recorded = query.settings.find(method);
    return same_settings(recorded != query.settings.end()
                             ? parse_json(recorded->second, "settings of " + method)
                             : to_json(parse_method(method)),
                         wanted);
  } catch (const Error&) {
    return false;  // a method that does not parse: the samples were written by hand
  }
}

// The method of the run with the same settings; empty if there is none.
std::string twin(std::string_view method, const PublishedQuery& query) {
  const Json wanted = to_json(parse_method(std::string(method)));
  const auto found =
      std::find_if(query.methods.begin(), query.methods.end(),
                   [&](const std::string& own) { return runs_with(query, own, wanted); });
  return found == query.methods.end() ? "" : *found;
}

bool is_covered(const Note& note, std::string_view experiment, std::string_view model,
                const std::vector<std::string>& tasks) {
  return note.experiment == experiment && (note.model.empty() || note.model == model) &&
         std::any_of(tasks.begin(), tasks.end(), [&](const std::string& task) {
           return note.task.empty() ? column_of(task).has_value() : note.task == task;
         });
}

const MethodSummary* find_method(const EvalSummary& summary, const std::string& task,
                                 const std::string& method) {
  for (const TaskSummary& one : summary.tasks)
    if (one.task == task)
      for (const MethodSummary& candidate : one.methods)
        if (candidate.method == method) return &candidate;
  return nullptr;
}

}  // namespace

std::optional<double> PublishedTable::value(std::string_view task, std::string_view method) const {
  const auto column = std::find(columns.begin(), columns.end(), task);
  if (column == columns.end() || method.empty()) return std::nullopt;
  for (const Row& row : rows)
    if (row.method == method) return row.values[static_cast<std::size_t>(column - columns.begin())];
  return std::nullopt;
}

PublishedQuery published_query(const EvalSummary& summary, std::string experiment,
                               std::string model, std::map<std::string, std::string> settings) {
  PublishedQuery query = {std::move(experiment), std::move(model), {}, {}, std::move(settings)};
  for (const TaskSummary& task : summary.tasks) {
    query.tasks.push_back(task.task);
    for (const MethodSummary& method : task.methods)
      if (std::find(query.methods.begin(), query.methods.end(), method.method) ==
          query.methods.end())
        query.methods.push_back(method.method);
  }
  return query;
}

PublishedTable published_figures(const PublishedQuery& query) {
  const std::string experiment = query.experiment.empty() ? "table1" : query.experiment;
  PublishedTable table;
  const std::size_t place = place_of(query.model);
  if (place == kModels.size()) return table;
  table.model = kModels[place];
  table.columns = query.tasks;
  for (const PaperFigure& figure : kFigures) {
    if (!is_shown(figure.experiments, experiment)) continue;
    PublishedTable::Row row{std::string(figure.name), twin(figure.method, query), {}};
    for (const std::string& task : query.tasks) {
      const auto column = column_of(task);
      const double accuracy = column ? figure.accuracy[place][*column] : kNone;
      row.values.push_back(accuracy == kNone ? std::nullopt : std::optional(accuracy));
    }
    if (std::any_of(row.values.begin(), row.values.end(),
                    [](const auto& v) { return v.has_value(); }))
      table.rows.push_back(std::move(row));
  }
  for (const Note& note : kNotes)
    if (is_covered(note, experiment, table.model, query.tasks)) table.notes.emplace_back(note.text);
  return table;
}

Json to_json(const PublishedTable& table) {
  Json rows = Json::array();
  for (const PublishedTable::Row& row : table.rows) {
    Json values = Json::array();
    for (const auto& value : row.values) values.push_back(value ? Json(*value) : Json(nullptr));
    rows.push_back({{"name", row.name}, {"method", row.method}, {"values", std::move(values)}});
  }
  return {{"model", table.model},
          {"columns", table.columns},
          {"rows", std::move(rows)},
          {"notes", table.notes}};
}

std::string to_table(const PublishedTable& table, const EvalSummary& summary) {
  std::string text;
  std::size_t width = 9;
  for (const PublishedTable::Row& row : table.rows) width = std::max(width, row.name.size());
  if (!table.rows.empty()) {
    text = fmt::format("{:<{}}", "the paper", width);
    for (const std::string& task : table.columns)
      text += fmt::format("  {:>19} {:>5}", task + ", ours", "paper");
    text += "\n";
  }
  for (const PublishedTable::Row& row : table.rows) {
    text += fmt::format("{:<{}}", row.name, width);
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const MethodSummary* ours = find_method(summary, table.columns[i], row.method);
      text += fmt::format("  {:>19} {:>5}",
                          ours ? fmt::format("{:.3f} [{:.3f},{:.3f}]", ours->accuracy.mean,
                                             ours->accuracy.low, ours->accuracy.high)
                               : "-",
                          row.values[i] ? fmt::format("{:.3f}", *row.values[i]) : "-");
    }
    text += "\n";
  }
  for (const std::string& note : table.notes) text += "The paper: " + note + "\n";
  return text;
}

}  // namespace counterbeam
