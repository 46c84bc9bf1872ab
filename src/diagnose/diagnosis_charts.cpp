// The charts of a diagnosis.
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/diagnosis_page.h"
#include "eval/plot.h"

namespace counterbeam {
namespace {

BarSeries::Bar bar_of(const std::optional<Interval>& interval) {
  if (!interval) return {};
  return {interval->mean, interval->low, interval->high};
}

PlotPoint point_of(double x, const std::optional<Interval>& interval) {
  if (!interval) return {x, kNoValue};
  return {x, interval->mean, interval->low, interval->high};
}

std::string auc_chart(const TaskDiagnosis& task) {
  BarPlot plot;
  plot.description =
      "The AUC within questions of likelihood, of the reward of each pair, and of the score.";
  plot.value = {.name = "AUC within questions", .low = 0.0, .high = 1.0};
  plot.references = {{"no separation", 0.5}};
  plot.dots = true;
  BarSeries series{.name = "AUC"};
  const auto add = [&](const std::string& name, const Separation& separation) {
    plot.categories.push_back(name);
    series.bars.push_back(bar_of(separation.within));
  };
  add("likelihood", task.likelihood);
  for (const PairDiagnosis& pair : task.pairs) {
    add(pair.pair.name + ": reward", pair.reward);
    for (const ScoreDiagnosis& score : pair.scores)
      add(fmt::format("{}: score {}", pair.pair.name, score.steer), score.separation);
  }
  plot.series = {series};
  return bar_chart(plot);
}

std::string block_chart(const TaskDiagnosis& task) {
  Plot plot;
  plot.description = "The AUC within questions of what is known after so many tokens.";
  plot.x = {.name = "tokens of the answer"};
  plot.y = {.name = "AUC within questions"};
  plot.references = {{"no separation", 0.5}};
  PlotSeries likelihood{.name = "likelihood"};
  for (const BlockSeparation& block : task.pairs.front().blocks)
    likelihood.points.push_back(point_of(block.tokens, block.likelihood.within));
  for (const PairDiagnosis& pair : task.pairs) {
    PlotSeries series{.name = pair.pair.name};
    for (const BlockSeparation& block : pair.blocks)
      series.points.push_back(point_of(block.tokens, block.reward.within));
    plot.series.push_back(std::move(series));
  }
  plot.series.push_back(std::move(likelihood));
  return line_chart(plot, PlotIntervals::Bands);
}

std::string choice_chart(const TaskDiagnosis& task) {
  Plot plot;
  plot.description = "The accuracy of the sample with the highest score of k.";
  plot.x = {.name = "samples to choose from (k)"};
  plot.y = {.name = "accuracy of the best of k"};
  const auto add = [&](std::string name, const RankedChoice& choice) {
    PlotSeries series{.name = std::move(name)};
    for (std::size_t k = 0; k < choice.best_of.size(); ++k)
      series.points.push_back({static_cast<double>(k + 1), choice.best_of[k]});
    plot.series.push_back(std::move(series));
  };
  add("likelihood", task.likelihood_choice);
  for (const PairDiagnosis& pair : task.pairs)
    add(fmt::format("{}, score {}", pair.pair.name, pair.scores.back().steer),
        pair.scores.back().choice);
  return line_chart(plot);
}

std::string divergence_chart(const TaskDiagnosis& task) {
  BarPlot plot;
  plot.description = "KL divergence per token of the base prompt from each context.";
  plot.value = {.name = "KL per token"};
  BarSeries positive{.name = "to the positive context"},
      negative{.name = "to the negative context"};
  for (const PairDiagnosis& pair : task.pairs) {
    plot.categories.push_back(pair.pair.name);
    positive.bars.push_back(bar_of(pair.divergence.positive.per_token));
    negative.bars.push_back(bar_of(pair.divergence.negative.per_token));
  }
  plot.series = {positive, negative};
  return bar_chart(plot);
}

// Counts span orders of magnitude, so they are points on a logarithmic axis; empty bins have none.
std::string reward_chart(const PairDiagnosis& pair) {
  const RewardHistogram& histogram = pair.rewards.histogram;
  const double width =
      (histogram.high - histogram.low) / static_cast<double>(histogram.counts.size());
  Plot plot;
  plot.description = fmt::format("How many tokens have which reward under {}.", pair.pair.name);
  plot.x = {.name = "token reward", .low = histogram.low, .high = histogram.high};
  plot.y = {.name = "tokens (log scale)", .logarithmic = true};
  PlotSeries series{.name = "tokens"};
  for (std::size_t i = 0; i < histogram.counts.size(); ++i)
    if (histogram.counts[i] > 0)
      series.points.push_back({histogram.low + width * (static_cast<double>(i) + 0.5),
                               static_cast<double>(histogram.counts[i])});
  plot.series = {series};
  return scatter_chart(plot);
}

std::string answers_chart(const PairDiagnosis& pair) {
  HistogramPlot plot;
  plot.description =
      fmt::format("The mean reward of right and of wrong answers under {}.", pair.pair.name);
  plot.x = {.name = "mean reward of an answer, R/|a|"};
  plot.series = {{"right answers", pair.right_rewards}, {"wrong answers", pair.wrong_rewards}};
  return histogram_chart(plot);
}

}  // namespace

std::vector<Figure> figures_of(const TaskDiagnosis& task) {
  std::vector<Figure> figures;
  const auto add = [&](const std::string& name, const std::string& title, std::string svg) {
    figures.push_back({fmt::format("{}-{}", task.task, name), title, std::move(svg)});
  };
  add("auc", "How the ranking separates right from wrong", auc_chart(task));
  add("blocks", "How early the reward knows", block_chart(task));
  add("choice", "Choosing among k samples", choice_chart(task));
  add("kl", "How far the contexts are from the base prompt", divergence_chart(task));
  for (const PairDiagnosis& pair : task.pairs) {
    add("rewards-" + pair.pair.name, "Token rewards: " + pair.pair.name, reward_chart(pair));
    add("answers-" + pair.pair.name, "Right and wrong answers: " + pair.pair.name,
        answers_chart(pair));
  }
  return figures;
}

}  // namespace counterbeam
