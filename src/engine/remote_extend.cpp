#include "engine/remote_extend.h"

#include <algorithm>

#include "engine/remote_scoring.h"
#include "engine/remote_sequence.h"
#include "engine/validate.h"

namespace counterbeam {
namespace {

bool draws_unchanged(const Sampling& sampling) {
  const auto [temperature, top_p, top_k, min_p] = sampling;
  return temperature == 1 && top_p == 1 && top_k == 0 && min_p == 0;
}

}  // namespace

RemoteExtend::RemoteExtend(RemoteFleet& fleet, const EngineInfo& info,
                           std::span<const ExtendRequest> requests,
                           std::atomic<std::int64_t>& tokens_drawn)
    : fleet_(fleet),
      info_(info),
      requests_(requests),
      tokens_drawn_(tokens_drawn),
      drawn_by_(requests.size()),
      raw_(requests.size(), 1),
      results_(requests.size()) {
  for (std::size_t i = 0; i < requests.size(); ++i) plan(i);
}

// Without randomness, requests for the same tokens have one draw.
void RemoteExtend::plan(std::size_t index) {
  const ExtendRequest& request = requests_[index];
  validate_extension(request, index);
  if (!request.mix.empty())
    bad_input("request {}: a remote engine cannot draw from a mixture of prompts", index);
  const RemoteSequence& sequence = remote_of(request.sequence, fleet_, "sequence", index);
  std::int64_t room = info_.max_length - sequence.size;
  for (const Sequence* follower : request.followers)
    room = std::min(room, info_.max_length - remote_of(follower, fleet_, "follower", index).size);
  const int wanted = static_cast<int>(std::clamp<std::int64_t>(room, 0, request.max_tokens));
  results_[index].full = wanted < request.max_tokens;
  drawn_by_[index] = index;
  if (wanted == 0) return;
  for (const Draw& other : draws_) {
    const ExtendRequest& earlier = requests_[other.request];
    if (request.sampling.temperature != 0 || earlier.sampling.temperature != 0) continue;
    if (other.search == sequence.search.get() && other.wanted == wanted &&
        earlier.stop == request.stop && earlier.top == request.top &&
        remote_of(earlier.sequence, fleet_, "sequence", index).node == sequence.node) {
      drawn_by_[index] = other.request;
      return;
    }
  }
  Draw& one = draws_.emplace_back();
  one.request = index;
  one.search = sequence.search.get();
  one.wanted = wanted;
  one.call = {.tokens = sequence.search->memory.tokens(sequence.node),
              .sampling = request.sampling,
              .key = request.key,
              .stop = request.stop,
              .top = request.top,
              .salt = sequence.search->salt};
}

std::vector<Extension> RemoteExtend::run(const Cancellation* cancellation) {
  draw(cancellation);
  copy_draws();
  score(cancellation);
  grow();
  return std::move(results_);
}

void RemoteExtend::draw(const Cancellation* cancellation) {
  constexpr int kMostCalls = 8;  // a server that ends early each time is broken
  for (int round = 0; round < kMostCalls; ++round) {
    std::vector<RemoteJob> jobs;
    for (Draw& one : draws_) {
      if (one.done) continue;
      one.call.max_tokens = one.wanted - static_cast<int>(results_[one.request].tokens.size());
      RemoteJob& job = jobs.emplace_back();
      job.search = one.search;
      job.request = [&one](const RemoteKind& kind, int rank) {
        one.call.rank = rank;
        return draw_request(kind, one.call);
      };
      job.take = [&one, this](const RemoteKind& kind, const std::string& body) {
        take(one, kind, body);
      };
    }
    if (jobs.empty()) return;
    fleet_.run(jobs, cancellation);
  }
  failed("the server repeatedly ends draws before {} tokens and without a stop token",
         draws_.front().wanted);
}

void RemoteExtend::take(Draw& one, const RemoteKind& kind, const std::string& body) {
  const DrawReply reply = read_draw(kind, one.call, body);
  validate_drawn(reply, info_.vocab_size);
  Extension& to = results_[one.request];
  const auto append = [](auto& all, const auto& fresh) {
    all.insert(all.end(), fresh.begin(), fresh.end());
  };
  append(to.tokens, reply.tokens);
  append(to.logprobs, reply.logprobs);
  append(to.drawn_logprobs, reply.drawn_logprobs.size() == reply.tokens.size()
                                ? reply.drawn_logprobs
                                : reply.logprobs);
  append(to.top, reply.top);
  if (!kind.raw_logprobs && !draws_unchanged(one.call.sampling)) raw_[one.request] = 0;
  count_read(reply.prompt_tokens, one.call.tokens.size(), reply.cached_tokens, 0, to.read);
  append(one.call.tokens, reply.tokens);
  one.call.key.position += static_cast<std::uint32_t>(reply.tokens.size());
  const std::vector<TokenId>& stop = one.call.stop;
  to.stopped =
      !to.tokens.empty() && std::find(stop.begin(), stop.end(), to.tokens.back()) != stop.end();
  one.done = to.stopped || static_cast<int>(to.tokens.size()) == one.wanted;
  tokens_drawn_ += static_cast<std::int64_t>(reply.tokens.size());
}

void RemoteExtend::copy_draws() {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    Extension& result = results_[i];
    if (drawn_by_[i] != i) {
      const bool full = result.full;
      result = results_[drawn_by_[i]];
      result.full = full;
      result.read = {};
      raw_[i] = raw_[drawn_by_[i]];
    }
    result.full &= !result.stopped;
    if (requests_[i].top > 0 && result.top.size() != result.tokens.size())
      failed("the server gives no likeliest tokens beside those it draws");
  }
}

