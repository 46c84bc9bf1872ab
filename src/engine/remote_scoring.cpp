#include "engine/remote_scoring.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "engine/remote_json.h"

namespace counterbeam {
namespace {

// Tokens of one path that have to be asked for, for all scorings that want them.
struct Wanted {
  RemoteSearch* search = nullptr;
  ScoreCall call;
  std::vector<RemoteMemory::Node> nodes{};  // of tokens[from..]
  std::vector<std::optional<float>> values{};
  std::vector<TopTokens> top{};
  ReadTokens* read = nullptr;
  bool refused = false;  // the reply could not be read at all

  bool complete() const {
    return !values.empty() && std::all_of(values.begin(), values.end(),
                                          [](const auto& value) { return value.has_value(); });
  }
};

// One-token requests are cheaper than the whole prompt for so many rows.
constexpr std::size_t kFewRows = 4;

class ScoringRounds {
 public:
  ScoringRounds(RemoteFleet& fleet, const Cancellation* cancellation)
      : fleet_(fleet), cancellation_(cancellation) {}

  void run(std::vector<Wanted>& all) {
    ask(all, true);
    share(all);
    std::vector<Wanted*> missing = incomplete(all);
    if (missing.empty()) return;
    ask_again(missing);
    for (const Wanted* one : incomplete(all))
      failed("the server gave no log-probability for {} of {} tokens, even without its cache",
             std::count(one->values.begin(), one->values.end(), std::nullopt), one->values.size());
  }

 private:
  static std::vector<Wanted*> incomplete(std::vector<Wanted>& all) {
    std::vector<Wanted*> missing;
    for (Wanted& one : all)
      if (!one.complete()) missing.push_back(&one);
    return missing;
  }

  // Rows that one request found in the cache were computed by another, as a rule of this very
  // round: beams share the beginnings of their continuations.
  static void share(std::vector<Wanted>& all) {
    for (const Wanted& one : all)
      for (std::size_t i = 0; i < one.nodes.size(); ++i)
        if (one.values[i]) one.search->memory.set_logprob(one.nodes[i], *one.values[i]);
    for (Wanted& one : all)
      for (std::size_t i = 0; i < one.nodes.size() && one.call.top == 0; ++i)
        if (!one.values[i]) one.values[i] = one.search->memory.logprob(one.nodes[i]);
  }

  void ask(std::vector<Wanted>& all, bool use_cache) {
    std::vector<RemoteJob> jobs;
    for (Wanted& one : all) add(jobs, one, use_cache);
    fleet_.run(jobs, cancellation_);
  }

  // What the first round left out. Rows that are few are had one by one, over the cache.
  void ask_again(std::span<Wanted* const> missing) {
    std::vector<RemoteJob> jobs;
    for (Wanted* one : missing) {
      std::vector<std::size_t> places;
      for (std::size_t i = 0; i < one->values.size(); ++i)
        if (!one->values[i]) places.push_back(i);
      const bool few = !one->refused && places.size() <= kFewRows && one->call.top == 0;
      if (few && steps_known()) {
        for (const std::size_t place : places) add_step(jobs, *one, place);
      } else {
        add(jobs, *one, false);
      }
    }
    fleet_.run(jobs, cancellation_);
  }

  bool steps_known() const {
    for (const RemoteFleet::Server& server : fleet_.servers())
      if (server.alive && !server.finding.kind.steps) return false;
    return true;
  }

  void add(std::vector<RemoteJob>& jobs, Wanted& one, bool use_cache) {
    one.values.resize(one.nodes.size());
    if (by_steps()) {
      if (one.call.top > 0)
        failed("this server gives no likeliest tokens at positions of given ones");
      for (std::size_t i = 0; i < one.nodes.size(); ++i) add_step(jobs, one, i);
      return;
    }
    RemoteJob& job = jobs.emplace_back();
    job.search = one.search;
    const auto call = [&one, use_cache](int rank) {
      ScoreCall own = one.call;
      own.use_cache = use_cache;
      own.rank = rank;
      return own;
    };
    job.request = [call](const RemoteKind& kind, int rank) {
      if (kind.score == ScoreWay::None || kind.score == ScoreWay::Steps)
        failed("a server of --engine gives no log-probabilities of given tokens");
      return score_request(kind, call(rank));
    };
    job.take = [&one, call, use_cache](const RemoteKind& kind, const std::string& body) {
      ScoreReply reply;
      try {
        reply = read_score(kind, call(-1), body);
      } catch (const BadReply&) {
        if (kind.score != ScoreWay::Cached || !use_cache) throw;
        one.refused = true;  // a cached row may have broken the whole reply
        return;
      }
      one.refused = false;
      for (std::size_t i = 0; i < reply.logprobs.size(); ++i)
        if (reply.logprobs[i]) one.values[i] = reply.logprobs[i];
      if (one.call.top > 0) one.top = std::move(reply.top);
      count_read(reply.prompt_tokens, one.call.tokens.size(), reply.cached_tokens,
                 use_cache ? static_cast<std::int64_t>(one.nodes.size()) : 0, *one.read);
    };
    job.refused = [&one, use_cache](const RemoteKind& kind, int status, const std::string& body) {
      if (kind.score != ScoreWay::Cached || !use_cache || !is_nan_refusal(status, body))
        return false;
      return one.refused = true;
    };
  }

