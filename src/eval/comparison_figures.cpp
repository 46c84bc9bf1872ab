#include "eval/comparison_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "eval/comparison_names.h"
#include "eval/method_labels.h"
#include "eval/plot.h"

namespace counterbeam {
namespace {

const TaskSummary* task_in(const ComparedModel& model, const std::string& task) {
  for (const TaskSummary& one : model.summary.tasks)
    if (one.task == task) return &one;
  return nullptr;
}

void add_once(std::vector<std::string>& list, const std::string& value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

void add_series(BarPlot& plot, const ComparedModel& model, const TaskSummary& task,
                const std::vector<std::string>& methods) {
  BarSeries ours = {.name = model.label}, theirs = {.name = model.label + ", the paper"};
  theirs.published = true;
  bool compared = false;
  for (const std::string& name : methods) {
    const auto method = std::find_if(task.methods.begin(), task.methods.end(),
                                     [&](const MethodSummary& one) { return one.method == name; });
    const bool has = method != task.methods.end();
    ours.bars.push_back(
        has ? BarSeries::Bar{method->accuracy.mean, method->accuracy.low, method->accuracy.high}
            : BarSeries::Bar{});
    const auto value = has ? model.published.value(task.task, name) : std::nullopt;
    theirs.bars.push_back({value.value_or(kNoValue), kNoValue, kNoValue});
    compared = compared || value;
  }
  plot.series.push_back(std::move(ours));
  if (compared) plot.series.push_back(std::move(theirs));
}

}  // namespace

std::vector<Figure> accuracy_figures(const std::vector<ComparedModel>& models) {
  std::vector<std::string> tasks;
  for (const ComparedModel& model : models)
    for (const TaskSummary& task : model.summary.tasks) add_once(tasks, task.task);
  std::vector<Figure> figures;
  std::set<std::string> taken;
  for (const std::string& name : tasks) {
    std::vector<std::string> methods;
    for (const ComparedModel& model : models)
      if (const TaskSummary* task = task_in(model, name))
        for (const MethodSummary& method : task->methods) add_once(methods, method.method);
    BarPlot plot;
    plot.title = fmt::format("All methods on {}", name);
    plot.description = "Mean over questions with its 95 % interval, per method and model.";
    plot.value.name = "accuracy";
    plot.categories = method_words(methods);
    plot.dots = true;
    for (const ComparedModel& model : models)
      if (const TaskSummary* task = task_in(model, name)) add_series(plot, model, *task, methods);
    figures.push_back({unused_file_name("all-" + name, taken), plot.title, bar_chart(plot)});
  }
  return figures;
}

}  // namespace counterbeam
