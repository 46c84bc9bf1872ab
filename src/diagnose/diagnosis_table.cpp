// The diagnosis as text for the terminal.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "diagnose/diagnosis.h"

namespace counterbeam {
namespace {

// Columns are as wide as their longest cell; the first is aligned to the left.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                     : fmt::format("  {:>{}}", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string separation_table(const TaskDiagnosis& task) {
  const std::string best = fmt::format("best of {}", task.samples);
  std::vector<std::vector<std::string>> rows = {
      {"ranked by", "AUC within questions", "AUC pooled", best, "gain"}};
  const auto chosen = [](const RankedChoice& choice) {
    return fmt::format("{:.3f}", choice.best_of.back());
  };
  rows.push_back({"likelihood", interval_text(task.likelihood.within),
                  interval_text(task.likelihood.pooled), chosen(task.likelihood_choice), ""});
  for (const PairDiagnosis& pair : task.pairs) {
    rows.push_back({pair.pair.name + ", reward", interval_text(pair.reward.within),
                    interval_text(pair.reward.pooled), "", ""});
    for (const ScoreDiagnosis& score : pair.scores)
      rows.push_back({fmt::format("{}, score {}", pair.pair.name, score.steer),
                      interval_text(score.separation.within),
                      interval_text(score.separation.pooled), chosen(score.choice),
                      fmt::format("{:+.1f} points, p {} {:.4f}", 100 * score.choice.gain.difference,
                                  score.choice.gain.p_value < 0.0001 ? "<" : "=",
                                  std::max(score.choice.gain.p_value, 0.0001))});
  }
  return aligned(rows);
}

std::string future_lines(const FutureSummary& future) {
  std::string text = fmt::format(
      "  future correction {} ({:.0f} tokens written, {:.0f} to come; {} questions, {} siblings, "
      "{} rollouts each):\n",
      future.place == ScoringPlace::FirstBlock ? "after the first block" : "half-way",
      future.tokens, future.remaining, future.questions, future.siblings, future.rollouts);
  for (const FutureAtSteer& at : future.steers) {
    text += fmt::format(
        "    steer {}: log zeta {:.3g}, spread among siblings {:.3g} (rollout noise {:.2g}) beside "
        "{:.3g} of the score; {:.0f} % of pairs reordered\n",
        at.steer, at.log_zeta, at.spread, at.noise, at.score_spread, 100 * at.order_changes);
    std::string distance;
    if (at.distance)
      distance = fmt::format("distance {} of which noise {:.2f}; ", interval_text(at.distance, 2),
                             at.distance_noise);
    text += fmt::format(
        "      {}bound {:.3f}{}, with the 99.9 % reward {:.3f}, if balanced {:.3f}\n", distance,
        at.bound, at.bound > 0.99 ? " (vacuous)" : "", at.usual_bound, at.balanced_bound);
  }
  return text;
}

std::string pair_lines(const PairDiagnosis& pair) {
  const RewardDistribution& rewards = pair.rewards;
  std::string text = fmt::format(
      "{}: {}\n"
      "  reward per token {}, sd {:.3g}; r_max {:.3g} (99.9 % of tokens below {:.3g})\n"
      "  KL per token to the positive context {}, to the negative {}\n",
      pair.pair.name, pair.verdict.sentence, fine_interval_text(rewards.mean), rewards.deviation,
      rewards.largest, rewards.usual, fine_interval_text(pair.divergence.positive.per_token),
      fine_interval_text(pair.divergence.negative.per_token));
  std::vector<std::string> blocks;
  for (const BlockSeparation& block : pair.blocks)
    if (block.reward.within)
      blocks.push_back(fmt::format("{}: {:.2f}", block.block, block.reward.within->mean));
  if (!blocks.empty())
    text += fmt::format("  AUC of the reward after blocks {}\n", fmt::join(blocks, ", "));
  for (const FutureSummary& future : pair.futures) text += future_lines(future);
  return text;
}

}  // namespace

std::string interval_text(const Interval& interval, int digits) {
  const auto number = [&](double value) {
    const std::string text = fmt::format("{:.{}f}", value, digits);
    return text.find_first_not_of("-0.") == text.npos ? fmt::format("{:.{}f}", 0.0, digits) : text;
  };
  if (!std::isfinite(interval.low) || !std::isfinite(interval.high)) return number(interval.mean);
  return fmt::format("{} ({} to {})", number(interval.mean), number(interval.low),
                     number(interval.high));
}

std::string interval_text(const std::optional<Interval>& interval, int digits) {
  return interval ? interval_text(*interval, digits) : "-";
}

std::string fine_interval_text(const Interval& interval) {
  const double half = (interval.high - interval.low) / 2;
  const double size = std::isfinite(half) && half > 0 ? half : std::abs(interval.mean);
  const int digits =
      size > 0 ? std::clamp(1 - static_cast<int>(std::floor(std::log10(size))), 2, 9) : 3;
  return interval_text(interval, digits);
}

std::string to_table(const TaskDiagnosis& task) {
  std::string text = fmt::format(
      "{}: {} question{} with {} answers each, {} right; {} with both right and wrong answers; "
      "{:.0f} tokens per answer{}\n\n",
      task.task, task.questions, task.questions == 1 ? "" : "s", task.samples,
      interval_text(task.accuracy), task.mixed, task.answer_tokens,
      task.truncated > 0 ? fmt::format(", {:.1f} % truncated", 100 * task.truncated) : "");
  text += separation_table(task);
  for (const PairDiagnosis& pair : task.pairs) text += "\n" + pair_lines(pair);
  for (const Failure& failure : task.failures)
    text += fmt::format("\n{} question{} failed and {} left out: {} (problem {})\n",
                        failure.samples, failure.samples == 1 ? "" : "s",
                        failure.samples == 1 ? "is" : "are", failure.cause, failure.id);
  return text;
}

}  // namespace counterbeam
