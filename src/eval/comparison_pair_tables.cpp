// Tables of differences, of the paper's figures beside ours, and of the runs.
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "eval/comparison_table_parts.h"

namespace counterbeam {
namespace {

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

}  // namespace

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

}  // namespace counterbeam
