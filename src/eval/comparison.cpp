#include "eval/comparison.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "eval/comparison_cells.h"
#include "eval/comparison_figures.h"
#include "eval/comparison_names.h"

namespace counterbeam {
namespace {

ComparedRun listed_run(const ReportedRun& run, const std::string& model) {
  const RunFacts& facts = run.facts;
  ComparedRun row{run.folder, facts.experiment, model, facts.dtype, facts.device,
                  facts.seed, facts.version,    {},    0,           run.samples.size(),
                  0,          run.missing};
  std::set<std::string> methods;
  for (const Sample& sample : run.samples) {
    if (std::find(row.tasks.begin(), row.tasks.end(), sample.task) == row.tasks.end())
      row.tasks.push_back(sample.task);
    methods.insert(sample.method);
    row.failed += !sample.error.empty();
  }
  row.methods = methods.size();
  return row;
}

// Runs whose samples may stand in one figure: a method means the same in all of them.
struct ExperimentRuns {
  std::string experiment;
  std::vector<const ReportedRun*> runs;
  std::map<std::string, std::string> settings;  // by method

  bool takes(const ReportedRun& run) const {
    return run.facts.experiment == experiment &&
           std::none_of(run.samples.begin(), run.samples.end(), [&](const Sample& sample) {
             const auto known = settings.find(sample.method);
             return known != settings.end() && known->second != settings_of(run, sample.method);
           });
  }
  void add(const ReportedRun& run) {
    runs.push_back(&run);
    for (const Sample& sample : run.samples)
      if (!settings.contains(sample.method))
        settings[sample.method] = settings_of(run, sample.method);
  }
};

std::vector<ComparedExperiment> experiments_of(const ModelRuns& model, const std::string& name) {
  std::vector<ExperimentRuns> groups;
  for (const ReportedRun* run : model.runs) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const ExperimentRuns& known) { return known.takes(*run); });
    if (group == groups.end())
      group = groups.insert(groups.end(), ExperimentRuns{run->facts.experiment, {}, {}});
    group->add(*run);
  }
  std::vector<ComparedExperiment> experiments;
  for (const ExperimentRuns& group : groups) {
    ComparedExperiment& one = experiments.emplace_back();
    one.experiment = group.experiment;
    one.model = model.label;
    for (const ReportedRun* run : group.runs) one.folders.push_back(run->folder);
    const RowOf as_given = [](const ReportedRun&, const std::string& method) { return method; };
    one.summary = summarise(shown_samples(model, group.runs, as_given).samples);
    one.published =
        published_figures(published_query(one.summary, group.experiment, name, group.settings));
    one.figures = figures_of(group.experiment, one.summary, one.published);
  }
  return experiments;
}

// The average over tasks would count a task that was asked in two ways twice.
bool asks_twice(const ModelRuns& model) {
  std::set<std::string> names;
  return std::any_of(model.tasks.begin(), model.tasks.end(),
                     [&](const AskedTask& task) { return !names.insert(task.name).second; });
}

// A sample of one method beside those of other models.
struct ModelSample {
  std::size_t model;
  const AskedTask* task;
  const Sample* sample;
};

// The method on the problems that at least two models were asked; empty if there are none.
std::vector<Sample> with_models_as_methods(const std::vector<ModelSample>& samples,
                                           const std::vector<ModelRuns>& models) {
  using Problems = std::pair<std::string, std::string>;          // name of the task, its problems
  std::map<Problems, std::map<std::size_t, std::string>> asked;  // by model: the label of its task
  for (const auto& [model, task, sample] : samples)
    asked[{task->name, task->problems}].emplace(model, task->label);
  std::vector<Sample> result;
  for (const auto& [model, task, sample] : samples) {
    const auto& by_model = asked[{task->name, task->problems}];
    if (by_model.size() < 2 || by_model.at(model) != task->label) continue;
    Sample copy = *sample;
    copy.answer.clear();
    copy.task = by_model.begin()->second;
    copy.method = models[model].label;
    result.push_back(std::move(copy));
  }
  return result;
}

void note_other_problems(const std::vector<ModelRuns>& models, std::vector<std::string>& notes) {
  std::map<std::string, std::map<std::string, std::vector<std::string>>> asked;
  for (const ModelRuns& model : models)
    for (const AskedTask& task : model.tasks)
      asked[task.name][task.problems].push_back(
          task.label == task.name ? model.label : fmt::format("{}: {}", model.label, task.label));
  for (const auto& [task, groups] : asked) {
    if (groups.size() < 2) continue;
    std::vector<std::string> names;
    for (const auto& [problems, who] : groups)
      names.push_back(fmt::format("{}", fmt::join(who, ", ")));
    notes.push_back(fmt::format(
        "{}: problems, prompts or grading are not the same (or not recorded) in these: {}. "
        "Differences between them are not shown; run them with the same --data, --system, --prompt "
        "and --extract, and tasks whose choices are shuffled with the same --seed.",
        task, fmt::join(names, " | ")));
  }
}

