#include "engine/remote_engine.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "engine/remote_scoring.h"
#include "engine/validate.h"

namespace counterbeam {
namespace {

struct RemoteSequence : SequenceState {
  RemoteSequence(std::shared_ptr<RemoteSearch> the_search, RemoteMemory::Node the_node,
                 std::int64_t tokens)
      : search(std::move(the_search)), node(the_node), size(tokens) {}
  std::unique_ptr<SequenceState> fork() const override {
    return std::make_unique<RemoteSequence>(*this);
  }
  std::int64_t length() const override { return size; }

  std::shared_ptr<RemoteSearch> search;
  RemoteMemory::Node node;
  std::int64_t size;
};

RemoteSequence& remote_of(const Sequence* sequence, const RemoteFleet& fleet, const char* what,
                          std::size_t index) {
  if (sequence == nullptr || !*sequence) bad_input("request {}: no {}", index, what);
  auto* remote = dynamic_cast<RemoteSequence*>(sequence->state());
  if (remote == nullptr || remote->search->fleet.get() != &fleet)
    bad_input("request {}: the {} belongs to another engine", index, what);
  return *remote;
}

std::string fleet_description(const std::string& name, const RemoteFleet& fleet) {
  const auto servers = fleet.servers();
  std::string where;
  for (const auto& server : servers)
    if (server.alive && where.empty()) where = api_name(server.finding.kind) + " at " + server.url;
  return fmt::format("{} over {}{}", name, where,
                     servers.size() > 1 ? fmt::format(" and {} more", servers.size() - 1) : "");
}

}  // namespace

// Tokens to draw for one request, over one or more calls where a server ends early.
struct RemoteEngine::Draw {
  RemoteSearch* search = nullptr;
  DrawCall call;  // `tokens` grow by what was drawn
  int wanted = 0;
  bool done = false;
  Extension* to = nullptr;
  bool raw = true;  // the log-probabilities are the model's own