// What was drawn is known under the sequence, unless the server's log-probabilities are those after
// temperature, and is read under its followers.
void RemoteExtend::score(const Cancellation* cancellation) {
  std::vector<RemoteScoring> scorings;
  std::vector<ReadTokens> own(requests_.size());  // of sequences that are scored themselves
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    Extension& result = results_[i];
    const std::vector<Sequence*>& followers = requests_[i].followers;
    result.follower_logprobs.resize(followers.size());
    if (result.tokens.empty()) continue;
    const auto add = [&](const RemoteSequence& reader, std::vector<float>* to, ReadTokens* read) {
      scorings.push_back({reader.search.get(), reader.node, result.tokens, 0, to, nullptr, read});
    };
    const RemoteSequence& sequence = remote_of(requests_[i].sequence, fleet_, "sequence", i);
    if (raw_[i]) {
      RemoteMemory& memory = sequence.search->memory;
      const auto nodes = memory.path(sequence.node, result.tokens);
      for (std::size_t t = 0; t < nodes.size(); ++t)
        memory.set_logprob(nodes[t], result.logprobs[t]);
    } else {
      add(sequence, &result.logprobs, &own[i]);
    }
    for (std::size_t f = 0; f < followers.size(); ++f)
      add(remote_of(followers[f], fleet_, "follower", i), &result.follower_logprobs[f],
          &result.read);
  }
  run_scorings(fleet_, scorings, cancellation);
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    // These tokens were read once more; the caller counts them as drawn only.
    if (!raw_[i])
      own[i].computed += static_cast<std::int64_t>(results_[i].tokens.size()) - own[i].remembered;
    own[i].remembered = 0;
    results_[i].read.add(own[i]);
  }
}

void RemoteExtend::grow() {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const ExtendRequest& request = requests_[i];
    const Extension& result = results_[i];
    remote_of(request.sequence, fleet_, "sequence", i).append(result.tokens);
    for (const Sequence* follower : request.followers)
      remote_of(follower, fleet_, "follower", i).append(result.tokens);
    for (std::size_t t = 0; request.on_token && t < result.tokens.size(); ++t)
      request.on_token(
          {result.tokens[t], result.logprobs[t], request.top > 0 ? &result.top[t] : nullptr});
  }
}

}  // namespace counterbeam