void note_gaps(const ReportedRun& run, std::vector<std::string>& notes) {
  if (run.facts.model.empty())
    notes.push_back(fmt::format(
        "{}: has no run.json that names a model, so it stands alone under its folder", run.folder));
  if (run.missing > 0)
    notes.push_back(
        fmt::format("{}: {} of its samples are missing; figures are of those that are there. "
                    "Finish it with the "
                    "same command and --resume.",
                    run.folder, run.missing));
}

// Methods of one task with other numbers of questions, as after --quick.
void note_unequal_questions(const ComparedModel& model, std::vector<std::string>& notes) {
  for (const TaskSummary& task : model.summary.tasks) {
    const auto [least, most] = std::minmax_element(
        task.methods.begin(), task.methods.end(),
        [](const MethodSummary& a, const MethodSummary& b) { return a.questions < b.questions; });
    if (least->questions < most->questions)
      notes.push_back(fmt::format(
          "{}, {}: methods have {} to {} questions; differences are paired over those that both "
          "answered",
          model.label, task.task, least->questions, most->questions));
  }
}

void name_figures(std::vector<ComparedExperiment>& experiments, bool several_models) {
  std::set<std::string> taken;
  for (ComparedExperiment& one : experiments)
    for (Figure& figure : one.figures) {
      figure.name = unused_file_name(one.model + "-" + figure.name, taken);
      if (several_models) figure.title += fmt::format(" ({})", one.model);
    }
}

}  // namespace

Comparison compare_runs(std::vector<ReportedRun> runs) {
  Comparison result;
  for (const ReportedRun& run : runs)
    if (run.samples.empty())
      result.notes.push_back(fmt::format("{}: has no samples yet; it is left out", run.folder));
  std::erase_if(runs, [](const ReportedRun& run) { return run.samples.empty(); });
  if (runs.empty())
    bad_input("report: no run has a sample yet: {}\nfinish one with eval or reproduce and --resume",
              fmt::join(result.notes, "; "));
  const std::vector<ModelRuns> models = group_by_model(runs);
  MethodRows rows;
  std::vector<std::vector<Sample>> samples(models.size());
  std::vector<std::string> row_order;
  std::map<std::string, std::vector<ModelSample>> by_row;
  for (const ReportedRun& run : runs) note_gaps(run, result.notes);
  for (std::size_t i = 0; i < models.size(); ++i) {
    const ModelRuns& runs_of = models[i];
    const RunFacts& facts = runs_of.runs.front()->facts;
    ComparedModel& model = result.models.emplace_back();
    model.label = runs_of.label;
    model.name = facts.model;
    model.dtype = facts.dtype;
    model.device = facts.device;
    model.seed = facts.seed;
    const RowOf row_of = [&](const ReportedRun& run, const std::string& method) {
      return rows.label(run, method);
    };
    ShownSamples shown = shown_samples(runs_of, runs_of.runs, row_of);
    samples[i] = std::move(shown.samples);
    model.sources = std::move(shown.sources);
    result.notes.insert(result.notes.end(), shown.notes.begin(), shown.notes.end());
    model.summary = summarise(samples[i]);
    if (asks_twice(runs_of)) model.summary.average = {"average", {}, {}, {}};
    model.published =
        published_figures(published_query(model.summary, "", model.name, rows.settings()));
    note_unequal_questions(model, result.notes);
    for (const ReportedRun* run : runs_of.runs)
      result.runs.push_back(listed_run(*run, model.label));
    for (const Sample& sample : samples[i]) {
      const auto task =
          std::find_if(runs_of.tasks.begin(), runs_of.tasks.end(),
                       [&](const AskedTask& asked) { return asked.label == sample.task; });
      std::vector<ModelSample>& same = by_row[sample.method];
      if (same.empty()) row_order.push_back(sample.method);
      same.push_back({i, &*task, &sample});
    }
    for (ComparedExperiment& one : experiments_of(runs_of, model.name))
      result.experiments.push_back(std::move(one));
  }
  for (const std::string& row : row_order) {
    const std::vector<Sample> compared = with_models_as_methods(by_row[row], models);
    if (!compared.empty()) result.methods.push_back({row, summarise(compared)});
  }
  note_other_problems(models, result.notes);
  name_figures(result.experiments, models.size() > 1);
  result.figures = accuracy_figures(result.models);
  return result;
}

}  // namespace counterbeam
