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

// In lower case; compared with the end of a model's name.
constexpr std::array<std::string_view, 4> kModels = {"qwen3.5-0.8b", "qwen2.5-7b", "qwen3.5-2b",
                                                     "deepseek-math-7b-instruct"};

constexpr double kNone = -1;  // not published
using Accuracies = std::array<double, 3>;
constexpr Accuracies kNothing = {kNone, kNone, kNone};
constexpr Accuracies math500(double accuracy) {
  return {accuracy, kNone, kNone};
}

struct Figure {
  std::string_view experiments;  // the experiments that show it
  std::string_view name;
  std::string_view method;
  std::array<Accuracies, 4> accuracy;  // by model, then task
};

constexpr std::array<Figure, 11> kFigures = {{
    {"table1 efficiency",
     "sample",
     "sample",
     {{{.198, .085, .020}, {.326, .500, .222}, {.444, .439, .106}, {.342, .335, .298}}}},
    {"table1",
     "low temperature",
     "low-temperature",
     {{{.342, .225, .101}, {.508, .677, .288}, {.632, .600, .217}, {.436, .445, .298}}}},
    {"table1 population efficiency",
     "beam search",
     "beam",
     {{{.398, .207, .091}, {.570, .707, .247}, {.656, .560, .177}, {.432, .494, .293}}}},
    {"population",
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
    {"table1 population pass-at-k",
     "CBS 0.7",
     "cbs:steer=0.7",
     {{{.436, .329, .131}, {.640, .732, .235}, {.694, .585, .258}, {.458, .518, .258}}}},
    {"contexts", "no contexts", "cbs:contexts=none", {math500(.398), kNothing, kNothing, kNothing}},
    {"contexts",
     "neutral contexts",
     "cbs:steer=0.25:contexts=neutral",
     {math500(.380), kNothing, kNothing, kNothing}},
    {"contexts",
     "contrastive contexts",
     "cbs:steer=0.25",
     {math500(.509), kNothing, kNothing, kNothing}},
}};

struct Note {
  std::string_view experiment, text;
};

constexpr std::array<Note, 4> kNotes = {{
    {"block-size", "Accuracy over the block size is an inverted U with its peak at 32."},
    {"pass-at-k", "CBS lies above power sampling at every k from 1 to 4."},
    {"efficiency",
     "Wall clock per prompt: beam search about 2 times sampling, CBS about 1.5 times beam search, "
     "with 11 to 20 % fewer completion tokens."},
    {"contexts",
     "In this experiment the paper has .509 for CBS on MATH500, in its main table .480."},
}};

bool is_shown(std::string_view experiments, std::string_view experiment) {
  while (!experiments.empty()) {
    const std::size_t end = std::min(experiments.find(' '), experiments.size());
    if (experiments.substr(0, end) == experiment) return true;
    experiments.remove_prefix(std::min(end + 1, experiments.size()));
  }
  return false;
}

// The index of the model in kModels; kModels.size() for any other.
std::size_t place_of(std::string_view model) {
  std::string lower(model);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto known = std::find_if(kModels.begin(), kModels.end(),
                                  [&](std::string_view name) { return lower.ends_with(name); });
  return static_cast<std::size_t>(known - kModels.begin());
}

std::string settings_text(std::string_view method) {
  return to_line(to_json(parse_method(std::string(method))));
}

// The method of the run with the same settings, however it is spelled; empty if there is none.
std::string twin(std::string_view method, const std::vector<std::string>& methods) {
  const std::string wanted = settings_text(method);
  const auto same = [&](const std::string& own) {
    try {
      return settings_text(own) == wanted;
    } catch (const Error&) {
      return false;  // a method that does not parse: the samples were written by hand
    }
  };
  const auto found = std::find_if(methods.begin(), methods.end(), same);
  return found == methods.end() ? "" : *found;
}

}  // namespace

PublishedTable published_figures(std::string_view experiment, std::string_view model,
                                 const std::vector<std::string>& tasks,
                                 const std::vector<std::string>& methods) {
  if (experiment.empty()) experiment = "table1";
  PublishedTable table;
  const std::size_t place = place_of(model);
  if (place == kModels.size()) return table;
  table.columns = tasks;
  for (const Figure& figure : kFigures) {
    if (!is_shown(figure.experiments, experiment)) continue;
    PublishedTable::Row row{std::string(figure.name), twin(figure.method, methods), {}};
    for (const std::string& task : tasks) {
      const auto known = std::find(kPublishedTasks.begin(), kPublishedTasks.end(), task);
      const double accuracy =
          known == kPublishedTasks.end()
              ? kNone
              : figure.accuracy[place][static_cast<std::size_t>(known - kPublishedTasks.begin())];
      row.values.push_back(accuracy == kNone ? std::nullopt : std::optional(accuracy));
    }
    if (std::any_of(row.values.begin(), row.values.end(),
                    [](const auto& v) { return v.has_value(); }))
      table.rows.push_back(std::move(row));
  }
  const bool asked = std::any_of(tasks.begin(), tasks.end(), [](const std::string& task) {
    return std::find(kPublishedTasks.begin(), kPublishedTasks.end(), task) != kPublishedTasks.end();
  });
  for (const Note& note : kNotes)
    if (asked && note.experiment == experiment) table.notes.emplace_back(note.text);
  return table;
}

}  // namespace counterbeam