  bool by_steps() const {
    bool steps = false;
    for (const RemoteFleet::Server& server : fleet_.servers())
      steps |= server.alive && server.finding.kind.score == ScoreWay::Steps;
    return steps && steps_known();
  }

  // The log-probability of one token: a draw with nothing else allowed.
  static void add_step(std::vector<RemoteJob>& jobs, Wanted& one, std::size_t place) {
    RemoteJob& job = jobs.emplace_back();
    job.search = one.search;
    const std::size_t at = one.call.from + place;
    DrawCall call{.tokens = {}, .salt = one.call.salt, .only = one.call.tokens[at]};
    call.tokens.assign(one.call.tokens.begin(),
                       one.call.tokens.begin() + static_cast<std::ptrdiff_t>(at));
    job.request = [call](const RemoteKind& kind, int rank) {
      DrawCall own = call;
      own.rank = rank;
      return draw_request(kind, own);
    };
    job.take = [&one, call, place](const RemoteKind& kind, const std::string& body) {
      const DrawReply reply = read_draw(kind, call, body);
      if (reply.tokens.size() != 1 || reply.tokens[0] != *call.only)
        throw BadReply("another token was drawn than the only one that is allowed");
      one.values[place] = reply.logprobs[0];
      count_read(reply.prompt_tokens, call.tokens.size(), reply.cached_tokens, 1, *one.read);
    };
  }

  RemoteFleet& fleet_;
  const Cancellation* cancellation_;
};

// The first token of a path whose log-probability is not known.
std::size_t first_unknown(const RemoteMemory& memory, std::span<const RemoteMemory::Node> nodes) {
  std::size_t known = 0;
  while (known < nodes.size() && memory.logprob(nodes[known])) ++known;
  return known;
}

}  // namespace

void run_scorings(RemoteFleet& fleet, std::span<RemoteScoring> scorings,
                  const Cancellation* cancellation) {
  std::vector<Wanted> wanted;
  std::vector<std::vector<RemoteMemory::Node>> paths;
  std::map<std::tuple<RemoteSearch*, RemoteMemory::Node, int>, std::size_t> places;
  for (const RemoteScoring& one : scorings) {
    RemoteMemory& memory = one.search->memory;
    const auto& nodes = paths.emplace_back(memory.path(one.node, one.tokens));
    const std::size_t from = one.top > 0 ? 0 : first_unknown(memory, nodes);
    one.read->remembered += static_cast<std::int64_t>(from);
    if (from == nodes.size()) continue;
    const auto [place, fresh] =
        places.emplace(std::tuple(one.search, nodes.back(), one.top), wanted.size());
    if (!fresh) {
      one.read->remembered += static_cast<std::int64_t>(nodes.size() - from);
      continue;
    }
    Wanted& item = wanted.emplace_back();
    item.search = one.search;
    item.call.tokens = memory.tokens(nodes.back());
    item.call.from = item.call.tokens.size() - (nodes.size() - from);
    item.call.top = one.top;
    item.call.salt = one.search->salt;
    item.nodes.assign(nodes.begin() + static_cast<std::ptrdiff_t>(from), nodes.end());
    item.read = one.read;
  }
  if (!wanted.empty()) ScoringRounds(fleet, cancellation).run(wanted);
  for (const Wanted& item : wanted)
    for (std::size_t i = 0; i < item.nodes.size(); ++i)
      item.search->memory.set_logprob(item.nodes[i], *item.values[i]);
  for (std::size_t s = 0; s < scorings.size(); ++s) {
    RemoteScoring& one = scorings[s];
    one.to->clear();
    for (const RemoteMemory::Node node : paths[s])
      one.to->push_back(*one.search->memory.logprob(node));
    if (one.top == 0) continue;
    const Wanted& item = wanted[places.at(std::tuple(one.search, paths[s].back(), one.top))];
    if (item.top.size() != paths[s].size())
      failed("this server gives no likeliest tokens at positions of given ones");
    *one.top_to = item.top;
  }
}

void count_read(std::int64_t said, std::size_t sent, std::optional<std::int64_t> cached,
                std::int64_t scored, ReadTokens& read) {
  const std::int64_t all = said > 0 ? said : static_cast<std::int64_t>(sent);
  const std::int64_t held = std::clamp<std::int64_t>(cached.value_or(0), 0, all);
  read.cached += held;
  read.computed += std::max<std::int64_t>(0, all - held - scored);
}

void validate_drawn(const DrawReply& reply, int vocab_size) {
  for (const TokenId token : reply.tokens)
    if (token >= vocab_size)
      throw BadReply(
          fmt::format("it drew token {}, but the model of --model has only {}; do both "
                      "have the same model?",
                      token, vocab_size));
}

}  // namespace counterbeam