  bool plain() const {
    const auto [temperature, top_p, top_k, min_p] = call.sampling;
    return temperature == 1 && top_p == 1 && top_k == 0 && min_p == 0;
  }
};

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

void RemoteEngine::draw(std::vector<Draw>& draws, const Cancellation* cancellation) {
  constexpr int kMostCalls = 8;  // a server that ends early each time is broken
  for (int round = 0; round < kMostCalls; ++round) {
    std::vector<RemoteJob> jobs;
    for (Draw& one : draws) {
      if (one.done) continue;
      RemoteJob& job = jobs.emplace_back();
      job.search = one.search;
      one.call.max_tokens = one.wanted - static_cast<int>(one.to->tokens.size());
      job.request = [&one](const RemoteKind& kind, int rank) {
        one.call.rank = rank;
        return draw_request(kind, one.call);
      };
      job.take = [&one, this](const RemoteKind& kind, const std::string& body) {
        const DrawReply reply = read_draw(kind, one.call, body);
        validate_drawn(reply, info_.vocab_size);
        Extension& to = *one.to;
        to.tokens.insert(to.tokens.end(), reply.tokens.begin(), reply.tokens.end());
        to.logprobs.insert(to.logprobs.end(), reply.logprobs.begin(), reply.logprobs.end());
        const auto& drawn = reply.drawn_logprobs.size() == reply.tokens.size()
                                ? reply.drawn_logprobs
                                : reply.logprobs;
        to.drawn_logprobs.insert(to.drawn_logprobs.end(), drawn.begin(), drawn.end());
        to.top.insert(to.top.end(), reply.top.begin(), reply.top.end());
        one.raw &= kind.raw_logprobs || one.plain();
        count_read(reply.prompt_tokens, one.call.tokens.size(), reply.cached_tokens, 0, to.read);
        one.call.tokens.insert(one.call.tokens.end(), reply.tokens.begin(), reply.tokens.end());
        one.call.key.position += static_cast<std::uint32_t>(reply.tokens.size());
        to.stopped = !to.tokens.empty() && std::find(one.call.stop.begin(), one.call.stop.end(),
                                                     to.tokens.back()) != one.call.stop.end();
        one.done = to.stopped || static_cast<int>(to.tokens.size()) == one.wanted;
        tokens_drawn_ += static_cast<std::int64_t>(reply.tokens.size());
      };
    }
    if (jobs.empty()) return;
    fleet_->run(jobs, cancellation);
  }
  failed("the server ends draws before {} tokens or a stop token, again and again",
         draws.front().wanted);
}

std::vector<Extension> RemoteEngine::extend(std::span<const ExtendRequest> requests,
                                            const Cancellation* cancellation) {
  std::vector<Extension> results(requests.size());
  std::vector<Draw> draws;
  std::map<std::tuple<RemoteSearch*, RemoteMemory::Node, int>, std::size_t> greedy;
  std::vector<std::size_t> copied(requests.size());  // index of the request with the same draw
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const ExtendRequest& request = requests[i];
    validate_extension(request, i);
    if (!request.mix.empty())
      bad_input("request {}: a remote engine cannot draw from a mixture of prompts", i);
    const RemoteSequence& sequence = remote_of(request.sequence, *fleet_, "sequence", i);
    std::int64_t room = info_.max_length - sequence.size;
    for (const Sequence* follower : request.followers)
      room = std::min(room, info_.max_length - remote_of(follower, *fleet_, "follower", i).size);
    const int wanted = static_cast<int>(std::clamp<std::int64_t>(room, 0, request.max_tokens));
    results[i].full = wanted < request.max_tokens;
    copied[i] = i;
    if (wanted == 0) continue;
    if (request.sampling.temperature == 0) {
      const auto [place, fresh] =
          greedy.emplace(std::tuple(sequence.search.get(), sequence.node, wanted), i);
      copied[i] = place->second;
      if (!fresh) continue;
    }
    Draw& one = draws.emplace_back();
    one.search = sequence.search.get();
    one.call = {.tokens = sequence.search->memory.tokens(sequence.node),
                .sampling = request.sampling,
                .key = request.key,
                .stop = request.stop,
                .top = request.top,
                .salt = sequence.search->salt};
    one.wanted = wanted;
    one.to = &results[i];
  }
  draw(draws, cancellation);
  std::vector<char> raw(requests.size(), 1);
  for (const Draw& one : draws) raw[static_cast<std::size_t>(one.to - results.data())] = one.raw;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (copied[i] != i) {
      const bool full = results[i].full;
      results[i] = results[copied[i]];
      results[i].full = full;
      results[i].read = {};
      raw[i] = raw[copied[i]];
    }
    results[i].full &= !results[i].stopped;
    if (requests[i].top > 0 && results[i].top.size() != results[i].tokens.size())
      failed("the server gives no likeliest tokens beside those it draws");
  }

  // What was drawn is known under the sequence, and read under its followers.
  std::vector<RemoteScoring> scorings;
  std::vector<ReadTokens> own(requests.size());  // of sequences that are scored themselves
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Extension& result = results[i];
    const RemoteSequence& sequence = remote_of(requests[i].sequence, *fleet_, "sequence", i);
    const auto add = [&](const RemoteSequence& reader, std::vector<float>* to, ReadTokens* read) {
      scorings.push_back({reader.search.get(), reader.node, result.tokens, 0, to, nullptr, read});
    };
    result.follower_logprobs.resize(requests[i].followers.size());
    if (result.tokens.empty()) continue;
    if (raw[i]) {
      RemoteMemory& memory = sequence.search->memory;
      const auto nodes = memory.path(sequence.node, result.tokens);
      for (std::size_t t = 0; t < nodes.size(); ++t)
        memory.set_logprob(nodes[t], result.logprobs[t]);
    } else {
      add(sequence, &result.logprobs, &own[i]);
    }
    for (std::size_t f = 0; f < requests[i].followers.size(); ++f)
      add(remote_of(requests[i].followers[f], *fleet_, "follower", i), &result.follower_logprobs[f],
          &result.read);
  }
  run_scorings(*fleet_, scorings, cancellation);

  for (std::size_t i = 0; i < requests.size(); ++i) {
    Extension& result = results[i];
    // These tokens were read once more; the caller counts them as drawn only.
    if (!raw[i]) own[i].computed += std::int64_t(result.tokens.size()) - own[i].remembered;
    own[i].remembered = 0;
    result.read.add(own[i]);
    const auto grow = [&](const Sequence* sequence) {
      RemoteSequence& remote = remote_of(sequence, *fleet_, "sequence", i);
      for (const TokenId token : result.tokens)
        remote.node = remote.search->memory.child(remote.node, token);
      remote.size += static_cast<std::int64_t>(result.tokens.size());
    };
    grow(requests[i].sequence);
    for (const Sequence* follower : requests[i].followers) grow(follower);
    for (std::size_t t = 0; requests[i].on_token && t < result.tokens.size(); ++t)
      requests[i].on_token(
          {result.tokens[t], result.logprobs[t], requests[i].top > 0 ? &result.top[t] : nullptr});
  }
  return results;
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
    for (const TokenId token : requests[i].tokens)
      sequence.node = sequence.search->memory.child(sequence.node, token);
    sequence.size += static_cast<std::int64_t>(requests[i].tokens.size());
    if (requests[i].read) requests[i].read->add(read[i]);
  }
  return results;
}

}  // namespace counterbeam
