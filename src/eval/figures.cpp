#include "eval/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "base/error.h"
#include "eval/method_labels.h"
#include "eval/plot.h"
#include "search/method_strings.h"

namespace counterbeam {
namespace {

constexpr std::string_view kPaper = "the paper";

std::optional<Settings> settings_or_none(const std::string& method) {
  try {
    return parse_method(method);
  } catch (const Error&) {
    return std::nullopt;  // the samples were written by hand
  }
}

std::vector<std::string> labels_of(const TaskSummary& task) {
  std::vector<std::string> methods;
  for (const MethodSummary& method : task.methods) methods.push_back(method.method);
  return method_words(methods);
}

BarSeries::Bar bar_of(const Interval& interval) {
  return {interval.mean, interval.low, interval.high};
}

// Per task: ours with intervals, the paper's beside it.
Figure dot_figure(std::string_view name, const TaskSummary& task, const PublishedTable& published) {
  BarPlot plot;
  plot.title = fmt::format("Accuracy on {}", task.task);
  plot.description = "Mean over questions with its 95 % interval, per method.";
  plot.value.name = "accuracy";
  plot.categories = labels_of(task);
  plot.dots = true;
  BarSeries ours = {.name = "ours, 95 % interval"}, theirs = {.name = std::string(kPaper)};
  theirs.published = true;
  bool compared = false;
  for (const MethodSummary& method : task.methods) {
    ours.bars.push_back(bar_of(method.accuracy));
    const auto value = published.value(task.task, method.method);
    theirs.bars.push_back({value.value_or(kNoValue), kNoValue, kNoValue});
    compared = compared || value;
  }
  plot.series = {std::move(ours)};
  if (compared) plot.series.push_back(std::move(theirs));
  return {fmt::format("{}-{}", name, task.task), plot.title, bar_chart(plot)};
}

std::vector<Figure> block_figures(const EvalSummary& summary, const PublishedTable& published) {
  Plot plot;
  plot.title = "Accuracy over the block size";
  plot.description =
      "CBS: accuracy with its 95 % interval over the tokens of a block, one line per task.";
  plot.x.name = "tokens of a block";
  plot.x.logarithmic = true;
  plot.y.name = "accuracy";
  for (const TaskSummary& task : summary.tasks) {
    PlotSeries ours = {.name = task.task},
               theirs = {.name = task.task + ", " + std::string(kPaper)};
    theirs.published = true;
    for (const MethodSummary& method : task.methods) {
      const auto settings = settings_or_none(method.method);
      if (!settings) continue;
      const double block = settings->block;
      ours.points.push_back(
          {block, method.accuracy.mean, method.accuracy.low, method.accuracy.high});
      if (const auto value = published.value(task.task, method.method))
        theirs.points.push_back({block, *value});
      if (std::find(plot.x.ticks.begin(), plot.x.ticks.end(), block) == plot.x.ticks.end())
        plot.x.ticks.push_back(block);
    }
    std::sort(ours.points.begin(), ours.points.end(),
              [](const PlotPoint& a, const PlotPoint& b) { return a.x < b.x; });
    plot.series.push_back(std::move(ours));
    if (!theirs.points.empty()) plot.series.push_back(std::move(theirs));
  }
  std::sort(plot.x.ticks.begin(), plot.x.ticks.end());
  return {{"block-size", plot.title, line_chart(plot)}};
}

Figure pairs_figure(const TaskSummary& task, const PublishedTable& published) {
  BarPlot plot;
  plot.title = fmt::format("Context pairs as rerankers of samples, {}", task.task);
  plot.description =
      "Accuracy with its 95 % interval per pair and strength; dashed: without contexts.";
  plot.value.name = "accuracy";
  plot.value.low = 0;
  for (const MethodSummary& method : task.methods) {
    const auto settings = settings_or_none(method.method);
    if (!settings) continue;
    if (settings->method->name != "best-of-n" || settings->steer == 0) {
      plot.references.push_back({method.method, method.accuracy.mean});
      if (const auto value = published.value(task.task, method.method))
        plot.references.push_back({method.method + ", " + std::string(kPaper), *value});
      continue;
    }
    const auto place =
        std::find(plot.categories.begin(), plot.categories.end(), settings->contexts);
    const auto row = static_cast<std::size_t>(place - plot.categories.begin());
    if (place == plot.categories.end()) plot.categories.push_back(settings->contexts);
    const std::string name = fmt::format("1/alpha {:g}", settings->steer);
    auto series = std::find_if(plot.series.begin(), plot.series.end(),
                               [&](const BarSeries& one) { return one.name == name; });
    if (series == plot.series.end())
      series = plot.series.insert(plot.series.end(), BarSeries{.name = name});
    series->bars.resize(std::max(series->bars.size(), row + 1));
    series->bars[row] = bar_of(method.accuracy);
  }
  return {"pairs-" + task.task, plot.title, bar_chart(plot)};
}

Figure pass_figure(const TaskSummary& task, const PublishedTable& published) {
  Plot plot;
  plot.title = fmt::format("pass@k on {}", task.task);
  plot.description = "The probability that one of k samples is correct, with 95 % bands.";
  plot.x.name = "k";
  plot.y.name = "pass@k";
  const std::vector<std::string> labels = labels_of(task);
  for (std::size_t i = 0; i < task.methods.size(); ++i) {
    const MethodSummary& method = task.methods[i];
    PlotSeries series = {.name = labels[i]};
    for (std::size_t k = 0; k < method.pass_at.size(); ++k) {
      const auto x = static_cast<double>(k + 1);
      series.points.push_back(
          {x, method.pass_at[k].mean, method.pass_at[k].low, method.pass_at[k].high});
      if (k >= plot.x.ticks.size()) plot.x.ticks.push_back(x);
    }
    plot.series.push_back(std::move(series));
    if (const auto value = published.value(task.task, method.method))
      plot.series.push_back({labels[i] + ", " + std::string(kPaper), {{1, *value}}, true});
  }
  return {"pass-at-k-" + task.task, plot.title, line_chart(plot, PlotIntervals::Bands)};
}

// Accuracy against a cost. Empty if no method has that cost.
std::optional<Figure> cost_figure(const TaskSummary& task, std::string_view cost,
                                  const std::string& axis,
                                  const std::function<double(const MethodSummary&)>& cost_of) {
  Plot plot;
  plot.title = fmt::format("Accuracy and {} on {}", cost, task.task);
  plot.description = fmt::format("Accuracy with its 95 % interval against {}.", axis);
  plot.x.name = axis;
  plot.x.logarithmic = true;
  plot.y.name = "accuracy";
  const std::vector<std::string> labels = labels_of(task);
  for (std::size_t i = 0; i < task.methods.size(); ++i) {
    const Interval& accuracy = task.methods[i].accuracy;
    const double x = cost_of(task.methods[i]);
    if (x > 0)
      plot.series.push_back({labels[i], {{x, accuracy.mean, accuracy.low, accuracy.high}}});
  }
  if (plot.series.empty()) return std::nullopt;
  return Figure{fmt::format("{}-{}", cost, task.task), plot.title, scatter_chart(plot)};
}

}  // namespace

std::vector<Figure> figures_of(std::string_view experiment, const EvalSummary& summary,
                               const PublishedTable& published) {
  if (experiment == "block-size") return block_figures(summary, published);
  std::vector<Figure> figures;
  for (const TaskSummary& task : summary.tasks) {
    if (experiment == "pairs") {
      figures.push_back(pairs_figure(task, published));
      continue;
    }
    if (experiment == "pass-at-k") {
      figures.push_back(pass_figure(task, published));
      continue;
    }
    figures.push_back(dot_figure(experiment.empty() ? "accuracy" : experiment, task, published));
    if (experiment != "efficiency") continue;
    for (auto figure :
         {cost_figure(task, "tokens", "tokens generated per prompt, over all candidates",
                      [](const MethodSummary& method) { return method.generated_tokens; }),
          cost_figure(task, "seconds", "seconds per prompt",
                      [](const MethodSummary& method) { return method.seconds.value_or(0); })})
      if (figure) figures.push_back(std::move(*figure));
  }
  return figures;
}

}  // namespace counterbeam
