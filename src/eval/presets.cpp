#include "eval/presets.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.h"
#include "search/contexts.h"

namespace counterbeam {
namespace {

constexpr std::array<std::string_view, 3> kTasks = {"math500", "humaneval", "gpqa"};

struct PublishedModel {
  std::string_view model;  // in lower case, as the end of a name
  std::array<std::array<double, 3>, 7> accuracy;
};

constexpr std::array<std::string_view, 7> kPublishedMethods = {
    "sample",       "low temperature", "beam search", "power, tau 0.25",
    "power, tau 1", "CBS 0.25",        "CBS 0.7"};

constexpr std::array<PublishedModel, 4> kPublished = {{
    {"qwen3.5-0.8b",
     {{{.198, .085, .020},
       {.342, .225, .101},
       {.398, .207, .091},
       {.430, .287, .131},
       {.300, .262, .060},
       {.480, .238, .106},
       {.436, .329, .131}}}},
    {"qwen2.5-7b",
     {{{.326, .500, .222},
       {.508, .677, .288},
       {.570, .707, .247},
       {.626, .738, .283},
       {.450, .665, .242},
       {.610, .744, .313},
       {.640, .732, .235}}}},
    {"qwen3.5-2b",
     {{{.444, .439, .106},
       {.632, .600, .217},
       {.656, .560, .177},
       {.646, .561, .241},
       {.578, .524, .176},
       {.672, .604, .247},
       {.694, .585, .258}}}},
    {"deepseek-math-7b-instruct",
     {{{.342, .335, .298},
       {.436, .445, .298},
       {.432, .494, .293},
       {.430, .537, .278},
       {.410, .500, .303},
       {.462, .512, .369},
       {.458, .518, .258}}}},
}};

std::vector<std::string> reranking_by_pairs() {
  std::vector<std::string> methods = {"best-of-n"};
  for (const ContextPair& pair : named_contexts()) {
    if (pair.name == "neutral") continue;
    for (const char* steer : {"0.25", "0.7"})
      methods.push_back(fmt::format("best-of-n:steer={}:contexts={}", steer, pair.name));
  }
  return methods;
}

}  // namespace

std::span<const Preset> presets() {
  static const std::vector<Preset> kPresets = {
      {"table1",
       "sampling, low temperature, beam search, power sampling and CBS",
       {"sample", "low-temperature", "beam", "power:temperature=0.25", "power:temperature=1",
        "cbs:steer=0.25", "cbs:steer=0.7"},
       1,
       {"sample", "low-temperature", "beam",
        "power:temperature=0.25:draws=8:candidates=8:rollouts=4",
        "power:temperature=1:draws=8:candidates=8:rollouts=4", "cbs:steer=0.25", "cbs:steer=0.7"},
       40},
      {"contexts",
       "no contexts, neutral ones, contrastive ones",
       {"cbs:contexts=none", "cbs:steer=0.25:contexts=neutral", "cbs:steer=0.25"},
       1,
       {}},
      {"pairs",
       "ten context pairs as rerankers of 16 samples, at 1/alpha 0.25 and 0.7",
       reranking_by_pairs(),
       1,
       {}},
      {"population",
       "beam search with 16 and 24 beams against CBS",
       {"beam", "beam:beams=24", "cbs:steer=0.25", "cbs:steer=0.7"},
       1,
       {}},
      {"block-size",
       "CBS with blocks of 8 to 128 tokens",
       {"cbs:block=8", "cbs:block=16", "cbs:block=32", "cbs:block=64", "cbs:block=128"},
       1,
       {}},
      {"pass-at-k",
       "four samples of power sampling and CBS: pass@1 to pass@4",
       {"power:temperature=0.25", "cbs:steer=0.25", "cbs:steer=0.7"},
       4,
       {"power:temperature=0.25:draws=8:candidates=8:rollouts=4", "cbs:steer=0.25",
        "cbs:steer=0.7"},
       12},
      {"efficiency",
       "seconds and tokens per prompt, one search at a time",
       {"sample", "beam", "cbs:steer=0.25"},
       1,
       {},
       24,
       1},
  };
  return kPresets;
}

const Preset& preset_named(std::string_view name) {
  std::string names;
  for (const Preset& preset : presets()) {
    if (preset.name == name) return preset;
    names += (names.empty() ? "" : ", ") + std::string(preset.name);
  }
  bad_input("experiment \"{}\" is not known; known: {}", name, names);
}

PublishedTable published_accuracy(std::string_view model, const std::vector<std::string>& tasks) {
  std::string lower(model);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  PublishedTable table;
  for (const PublishedModel& published : kPublished) {
    if (!lower.ends_with(published.model)) continue;
    table.columns = tasks;
    for (std::size_t m = 0; m < kPublishedMethods.size(); ++m) {
      PublishedTable::Row row{std::string(kPublishedMethods[m]), {}};
      for (const std::string& task : tasks) {
        const auto place = std::find(kTasks.begin(), kTasks.end(), task);
        row.values.push_back(
            place == kTasks.end()
                ? std::nullopt
                : std::optional(
                      published.accuracy[m][static_cast<std::size_t>(place - kTasks.begin())]));
      }
      const bool any = std::any_of(row.values.begin(), row.values.end(),
                                   [](const auto& value) { return value.has_value(); });
      if (any) table.rows.push_back(std::move(row));
    }
  }
  return table;
}

}  // namespace counterbeam
