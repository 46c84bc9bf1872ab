// The results of a search for contexts: search.json, the tables and the sentence for people.
#include <algorithm>

#include "base/json.h"
#include "eval/context_search.h"
#include "eval/provenance.h"
#include "search/methods.h"

namespace counterbeam {
namespace {

constexpr int kSearchFormat = 1;

std::string p_words(double p) {
  return p < 0.0001 ? "p < 0.0001" : fmt::format("p = {:.4f}", p);
}

std::string points_text(double difference) {
  return fmt::format("{:+.1f}", 100 * difference + 0.0);
}

// What the method is without a pair.
std::string baseline_text(const MethodString& method) {
  return method.settings.method->run == contrastive_beam_search ? "beam search"
                                                                : "the method without contrast";
}

Json interval_json(const Interval& interval) {
  return {{"mean", interval.mean}, {"low", interval.low}, {"high", interval.high}};
}

Json pair_json(const ContextPair& pair) {
  return {{"name", pair.name}, {"positive", pair.positive}, {"negative", pair.negative}};
}

Json standings_json(const std::vector<Standing>& standings, bool of_round) {
  Json list = Json::array();
  for (const Standing& standing : standings) {
    list.push_back({{"name", standing.name},
                    {"accuracy", interval_json(standing.accuracy)},
                    {"difference", standing.gain.difference},
                    {"p", standing.gain.p_value}});
    if (standing.separation) list.back()["separation"] = *standing.separation;
    if (of_round) list.back()["candidate"] = standing.candidate;
    if (of_round && standing.candidate) list.back()["kept"] = standing.kept;
  }
  return list;
}

// Per method of a folder: what an answer cost, and how many failed.
Json cost_json(const EvalSummary& summary) {
  Json costs = Json::array();
  for (const TaskSummary& task : summary.tasks)
    for (const MethodSummary& method : task.methods)
      costs.push_back({{"method", method.method},
                       {"generated_tokens", method.generated_tokens},
                       {"scored_tokens", method.scored_tokens},
                       {"failed", method.errors}});
  return costs;
}

Json portion_json(const std::string& folder, const Portion& portion,
                  const std::map<std::string, EvalSummary>& heats) {
  Json json = {{"folder", folder}, {"first", portion.first}, {"problems", portion.count}};
  if (const auto heat = heats.find(folder); heat != heats.end())
    json["cost"] = cost_json(heat->second);
  return json;
}

Json claim_json(const Claim& claim) {
  return {{"pair", claim.name},
          {"against", claim.against},
          {"accuracy", interval_json(claim.own)},
          {"accuracy_against", interval_json(claim.other)},
          {"difference", claim.test.difference},
          {"p", claim.test.p_value},
          {"p_corrected", claim.corrected},
          {"holds", claim.holds},
          {"problems", claim.problems}};
}

Json paraphrases_json(const Paraphrases& paraphrases) {
  Json pairs = Json::array(), causes = Json::object();
  for (const ContextPair& pair : paraphrases.pairs) pairs.push_back(pair_json(pair));
  for (const DroppedParaphrase& dropped : paraphrases.dropped)
    causes[dropped.cause] = causes.value(dropped.cause, 0) + 1;
  return {{"requests", paraphrases.requests}, {"pairs", pairs}, {"dropped", causes}};
}

std::string standings_text(const std::vector<Standing>& standings, bool verdicts) {
  std::size_t width = 4;
  for (const Standing& standing : standings) width = std::max(width, standing.name.size());
  std::string text = fmt::format("{:<{}}  {:>19}  {:>10}  {:>12}\n", "pair", width, "accuracy",
                                 "separation", "against none");
  for (const Standing& standing : standings) {
    const Interval& interval = standing.accuracy;
    text += fmt::format("{:<{}}  {:.3f} [{:.3f},{:.3f}]  {:>10}", standing.name, width,
                        interval.mean, interval.low, interval.high,
                        standing.separation ? fmt::format("{:.3f}", *standing.separation) : "-");
    text += fmt::format("  {:>12}  {}", points_text(standing.gain.difference),
                        p_words(standing.gain.p_value));
    if (verdicts && standing.candidate) text += standing.kept ? "  kept" : "  dropped";
    if (verdicts && !standing.candidate) text += "  control";
    text += "\n";
  }
  return text;
}

const Claim* claim_of(const ContestResult& result, const std::string& name,
                      const std::string& against) {
  for (const Claim& claim : result.claims)
    if (claim.name == name && claim.against == against) return &claim;
  return nullptr;
}

const Standing* standing_of(const std::vector<Standing>& standings, const std::string& name) {
  for (const Standing& standing : standings)
    if (standing.name == name) return &standing;
  return nullptr;
}

// How much of the gain that chose the pair is left on other problems, by the same method.
std::string optimism_text(const ContextSearchOptions& options, const ContestResult& result) {
  std::string text;
  for (const std::string& name : result.finalists) {
    const Standing* chosen = standing_of(result.rounds.back().standings, name);
    const Standing* again = standing_of(result.screened_again, name);
    if (chosen && again)
      text += fmt::format(
          "{} by {}: {} points over no contrast on the problems it was chosen on, {} on the "
          "others\n",
          name, options.screen.text, points_text(chosen->gain.difference),
          points_text(again->gain.difference));
  }
  return text;
}

std::string tests_text(std::size_t count) {
  return fmt::format("corrected for {} test{}", count, count == 1 ? "" : "s");
}

}  // namespace

std::string round_table(const RoundResult& round, int number) {
  return fmt::format("Round {}: {} problems, {} so far\n{}\n", number, round.portion.count,
                     round.problems, standings_text(round.standings, true));
}

std::string confirmation_table(const ContextSearchOptions& options, const ContestResult& result) {
  std::string text =
      fmt::format("Confirmation: {} other problems by {}\n{}", result.confirmation.count,
                  options.method.text, standings_text(result.confirmed, false));
  for (const Claim& claim : result.claims)
    text += fmt::format("{} better than {}: {} points, {}, {} {}: {}\n", claim.name, claim.against,
                        points_text(claim.test.difference), p_words(claim.test.p_value),
                        tests_text(result.claims.size()), p_words(claim.corrected),
                        claim.holds ? "yes" : "not shown");
  return text + optimism_text(options, result) + "\n";
}

std::string outcome_sentence(const ContextSearchOptions& options, const Contest& contest,
                             const ContestResult& result) {
  const std::string baseline = baseline_text(options.method);
  const std::string corrected = tests_text(result.claims.size());
  const Claim* main =
      claim_of(result, result.winner.value_or(result.finalists.front()), contest.baseline);
  if (!result.winner)
    return fmt::format(
        "no winner: nothing is better than {} beyond noise (best in the rounds: {}, {:.3f} against "
        "{:.3f} on {} other problems, {}, {})",
        baseline, main->name, main->own.mean, main->other.mean, main->problems,
        p_words(main->corrected), corrected);
  std::string text = fmt::format(
      "winner: {}, {:.3f} against {:.3f} for {} on {} problems that it was not chosen on ({}, {})",
      main->name, main->own.mean, main->other.mean, baseline, main->problems,
      p_words(main->corrected), corrected);
  if (main->name == contest.standard) return text + "; it is the default pair";
  const Claim* other = claim_of(result, main->name, contest.standard);
  if (!other) return text;
  return text + fmt::format("; {} the default pair {}: {:.3f} against {:.3f} ({})",
                            other->holds ? "also better than" : "not shown to be better than",
                            other->against, other->own.mean, other->other.mean,
                            p_words(other->corrected));
}

Json to_json(const ContextSearchPlan& plan, const ContextSearchOptions& options) {
  Json candidates = Json::array();
  for (const ContextPair& pair : options.candidates) candidates.push_back(pair_json(pair));
  const auto method_json = [](const MethodString& method) {
    return Json{{"text", method.text}, {"settings", to_json(without_pair(method).settings)}};
  };
  return {{"format", kSearchFormat},
          {"plan",
           {{"task", plan.task.name},
            {"problems", plan.task.problems.size()},
            {"repeated", plan.repeated},
            {"digest", digest_of(plan.task)},
            {"seed", options.run.seed},
            {"samples", options.run.samples},
            {"dev", plan.contest.dev},
            {"confirm", plan.contest.confirm},
            {"finalists", plan.contest.finalists},
            {"paraphrases", plan.contest.newcomers},
            {"level", plan.contest.level},
            {"screen", method_json(options.screen)},
            {"method", method_json(options.method)},
            {"candidates", candidates}}}};
}

Json to_json(const ContextSearchPlan& plan, const ContextSearchOptions& options,
             const ContextSearchResult& result) {
  Json json = to_json(plan, options);
  const ContestResult& contest = result.contest;
  json["paraphrases"] = paraphrases_json(result.paraphrases);
  json["rounds"] = Json::array();
  for (std::size_t i = 0; i < contest.rounds.size(); ++i) {
    const RoundResult& round = contest.rounds[i];
    Json one = portion_json(fmt::format("rounds/{}", i + 1), round.portion, result.heats);
    one["so_far"] = round.problems;
    one["standings"] = standings_json(round.standings, true);
    json["rounds"].push_back(std::move(one));
  }
  Json confirmation = portion_json("confirm", contest.confirmation, result.heats);
  confirmation["finalists"] = contest.finalists;
  confirmation["standings"] = standings_json(contest.confirmed, false);
  confirmation["claims"] = Json::array();
  for (const Claim& claim : contest.claims) confirmation["claims"].push_back(claim_json(claim));
  confirmation["screened_again"] = standings_json(contest.screened_again, false);
  json["confirmation"] = std::move(confirmation);
  json["winner"] = Json();
  if (contest.winner) json["winner"] = pair_json(*pair_named(result.pairs, *contest.winner));
  json["better_than_default"] = contest.better_than_standard;
  json["outcome"] = outcome_sentence(options, plan.contest, contest);
  return json;
}

}  // namespace counterbeam
