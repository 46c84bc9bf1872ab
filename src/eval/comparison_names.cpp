#include "eval/comparison_names.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/json.h"
#include "eval/presets.h"
#include "search/method_strings.h"

namespace counterbeam {
namespace {

// What tells models apart, the most telling first.
using ModelIdentity = std::vector<std::pair<std::string, std::string>>;

ModelIdentity identity_of(const ReportedRun& run) {
  const RunFacts& facts = run.facts;
  if (facts.model.empty()) return {{"folder", run.folder}};
  return {{"model", facts.model},
          {"seed", facts.seed},
          {"dtype", facts.dtype},
          {"device", facts.device},
          {"fingerprint", facts.fingerprint}};
}

// "seed 1", "bf16", "cuda"; of a fingerprint, which is long, the beginning of the weights' digest.
std::string shown_part(const std::string& field, const std::string& value) {
  if (field == "seed") return "seed " + value;
  if (field != "fingerprint") return value;
  try {
    const Json json = parse_json(value, field);
    return "weights " + json.value("weights", std::string("unknown")).substr(0, 8);
  } catch (const std::exception&) {
    return "weights unknown";
  }
}

// The name, and the parts in which models of the same name differ.
std::string label_among(const ModelIdentity& own, const std::vector<ModelIdentity>& all) {
  std::vector<std::string> parts = {own[0].second};
  for (std::size_t i = 1; i < own.size(); ++i)
    if (std::any_of(all.begin(), all.end(), [&](const ModelIdentity& other) {
          return other[0] == own[0] && other[i].second != own[i].second;
        }))
      parts.push_back(shown_part(own[i].first, own[i].second));
  return fmt::format("{}", fmt::join(parts, ", "));
}

AskedTask asked_task(const ReportedRun& run, const std::string& name) {
  const auto known = run.facts.tasks.find(name);
  if (known == run.facts.tasks.end() || known->second.digest.empty())
    return {name, name, "unknown problems of " + run.folder, ""};
  const RunFacts::Task& task = known->second;
  return {name, name, fmt::format("{} {} {}", task.digest, task.grader, task.extract), task.asking};
}

bool same_asking(const AskedTask& a, const AskedTask& b) {
  return a.name == b.name && a.problems == b.problems && a.asking == b.asking;
}

void add_tasks(ModelRuns& model, const ReportedRun& run) {
  for (const Sample& sample : run.samples) {
    AskedTask task = asked_task(run, sample.task);
    if (std::any_of(model.tasks.begin(), model.tasks.end(),
                    [&](const AskedTask& known) { return same_asking(known, task); }))
      continue;
    if (std::any_of(model.tasks.begin(), model.tasks.end(),
                    [&](const AskedTask& known) { return known.label == task.label; }))
      task.label = fmt::format("{} ({})", task.name, run.folder);
    model.tasks.push_back(std::move(task));
  }
}

// The place of a run among the experiments of the paper; other runs follow them.
std::size_t experiment_rank(const ReportedRun* run) {
  const auto known = std::find_if(presets().begin(), presets().end(), [&](const Preset& preset) {
    return preset.name == run->facts.experiment;
  });
  return static_cast<std::size_t>(known - presets().begin());
}

// The settings of `own` that `other` does not have: " [max-tokens=64]".
std::string differing_settings(const std::string& own, const std::string& other) {
  std::vector<std::string> parts;
  try {
    const Json mine = parse_json(own, "settings"), theirs = parse_json(other, "settings");
    for (const auto& [name, value] : mine.items())
      if (!theirs.contains(name) || theirs[name] != value)
        parts.push_back(fmt::format("{}={}", name,
                                    value.is_string() ? value.get<std::string>() : to_line(value)));
  } catch (const Error&) {
    parts = {"other settings"};
  }
  return fmt::format(" [{}]", fmt::join(parts, ", "));
}

}  // namespace

const AskedTask& ModelRuns::task_of(const ReportedRun& run, const std::string& task) const {
  const AskedTask asked = asked_task(run, task);
  const auto found = std::find_if(tasks.begin(), tasks.end(), [&](const AskedTask& known) {
    return same_asking(known, asked);
  });
  CB_CHECK(found != tasks.end());
  return *found;
}

std::vector<ModelRuns> group_by_model(const std::vector<ReportedRun>& runs) {
  std::vector<ModelRuns> models;
  std::vector<ModelIdentity> identities;
  for (const ReportedRun& run : runs) {
    ModelIdentity identity = identity_of(run);
    const auto known = std::find(identities.begin(), identities.end(), identity);
    const auto place = static_cast<std::size_t>(known - identities.begin());
    if (known == identities.end()) {
      identities.push_back(std::move(identity));
      models.emplace_back();
    }
    models[place].runs.push_back(&run);
    add_tasks(models[place], run);
  }
  for (std::size_t i = 0; i < models.size(); ++i) {
    models[i].label = label_among(identities[i], identities);
    std::stable_sort(models[i].runs.begin(), models[i].runs.end(),
                     [](const ReportedRun* a, const ReportedRun* b) {
                       return experiment_rank(a) < experiment_rank(b);
                     });
  }
  return models;
}

std::string settings_of(const ReportedRun& run, const std::string& method) {
  const auto recorded = run.facts.settings.find(method);
  if (recorded != run.facts.settings.end()) return recorded->second;
  try {
    return to_line(to_json(parse_method(method)));
  } catch (const Error&) {
    return method;  // the samples were written by other software
  }
}

const std::string& MethodRows::label(const ReportedRun& run, const std::string& method) {
  const std::string settings = settings_of(run, method);
  const auto known = labels_.find(settings);
  if (known != labels_.end()) return known->second;
  std::string label = method;
  if (const auto other = settings_.find(method); other != settings_.end())
    label += differing_settings(settings, other->second);
  const std::string base = label;
  for (int number = 2; settings_.contains(label); ++number)
    label = fmt::format("{} ({})", base, number);
  settings_[label] = settings;
  return labels_[settings] = label;
}

std::string file_name_of(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '.')
      name += static_cast<char>(std::tolower(byte));
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  while (name.ends_with('-') || name.ends_with('.')) name.pop_back();
  while (name.starts_with('.')) name.erase(0, 1);
  return name.empty() ? "unnamed" : name.substr(0, 100);
}

std::string unused_file_name(std::string_view text, std::set<std::string>& taken) {
  const std::string base = file_name_of(text);
  std::string name = base;
  for (int number = 2; !taken.insert(name).second; ++number)
    name = fmt::format("{}-{}", base, number);
  return name;
}

}  // namespace counterbeam
