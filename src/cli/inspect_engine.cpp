#include "cli/inspect_engine.h"

#include "base/error.h"
#include "base/json.h"
#include "base/output.h"
#include "base/units.h"
#include "cli/loading.h"
#include "engine/remote_engine.h"
#include "search/methods.h"

namespace counterbeam::cli {
namespace {

constexpr int kFollowers = 2;  // a positive and a negative context

// What one block of a contrastive search takes on a server.
struct BlockCost {
  int beams, tokens;
  std::int64_t requests = 0;
  int rounds = 2;
  std::string scored{};  // tokens that scoring computes, in words
};

BlockCost block_cost(const RemoteKind& kind, int beams) {
  BlockCost cost{.beams = beams, .tokens = default_settings(default_method()).block};
  const std::int64_t scorings = std::int64_t{kFollowers} * beams;
  const std::int64_t rows = scorings * cost.tokens;
  cost.requests = beams + scorings;
  switch (kind.score) {
    case ScoreWay::Whole:
    case ScoreWay::Rows:
    case ScoreWay::Start:
      cost.scored =
          fmt::format("{} tokens, and what of a last block is not cached", human_count(rows));
      break;
    case ScoreWay::Cached:
      cost.rounds = 3;
      cost.scored = fmt::format(
          "{} tokens, and up to {} before them per request; the third round only where a cached "
          "row "
          "was needed",
          human_count(rows), kind.block_size > 0 ? kind.block_size : 16);
      break;
    case ScoreWay::Prompt:
      cost.scored = fmt::format("{} tokens, and the whole prompt and answer before them {} times",
                                human_count(rows), human_count(scorings));
      break;
    case ScoreWay::Steps:
      cost.requests = beams + rows;
      cost.scored = fmt::format("{} tokens, one request each", human_count(rows));
      break;
    case ScoreWay::None:
      cost.requests = beams;
      cost.rounds = 1;
      cost.scored = "nothing: contexts are refused";
      break;
  }
  return cost;
}

Json server_object(const RemoteFleet::Server& server, int beams) {
  const RemoteKind& kind = server.finding.kind;
  if (!server.alive) return {{"url", server.url}, {"alive", false}, {"problem", server.problem}};
  const BlockCost cost = block_cost(kind, beams);
  return {{"url", server.url},
          {"alive", true},
          {"model", kind.model},
          {"api", api_name(kind)},
          {"scoring", score_name(kind.score)},
          {"max_length", kind.max_length},
          {"cache_block", kind.block_size},
          {"ranks", kind.ranks},
          {"keyed_draws", kind.keyed},
          {"raw_logprobs", kind.raw_logprobs},
          {"counts_cached_tokens", kind.counts_cached},
          {"block",
           {{"beams", cost.beams},
            {"tokens", cost.tokens},
            {"requests", cost.requests},
            {"rounds", cost.rounds},
            {"scoring_computes", cost.scored}}},
          {"advice", server.finding.advice}};
}

void print_server(const RemoteFleet::Server& server, int beams) {
  const auto line = [](std::string_view name, const std::string& text) {
    print_result("{:<14} {}\n", name, text);
  };
  line("server", server.url);
  if (!server.alive) {
    line("", "not there: " + server.problem);
    return;
  }
  const RemoteKind& kind = server.finding.kind;
  line("model", fmt::format("{}, {} tokens at most", kind.model,
                            kind.max_length > 0 ? human_count(kind.max_length) : "?"));
  line("interface", api_name(kind));
  line("draws",
       fmt::format("{}; log-probabilities {}",
                   kind.keyed ? "keyed: the same seed gives the same answer"
                              : "by the server's own seeds: a run need not repeat",
                   kind.raw_logprobs ? "at temperature 1" : "after temperature and filters"));
  line("scoring", score_name(kind.score));
  std::string cache = kind.block_size > 0 ? fmt::format("blocks of {} tokens", kind.block_size)
                                          : std::string("block size not said");
  if (!kind.counts_cached) cache += ", cached tokens not said";
  if (kind.ranks > 1) cache += fmt::format(", {} data-parallel ranks", kind.ranks);
  line("prefix cache", cache);
  const BlockCost cost = block_cost(kind, beams);
  line("a block",
       fmt::format("{} beams x {} tokens, {} contexts: {} requests in at most {} rounds",
                   cost.beams, cost.tokens, kFollowers, human_count(cost.requests), cost.rounds));
  line("", "scoring computes " + cost.scored);
  for (const std::string& advice : server.finding.advice) line("cheaper by", advice);
}

}  // namespace

void inspect_engine(int beams, const Globals& globals) {
  const LoadedModel model = load_model(globals);
  const auto& engine = dynamic_cast<const RemoteEngine&>(model.engine());
  const std::vector<RemoteFleet::Server> servers = engine.fleet().servers();
  if (globals.json) {
    Json list = Json::array();
    for (const RemoteFleet::Server& server : servers) list.push_back(server_object(server, beams));
    print_result("{}\n", to_line(Json{{"model", model.name()},
                                      {"vocabulary", engine.info().vocab_size},
                                      {"max_length", engine.info().max_length},
                                      {"given_logprobs", engine.info().abilities.given_logprobs},
                                      {"keyed_draws", engine.info().abilities.keyed_draws},
                                      {"servers", std::move(list)}}));
    return;
  }
  for (const RemoteFleet::Server& server : servers) print_server(server, beams);
}

}  // namespace counterbeam::cli
