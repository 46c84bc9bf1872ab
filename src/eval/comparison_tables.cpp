#include "eval/comparison_tables.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace counterbeam {
namespace {

// The summary of a model, of all its runs or of those of an experiment.
struct ModelSummary {
  std::string model;
  const EvalSummary* summary;
  const PublishedTable* published;
  const ComparedModel* sources = nullptr;

  std::vector<const TaskSummary*> columns() const {
    std::vector<const TaskSummary*> tasks;
    for (const TaskSummary& task : summary->tasks) tasks.push_back(&task);
    if (!summary->average.methods.empty()) tasks.push_back(&summary->average);
    return tasks;
  }
};

using ModelSummaries = std::vector<ModelSummary>;
using CellRow = std::vector<std::string>;

std::string all_digits(double value) {
  return fmt::format("{}", value);
}
std::string three_digits(double value) {
  return fmt::format("{:.3f}", value);
}
std::string with_interval(const Interval& interval) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", interval.mean, interval.low, interval.high);
}
std::string in_points(double difference) {
  return fmt::format("{:+.1f}", 100 * difference);
}
std::string p_text(double p) {
  return p < 0.0001 ? "<0.0001" : fmt::format("{:.2g}", p);
}
std::string test_name(const PairedTest& test) {
  return test.exact ? "McNemar exact" : "sign-flip permutation";
}

const MethodSummary* method_in(const TaskSummary& task, const std::string& name) {
  const auto found = std::find_if(task.methods.begin(), task.methods.end(),
                                  [&](const MethodSummary& one) { return one.method == name; });
  return found == task.methods.end() ? nullptr : &*found;
}

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

void add_csv(ResultTable& table, const std::string& first, const std::string& second,
             const MethodPair& pair) {
  table.csv.push_back({first, second, pair.a, pair.b, all_digits(pair.test.difference),
                       all_digits(pair.test.p_value), test_name(pair.test),
                       std::to_string(pair.questions)});
}

void add_row(ResultTable& table, const std::string& first, const std::string& second,
             const MethodPair& pair) {
  table.rows.push_back({first, second, pair.a, pair.b, in_points(pair.test.difference),
                        p_text(pair.test.p_value), std::to_string(pair.questions)});
}

ResultTable pair_table(std::string name, std::string title, const std::string& first,
                       const std::string& second) {
  ResultTable table{std::move(name), std::move(title), {}, {}, {}};
  table.csv = {{first, second, "a", "b", "b_minus_a", "p", "test", "questions"}};
  table.columns = {{.name = first, .text = true}, {.name = second, .text = true},
                   {.name = "a", .text = true},   {.name = "b", .text = true},
                   {.name = "b - a, points"},     {.name = "p"},
                   {.name = "questions"}};
  return table;
}

// The pair with the best method first; empty if neither is the best.
std::optional<MethodPair> from_best(MethodPair pair, const std::string& best) {
  if (pair.a != best && pair.b != best) return std::nullopt;
  if (pair.a == best) return pair;
  std::swap(pair.a, pair.b);
  pair.test.difference = -pair.test.difference;
  return pair;
}

// The CSV has every pair. Their number grows with the square of the methods, so a reader gets the
// differences from the best method of each task.
ResultTable differences_table(const ModelSummaries& models) {
  ResultTable table =
      pair_table("differences", "Differences from the best method of each task, paired by question",
                 "model", "task");
  for (const ModelSummary& model : models)
    for (const TaskSummary* task : model.columns()) {
      const auto best = std::max_element(
          task->methods.begin(), task->methods.end(),
          [](const auto& a, const auto& b) { return a.accuracy.mean < b.accuracy.mean; });
      for (const MethodPair& pair : task->pairs) {
        if (pair.questions == 0) continue;
        add_csv(table, model.model, task->task, pair);
        if (const auto shown = from_best(pair, best->method))
          add_row(table, model.model, task->task, *shown);
      }
    }
  return table;
}

ResultTable models_table(const Comparison& comparison) {
  ResultTable table =
      pair_table("models", "Differences between models, paired by question", "method", "task");
  for (const ComparedMethod& method : comparison.methods) {
    std::vector<const TaskSummary*> tasks;
    for (const TaskSummary& task : method.by_model.tasks) tasks.push_back(&task);
    tasks.push_back(&method.by_model.average);  // without pairs if there is one task
    for (const TaskSummary* task : tasks)
      for (const MethodPair& pair : task->pairs) {
        if (pair.questions == 0) continue;
        add_csv(table, method.method, task->task, pair);
        add_row(table, method.method, task->task, pair);
      }
  }
  return table;
}

ResultTable published_table(const Comparison& comparison) {
  ResultTable table{"published", "The paper's figures beside ours", {}, {}, {}};
  table.csv = {{"model", "experiment", "task", "name", "method", "published", "accuracy", "low",
                "high", "questions"}};
  table.columns = {{.name = "model", .text = true},
                   {.name = "experiment", .text = true},
                   {.name = "task", .text = true},
                   {.name = "in the paper", .text = true},
                   {.name = "paper"},
                   {.name = "ours"},
                   {.name = "questions"}};
  for (const ComparedExperiment& one : comparison.experiments)
    for (const PublishedTable::Row& row : one.published.rows)
      for (std::size_t i = 0; i < one.published.columns.size(); ++i) {
        if (!row.values[i]) continue;
        const std::string& task = one.published.columns[i];
        const auto place = std::find_if(one.summary.tasks.begin(), one.summary.tasks.end(),
                                        [&](const TaskSummary& own) { return own.task == task; });
        const MethodSummary* ours =
            place == one.summary.tasks.end() ? nullptr : method_in(*place, row.method);
        const std::string experiment = one.experiment.empty() ? "table1" : one.experiment;
        CellRow csv = {one.model, experiment, task,
                       row.name,  row.method, all_digits(*row.values[i])};
        if (ours)
          csv.insert(csv.end(), {all_digits(ours->accuracy.mean), all_digits(ours->accuracy.low),
                                 all_digits(ours->accuracy.high), std::to_string(ours->questions)});
        else
          csv.insert(csv.end(), 4, "");
        table.csv.push_back(std::move(csv));
        table.rows.push_back({one.model, experiment, task, row.name, three_digits(*row.values[i]),
                              ours ? with_interval(ours->accuracy) : "-",
                              ours ? std::to_string(ours->questions) : "-"});
      }
  return table;
}

ResultTable runs_table(const Comparison& comparison) {
  ResultTable table{"runs", "Runs of this report", {}, {}, {}};
  table.csv = {{"folder", "model", "experiment", "tasks", "dtype", "device", "seed", "version",
                "methods", "samples", "failed", "missing"}};
  table.columns = {{.name = "folder", .text = true},
                   {.name = "model", .text = true},
                   {.name = "experiment", .text = true},
                   {.name = "seed"},
                   {.name = "methods"},
                   {.name = "samples"},
                   {.name = "failed"},
                   {.name = "missing"}};
  for (const ComparedRun& run : comparison.runs) {
    const CellRow counts = {std::to_string(run.methods), std::to_string(run.samples),
                            std::to_string(run.failed), std::to_string(run.missing)};
    CellRow csv = {
        run.folder, run.model,  run.experiment, fmt::format("{}", fmt::join(run.tasks, " ")),
        run.dtype,  run.device, run.seed,       run.version};
    CellRow row = {run.folder, run.model, run.experiment, run.seed};
    csv.insert(csv.end(), counts.begin(), counts.end());
    row.insert(row.end(), counts.begin(), counts.end());
    table.csv.push_back(std::move(csv));
    table.rows.push_back(std::move(row));
  }
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
