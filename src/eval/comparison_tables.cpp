#include "eval/comparison_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "eval/comparison_table_parts.h"

namespace counterbeam {
namespace {

// Every method of every model and task.
template <typename Visit>
void for_each_method(const ModelSummaries& models, const Visit& visit) {
  for (const ModelSummary& model : models)
    for (const TaskSummary* task : model.columns())
      for (const MethodSummary& method : task->methods) visit(model, *task, method);
}

std::size_t most_samples(const ModelSummaries& models) {
  std::size_t most = 0;
  for_each_method(models, [&](const auto&, const auto&, const MethodSummary& method) {
    most = std::max(most, method.pass_at.size());
  });
  return most;
}

TextRows accuracy_csv(const ModelSummaries& models) {
  TextRows rows = {{"model", "task", "method", "run", "questions", "samples", "accuracy", "low",
                    "high", "accuracy_strict", "published", "truncated", "unparsed", "errors",
                    "answer_tokens", "generated_tokens", "scored_tokens", "cached_tokens",
                    "seconds"}};
  for_each_method(
      models, [&](const ModelSummary& model, const TaskSummary& task, const MethodSummary& method) {
        std::string run;
        if (model.sources)
          if (const auto source = model.sources->sources.find({task.task, method.method});
              source != model.sources->sources.end())
            run = source->second;
        const auto published = model.published->value(task.task, method.method);
        CellRow row = {model.model,
                       task.task,
                       method.method,
                       run,
                       std::to_string(method.questions),
                       std::to_string(method.samples)};
        for (const double value :
             {method.accuracy.mean, method.accuracy.low, method.accuracy.high, method.strict.mean})
          row.push_back(all_digits(value));
        row.push_back(published ? all_digits(*published) : "");
        row.push_back(all_digits(method.truncated));
        row.push_back(all_digits(method.unparsed));
        row.push_back(std::to_string(method.errors));
        for (const double value : {method.answer_tokens, method.generated_tokens,
                                   method.scored_tokens, method.cached_tokens})
          row.push_back(all_digits(value));
        row.push_back(method.seconds ? all_digits(*method.seconds) : "");
        rows.push_back(std::move(row));
      });
  return rows;
}

// A row per method, a column per model and task.
ResultTable accuracy_table(std::string name, std::string title, const ModelSummaries& models) {
  ResultTable table{std::move(name), std::move(title), accuracy_csv(models), {}, {}};
  table.columns.push_back({.name = "method", .text = true});
  std::vector<std::string> methods;
  for (const ModelSummary& model : models)
    for (const TaskSummary* task : model.columns()) {
      table.columns.push_back({.name = task->task, .group = model.model});
      for (const MethodSummary& method : task->methods)
        if (std::find(methods.begin(), methods.end(), method.method) == methods.end())
          methods.push_back(method.method);
    }
  for (const std::string& method : methods) {
    CellRow row = {method};
    for (const ModelSummary& model : models)
      for (const TaskSummary* task : model.columns()) {
        const MethodSummary* one = method_in(*task, method);
        row.push_back(one ? with_interval(one->accuracy) : "-");
      }
    table.rows.push_back(std::move(row));
  }
  return table;
}

ResultTable cost_table(std::string name, std::string title, const ModelSummaries& models) {
  ResultTable table{std::move(name), std::move(title), accuracy_csv(models), {}, {}};
  table.columns = {{.name = "model", .text = true},
                   {.name = "task", .text = true},
                   {.name = "method", .text = true},
                   {.name = "accuracy"},
                   {.name = "answer"},
                   {.name = "generated"},
                   {.name = "scored"},
                   {.name = "seconds"},
                   {.name = "truncated"}};
  for_each_method(models, [&](const ModelSummary& model, const TaskSummary& task,
                              const MethodSummary& method) {
    table.rows.push_back({model.model, task.task, method.method, three_digits(method.accuracy.mean),
                          fmt::format("{:.0f}", method.answer_tokens),
                          fmt::format("{:.0f}", method.generated_tokens),
                          fmt::format("{:.0f}", method.scored_tokens),
                          method.seconds ? fmt::format("{:.2f}", *method.seconds) : "-",
                          three_digits(method.truncated)});
  });
  return table;
}

ResultTable pass_table(std::string name, std::string title, const ModelSummaries& models) {
  ResultTable table{std::move(name), std::move(title), {}, {}, {}};
  table.csv = {{"model", "task", "method", "k", "pass_at", "low", "high", "best_of"}};
  table.columns = {{.name = "model", .text = true},
                   {.name = "task", .text = true},
                   {.name = "method", .text = true}};
  const std::size_t most = most_samples(models);
  std::vector<std::size_t> shown;
  for (std::size_t k = 1; k < most; k = most <= 8 ? k + 1 : 2 * k) shown.push_back(k);
  shown.push_back(most);
  for (const std::size_t k : shown) table.columns.push_back({.name = fmt::format("pass@{}", k)});
  for_each_method(models, [&](const ModelSummary& model, const TaskSummary& task,
                              const MethodSummary& method) {
    if (method.pass_at.size() < 2) return;
    for (std::size_t k = 1; k <= method.pass_at.size(); ++k) {
      const Interval& pass = method.pass_at[k - 1];
      table.csv.push_back({model.model, task.task, method.method, std::to_string(k),
                           all_digits(pass.mean), all_digits(pass.low), all_digits(pass.high),
                           k <= method.best_of.size() ? all_digits(method.best_of[k - 1]) : ""});
    }
    CellRow row = {model.model, task.task, method.method};
    for (const std::size_t k : shown)
      row.push_back(k <= method.pass_at.size() ? with_interval(method.pass_at[k - 1]) : "-");
    table.rows.push_back(std::move(row));
  });
  return table;
}

// The table of one of the paper's experiments, in the form that it is read in.
ResultTable experiment_table(const std::string& experiment, const ModelSummaries& models) {
  const std::string name = "paper-" + experiment;
  if (experiment == "efficiency")
    return cost_table(name, "The paper's experiment efficiency: cost per answer", models);
  if (experiment == "pass-at-k" && most_samples(models) > 1)
    return pass_table(name, "The paper's experiment pass-at-k", models);
  return accuracy_table(name, fmt::format("The paper's experiment {}: accuracy", experiment),
                        models);
}

std::vector<std::string> experiment_names(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const ComparedExperiment& one : comparison.experiments)
    if (!one.experiment.empty() &&
        std::find(names.begin(), names.end(), one.experiment) == names.end())
      names.push_back(one.experiment);
  return names;
}

}  // namespace

std::vector<ResultTable> result_tables(const Comparison& comparison) {
  ModelSummaries models;
  for (const ComparedModel& model : comparison.models)
    models.push_back({model.label, &model.summary, &model.published, &model});
  std::vector<ResultTable> tables = {
      accuracy_table("accuracy", "Accuracy of every method, with 95 % intervals", models)};
  for (const std::string& name : experiment_names(comparison)) {
    ModelSummaries parts;
    for (const ComparedExperiment& one : comparison.experiments)
      if (one.experiment == name) parts.push_back({one.model, &one.summary, &one.published});
    tables.push_back(experiment_table(name, parts));
  }
  tables.push_back(published_table(comparison));
  tables.push_back(cost_table("costs", "Cost per answer, in tokens and seconds", models));
  if (most_samples(models) > 1)
    tables.push_back(pass_table("pass-at-k", "pass@k, with 95 % intervals", models));
  tables.push_back(differences_table(models));
  tables.push_back(models_table(comparison));
  tables.push_back(runs_table(comparison));
  std::erase_if(tables, [](const ResultTable& table) { return table.rows.empty(); });
  return tables;
}

}  // namespace counterbeam
