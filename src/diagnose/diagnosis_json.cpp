// The JSON form; docs/diagnose.md documents its fields.
#include <fmt/format.h>

#include <cmath>

#include "base/json.h"
#include "diagnose/diagnosis.h"

namespace counterbeam {
namespace {

// Numbers that are not finite are null.
Json number_json(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json interval_json(const Interval& interval) {
  return {{"mean", number_json(interval.mean)},
          {"low", number_json(interval.low)},
          {"high", number_json(interval.high)}};
}

Json interval_json(const std::optional<Interval>& interval) {
  return interval ? interval_json(*interval) : Json();
}

Json separation_json(const Separation& separation) {
  return {{"within", interval_json(separation.within)},
          {"pooled", interval_json(separation.pooled)},
          {"questions", separation.questions},
          {"comparisons", separation.comparisons}};
}

Json choice_json(const RankedChoice& choice) {
  return {{"best_of", choice.best_of},
          {"gain", choice.gain.difference},
          {"gain_p", choice.gain.p_value}};
}

Json rewards_json(const RewardDistribution& rewards) {
  Json quantiles = Json::object();
  for (std::size_t i = 0; i < kQuantiles.size(); ++i)
    quantiles[fmt::format("{}", kQuantiles[i])] = rewards.quantiles[i];
  return {{"tokens", rewards.tokens},
          {"mean", interval_json(rewards.mean)},
          {"sd", rewards.deviation},
          {"quantiles", std::move(quantiles)},
          {"r_max", rewards.largest},
          {"r_999", rewards.usual},
          {"histogram",
           {{"low", rewards.histogram.low},
            {"high", rewards.histogram.high},
            {"counts", rewards.histogram.counts},
            {"below", rewards.histogram.below},
            {"above", rewards.histogram.above}}}};
}

Json tokens_json(const std::vector<RewardedToken>& tokens) {
  Json list = Json::array();
  for (const RewardedToken& token : tokens)
    list.push_back({{"token", token.token},
                    {"reward", token.reward},
                    {"before", token.before},
                    {"problem", token.problem},
                    {"correct", token.correct}});
  return list;
}

Json divergence_json(const ContextDivergence& divergence) {
  return {{"per_token", interval_json(divergence.per_token)},
          {"per_answer", interval_json(divergence.per_answer)}};
}

Json future_json(const FutureSummary& future) {
  Json steers = Json::array();
  for (const FutureAtSteer& at : future.steers) {
    Json entry = {{"steer", at.steer},
                  {"log_zeta", at.log_zeta},
                  {"spread", at.spread},
                  {"noise", at.noise},
                  {"score_spread", at.score_spread},
                  {"order_changes", at.order_changes},
                  {"effective_rollouts", at.effective_rollouts},
                  {"distance", interval_json(at.distance)},
                  {"distance_noise", at.distance ? Json(at.distance_noise) : Json()},
                  {"bound", at.bound},
                  {"bound_999", at.usual_bound},
                  {"bound_balanced", at.balanced_bound},
                  {"trajectory_bound", at.trajectory_bound}};
    steers.push_back(std::move(entry));
  }
  return {{"place", to_string(future.place)},
          {"questions", future.questions},
          {"siblings", future.siblings},
          {"rollouts", future.rollouts},
          {"tokens", future.tokens},
          {"remaining_tokens", future.remaining},
          {"informative_below", future.informative},
          {"steers", std::move(steers)}};
}

Json pair_json(const PairDiagnosis& pair) {
  Json scores = Json::array(), blocks = Json::array(), futures = Json::array();
  for (const ScoreDiagnosis& score : pair.scores) {
    Json entry = {{"steer", score.steer}, {"auc", separation_json(score.separation)}};
    entry["auc_over_likelihood"] = interval_json(score.over_likelihood);
    entry.update(choice_json(score.choice));
    scores.push_back(std::move(entry));
  }
  for (const BlockSeparation& block : pair.blocks)
    blocks.push_back({{"block", block.block},
                      {"tokens", block.tokens},
                      {"reward", interval_json(block.reward.within)},
                      {"likelihood", interval_json(block.likelihood.within)}});
  for (const FutureSummary& future : pair.futures) futures.push_back(future_json(future));
  return {{"contexts", pair.pair.name},
          {"positive", pair.pair.positive},
          {"negative", pair.pair.negative},
          {"verdict", to_string(pair.verdict.effect)},
          {"sentence", pair.verdict.sentence},
          {"reward", rewards_json(pair.rewards)},
          {"highest_tokens", tokens_json(pair.tokens.highest)},
          {"lowest_tokens", tokens_json(pair.tokens.lowest)},
          {"kl_positive", divergence_json(pair.divergence.positive)},
          {"kl_negative", divergence_json(pair.divergence.negative)},
          {"reward_right", pair.right_rewards.empty() ? Json() : Json(pair.right_reward)},
          {"reward_wrong", pair.wrong_rewards.empty() ? Json() : Json(pair.wrong_reward)},
          {"auc", separation_json(pair.reward)},
          {"scores", std::move(scores)},
          {"blocks", std::move(blocks)},
          {"future", std::move(futures)}};
}

}  // namespace

Json to_json(const TaskDiagnosis& diagnosis) {
  Json pairs = Json::array(), failures = Json::array();
  for (const PairDiagnosis& pair : diagnosis.pairs) pairs.push_back(pair_json(pair));
  for (const Failure& failure : diagnosis.failures)
    failures.push_back(
        {{"cause", failure.cause}, {"id", failure.id}, {"questions", failure.samples}});
  Json likelihood = {{"auc", separation_json(diagnosis.likelihood)},
                     {"best_of", diagnosis.likelihood_choice.best_of}};
  return {{"task", diagnosis.task},
          {"questions", diagnosis.questions},
          {"samples", diagnosis.samples},
          {"mixed_questions", diagnosis.mixed},
          {"accuracy", interval_json(diagnosis.accuracy)},
          {"answer_tokens", diagnosis.answer_tokens},
          {"truncated", diagnosis.truncated},
          {"longest_tokens", diagnosis.longest},
          {"likelihood", std::move(likelihood)},
          {"pairs", std::move(pairs)},
          {"failures", std::move(failures)}};
}

}  // namespace counterbeam
