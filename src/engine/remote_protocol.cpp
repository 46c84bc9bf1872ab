// What all kinds of servers share, and the choice of the one that a request is for.
#include "engine/remote_protocol.h"

#include <algorithm>

#include "engine/remote_apis.h"
#include "engine/remote_json.h"

namespace counterbeam {

namespace remote_json {

void keep_likeliest(TopTokens& tokens, int count) {
  std::sort(tokens.begin(), tokens.end(), [](const TokenLogprob& a, const TokenLogprob& b) {
    return a.logprob != b.logprob ? a.logprob > b.logprob : a.token < b.token;
  });
  if (tokens.size() > static_cast<std::size_t>(count))
    tokens.resize(static_cast<std::size_t>(count));
}

CountedUsage usage_of(const Json& reply) {
  CountedUsage counted;
  const Json* usage = find(reply, "usage");
  if (!usage) return counted;
  if (const Json* prompt = find(*usage, "prompt_tokens"))
    counted.prompt_tokens = whole(prompt, "usage.prompt_tokens");
  if (const Json* details = find(*usage, "prompt_tokens_details"))
    if (const Json* cached = find(*details, "cached_tokens"))
      counted.cached_tokens = whole(cached, "usage.prompt_tokens_details.cached_tokens");
  return counted;
}

void read_prompt_rows(const Json& rows, const ScoreCall& call, ScoreReply& reply) {
  const std::size_t wanted = call.tokens.size() - call.from;
  reply.logprobs.assign(wanted, std::nullopt);
  if (call.top > 0) reply.top.resize(wanted);
  if (rows.size() > call.tokens.size())
    bad_reply("prompt_logprobs has {} entries for {} tokens", rows.size(), call.tokens.size());
  for (std::size_t i = 0; i < std::min(wanted, rows.size()); ++i) {
    const std::size_t place = wanted - 1 - i;
    const Json& row = rows[rows.size() - 1 - i];
    if (!row.is_object()) continue;
    const std::string own = std::to_string(call.tokens[call.from + place]);
    for (const auto& [name, value] : row.items()) {
      const Json* number = value.is_object() ? find(value, "logprob") : &value;
      const auto logprob = number ? logprob_of(*number) : std::nullopt;
      if (name == own) reply.logprobs[place] = logprob;
      if (call.top > 0 && logprob && !name.empty() && name.size() < 10 &&
          name.find_first_not_of("0123456789") == name.npos)
        reply.top[place].push_back({static_cast<TokenId>(std::stol(name)), *logprob});
    }
    if (call.top > 0) keep_likeliest(reply.top[place], call.top);
  }
}

}  // namespace remote_json

RemoteRequest draw_request(const RemoteKind& kind, const DrawCall& call) {
  switch (kind.api) {
    case RemoteApi::Tokens:
      return tokens_draw_request(kind, call);
    case RemoteApi::Completions:
      return completions_draw_request(kind, call);
    case RemoteApi::SGLang:
      return sglang_draw_request(call);
  }
  CB_CHECK(false);
}

DrawReply read_draw(const RemoteKind& kind, const DrawCall& call, std::string_view body) {
  const Json json = remote_json::parsed(body);
  DrawReply reply = kind.api == RemoteApi::Tokens        ? tokens_read_draw(call, json)
                    : kind.api == RemoteApi::Completions ? completions_read_draw(call, json)
                                                         : sglang_read_draw(call, json);
  if (reply.tokens.size() != reply.logprobs.size())
    remote_json::bad_reply("the reply has {} tokens and {} log-probabilities", reply.tokens.size(),
                           reply.logprobs.size());
  if (reply.tokens.size() > static_cast<std::size_t>(call.max_tokens))
    remote_json::bad_reply("the reply has {} tokens; {} were asked for", reply.tokens.size(),
                           call.max_tokens);
  // A server that does not know stop_token_ids, or goes on after one: the rest was never asked for.
  for (std::size_t i = 0; i + 1 < reply.tokens.size(); ++i)
    if (std::find(call.stop.begin(), call.stop.end(), reply.tokens[i]) != call.stop.end())
      remote_json::bad_reply("the server went on after the stop token {}", reply.tokens[i]);
  return reply;
}

RemoteRequest score_request(const RemoteKind& kind, const ScoreCall& call) {
  CB_CHECK(call.from >= 1 && call.from < call.tokens.size());
  switch (kind.api) {
    case RemoteApi::Tokens:
      return tokens_score_request(kind, call);
    case RemoteApi::Completions:
      return completions_score_request(kind, call);
    case RemoteApi::SGLang:
      return sglang_score_request(call);
  }
  CB_CHECK(false);
}

ScoreReply read_score(const RemoteKind& kind, const ScoreCall& call, std::string_view body) {
  ScoreReply reply = kind.api == RemoteApi::Tokens ? tokens_read_score(kind, call, body)
                     : kind.api == RemoteApi::Completions
                         ? completions_read_score(kind, call, remote_json::parsed(body))
                         : sglang_read_score(call, remote_json::parsed(body));
  // Rows that came out of vLLM's prefix cache are uninitialised memory, however they look. The row
  // of a token is computed at the token before it.
  if (kind.score == ScoreWay::Cached && call.use_cache) {
    const std::int64_t cached = reply.cached_tokens.value_or(
        static_cast<std::int64_t>(call.tokens.size()));  // not said: nothing can be trusted
    for (std::size_t i = 0; i < reply.logprobs.size(); ++i)
      if (static_cast<std::int64_t>(call.from + i) - 1 < cached) reply.logprobs[i].reset();
  }
  return reply;
}

std::string error_text(std::string_view body) {
  const Json json = Json::parse(body.substr(0, 1 << 16), nullptr, false);
  const Json* message = nullptr;
  if (json.is_object()) {
    const Json* error = remote_json::find(json, "error");
    message = error && error->is_object() ? remote_json::find(*error, "message") : error;
    if (!message) message = remote_json::find(json, "message");
    if (!message) message = remote_json::find(json, "detail");
  }
  if (message)
    return printable(message->is_string() ? message->get<std::string>() : to_line(*message), 300);
  if (body.empty()) return "no reason is given";
  return printable(body, 200);
}

bool is_nan_refusal(int status, std::string_view body) {
  return (status == 400 || status == 500) && body.find("not JSON compliant") != body.npos;
}

std::uint64_t seed_of(const DrawKey& key) {
  const Words4 words = random_words(key);
  return (std::uint64_t{words[0]} | std::uint64_t{words[1]} << 32) >> 1;
}

}  // namespace counterbeam
