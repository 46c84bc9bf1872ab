// A comparison as JSON, for --json and for the page, and as text for the terminal. The fields are
// described in docs/evaluation.md.
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json.h"
#include "eval/comparison.h"

namespace counterbeam {
namespace {

Json without_disagreements(const EvalSummary& summary) {
  Json json = to_json(summary);
  json.erase("grader_disagreements");  // the summary of each run has them
  return json;
}

Json to_json(const ComparedRun& run) {
  return {{"folder", run.folder},   {"experiment", run.experiment}, {"model", run.model},
          {"dtype", run.dtype},     {"device", run.device},         {"seed", run.seed},
          {"version", run.version}, {"tasks", run.tasks},           {"methods", run.methods},
          {"samples", run.samples}, {"failed", run.failed},         {"missing", run.missing}};
}

Json to_json(const ComparedModel& model) {
  Json sources = Json::array();
  for (const auto& [key, folder] : model.sources)
    sources.push_back({{"task", key.first}, {"method", key.second}, {"folder", folder}});
  return {{"label", model.label},
          {"model", model.name},
          {"dtype", model.dtype},
          {"device", model.device},
          {"seed", model.seed},
          {"summary", without_disagreements(model.summary)},
          {"published", to_json(model.published)},
          {"sources", std::move(sources)}};
}

Json figure_names(const std::vector<Figure>& figures) {
  Json json = Json::array();
  for (const Figure& figure : figures)
    json.push_back({{"name", figure.name}, {"title", figure.title}});
  return json;
}

Json to_json(const ComparedExperiment& one) {
  return {{"experiment", one.experiment},
          {"model", one.model},
          {"folders", one.folders},
          {"summary", without_disagreements(one.summary)},
          {"published", to_json(one.published)},
          {"figures", figure_names(one.figures)}};
}

void add_pairs(Json& list, const std::string& method, const TaskSummary& task) {
  for (const MethodPair& pair : task.pairs)
    list.push_back({{"method", method},
                    {"task", task.task},
                    {"a", pair.a},
                    {"b", pair.b},
                    {"difference", pair.test.difference},
                    {"p", pair.test.p_value},
                    {"test", pair.test.exact ? "McNemar exact" : "sign-flip permutation"},
                    {"questions", pair.questions}});
}

// The figures of a method that a reader asks first: over all tasks, or those of the only one.
const TaskSummary& overall(const ComparedMethod& method) {
  const EvalSummary& by_model = method.by_model;
  return by_model.average.pairs.empty() ? by_model.tasks.front() : by_model.average;
}

// The models against each other, two at a time: a line per method.
std::string between_models(const Comparison& comparison) {
  std::size_t width = 6;
  std::vector<std::pair<std::string, std::string>> pairs;  // a and b
  for (const ComparedMethod& method : comparison.methods) {
    width = std::max(width, method.method.size());
    for (const MethodPair& pair : overall(method).pairs)
      if (std::find(pairs.begin(), pairs.end(), std::pair(pair.a, pair.b)) == pairs.end())
        pairs.emplace_back(pair.a, pair.b);
  }
  std::string text;
  for (const auto& [a, b] : pairs) {
    text += fmt::format("\n{} minus {}, paired by question\n{:<{}}  {:>8}  {:>7}  {:>9}  {}\n", b,
                        a, "method", width, "points", "p", "questions", "task");
    for (const ComparedMethod& method : comparison.methods)
      for (const MethodPair& pair : overall(method).pairs)
        if (pair.a == a && pair.b == b)
          text += fmt::format("{:<{}}  {:>+8.1f}  {:>7.2g}  {:>9}  {}\n", method.method, width,
                              100 * pair.test.difference, pair.test.p_value, pair.questions,
                              overall(method).task);
  }
  return text;
}

}  // namespace

Json to_json(const Comparison& comparison) {
  Json runs = Json::array(), models = Json::array(), experiments = Json::array(),
       between = Json::array();
  for (const ComparedRun& run : comparison.runs) runs.push_back(to_json(run));
  for (const ComparedModel& model : comparison.models) models.push_back(to_json(model));
  for (const ComparedExperiment& one : comparison.experiments) experiments.push_back(to_json(one));
  for (const ComparedMethod& method : comparison.methods) {
    for (const TaskSummary& task : method.by_model.tasks) add_pairs(between, method.method, task);
    add_pairs(between, method.method, method.by_model.average);
  }
  return {{"runs", std::move(runs)},
          {"models", std::move(models)},
          {"experiments", std::move(experiments)},
          {"between_models", std::move(between)},
          {"figures", figure_names(comparison.figures)},
          {"notes", comparison.notes}};
}

std::string to_table(const Comparison& comparison) {
  std::string text;
  for (const ComparedModel& model : comparison.models) {
    std::vector<std::string> facts;
    for (const std::string& fact :
         {model.dtype, model.device, model.seed.empty() ? "" : "seed " + model.seed})
      if (!fact.empty()) facts.push_back(fact);
    text += fmt::format("{}{}{}\n{}", text.empty() ? "" : "\n", model.label,
                        facts.empty() ? "" : fmt::format(" ({})", fmt::join(facts, ", ")),
                        to_table(model.summary));
    const std::string paper = to_table(model.published, model.summary);
    if (!paper.empty()) text += "\n" + paper;
  }
  for (const ComparedExperiment& one : comparison.experiments) {
    if (one.experiment.empty() || one.experiment == "table1") continue;  // as above
    const std::string paper = to_table(one.published, one.summary);
    if (!paper.empty()) text += fmt::format("\n{}, {}\n{}", one.experiment, one.model, paper);
  }
  text += between_models(comparison);
  if (!comparison.notes.empty()) text += "\n";
  for (const std::string& note : comparison.notes) text += fmt::format("note: {}\n", note);
  return text;
}

}  // namespace counterbeam
