#include "engine/remote_engine.h"

#include <algorithm>

#include "engine/remote_extend.h"
#include "engine/remote_scoring.h"
#include "engine/remote_sequence.h"
#include "engine/validate.h"

namespace counterbeam {
namespace {

std::string fleet_description(const std::string& name, const RemoteFleet& fleet) {
  const auto servers = fleet.servers();
  std::string where;
  for (const auto& server : servers)
    if (server.alive && where.empty()) where = api_name(server.finding.kind) + " at " + server.url;
  return fmt::format("{} over {}{}", name, where,
                     servers.size() > 1 ? fmt::format(" and {} more", servers.size() - 1) : "");
}

}  // namespace

RemoteEngine::RemoteEngine(RemoteOptions options, RemoteModel model)
    : fleet_(RemoteFleet::connect(std::move(options))) {
  EngineAbilities& abilities = info_.abilities;
  abilities.cheap_forks = abilities.mixtures = false;
  info_.max_length = 0;
  for (const RemoteFleet::Server& server : fleet_->servers()) {
    if (!server.alive) continue;
    const RemoteKind& kind = server.finding.kind;
    abilities.keyed_draws &= kind.keyed;
    abilities.drawn_logprobs &= kind.keyed || !kind.raw_logprobs;
    abilities.given_logprobs &= kind.score != ScoreWay::None;
    // Other servers draw a token beside scoring, so the longest sequence leaves room for it.
    const std::int64_t length =
        kind.score == ScoreWay::Whole ? kind.max_length : kind.max_length - 1;
    if (kind.max_length > 0)
      info_.max_length = info_.max_length > 0 ? std::min(info_.max_length, length) : length;
  }
  if (info_.max_length == 0) info_.max_length = model.max_length;
  if (info_.max_length == 0)
    failed("{}: neither the server nor the model's folder says how many tokens the model reads",
           fleet_->servers()[0].url);
  info_.description = fleet_description(model.name, *fleet_);
  info_.served = fleet_->model();
  info_.device = "remote";
  info_.dtype = "the server's";
  info_.vocab_size = model.vocab_size;
  info_.eos = std::move(model.eos);
}

RemoteEngine::~RemoteEngine() = default;

std::vector<std::string> RemoteEngine::warnings() const {
  std::vector<std::string> lines;
  for (const RemoteFleet::Server& server : fleet_->servers()) {
    if (!server.alive) {
      lines.push_back(fmt::format("{}; it is used when it is there", server.problem));
      continue;
    }
    const ScoreWay way = server.finding.kind.score;
    if (way == ScoreWay::Prompt || way == ScoreWay::Steps)
      lines.push_back(
          fmt::format("{}: scoring is expensive: {}; `counterbeam inspect --engine` says "
                      "what helps",
                      server.url, score_name(way)));
    if (way == ScoreWay::None)
      lines.push_back(fmt::format(
          "{}: gives no log-probabilities of given tokens, so methods with contexts are refused",
          server.url));
  }
  if (!info_.abilities.keyed_draws)
    lines.push_back("draws are the server's: the same seed need not give the same answer again");
  return lines;
}

EngineStatus RemoteEngine::status() const {
  EngineStatus status;
  status.steps = fleet_->rounds();
  status.rows = fleet_->requests();
  return status;
}

bool RemoteEngine::knows_token(TokenId token) const {
  const auto search = fleet_->open_search();
  bool known = true;
  RemoteJob job;
  job.search = search.get();
  const DrawCall call{.tokens = {0, token}, .max_tokens = 1};
  job.request = [&](const RemoteKind& kind, int) { return draw_request(kind, call); };
  job.take = [](const RemoteKind&, const std::string&) {};
  job.refused = [&](const RemoteKind&, int status, const std::string&) {
    known = !(status == 400 || status == 422);
    return !known;
  };
  fleet_->run({&job, 1}, nullptr);
  return known;
}

Opened RemoteEngine::open(std::span<const std::vector<TokenId>> prompts, const Cancellation*) {
  for (std::size_t i = 0; i < prompts.size(); ++i) validate_prompt(prompts[i], info_, i);
  Opened opened;
  opened.counted_later = true;
  const std::shared_ptr<RemoteSearch> search = fleet_->open_search();
  for (const std::vector<TokenId>& prompt : prompts)
    opened.sequences.emplace_back(std::make_unique<RemoteSequence>(
        search, search->memory.root(prompt), static_cast<std::int64_t>(prompt.size())));
  return opened;
}

std::vector<Extension> RemoteEngine::extend(std::span<const ExtendRequest> requests,
                                            const Cancellation* cancellation) {
  return RemoteExtend(*fleet_, info_, requests, tokens_drawn_).run(cancellation);
}

std::vector<std::vector<float>> RemoteEngine::score(std::span<const ScoreRequest> requests,
                                                    const Cancellation* cancellation) {
  std::vector<std::vector<float>> results(requests.size());
  std::vector<RemoteScoring> scorings;
  std::vector<ReadTokens> read(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const RemoteSequence& sequence = remote_of(requests[i].sequence, *fleet_, "sequence", i);
    validate_ids(requests[i].tokens, info_, fmt::format("request {}", i));
    const auto count = static_cast<std::int64_t>(requests[i].tokens.size());
    if (sequence.size + count > info_.max_length)
      bad_input("request {}: {} tokens after {} are more than the {} that the model reads", i,
                count, sequence.size, info_.max_length);
    if (count == 0) continue;
    scorings.push_back({sequence.search.get(), sequence.node, requests[i].tokens, requests[i].top,
                        &results[i], requests[i].top_tokens, &read[i]});
  }
  run_scorings(*fleet_, scorings, cancellation);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    RemoteSequence& sequence = remote_of(requests[i].sequence, *fleet_, "sequence", i);
    sequence.append(requests[i].tokens);
    if (requests[i].read) requests[i].read->add(read[i]);
  }
  return results;
}

}  // namespace counterbeam
