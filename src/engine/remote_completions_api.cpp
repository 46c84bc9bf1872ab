// POST /v1/completions with prompts of token ids. Drawn tokens come back as ids (return_token_ids,
// or tokens written "token_id:N"); given ones are scored by prompt_logprobs or by echo.
#include "engine/remote_apis.h"
#include "engine/remote_json.h"

namespace counterbeam {

namespace rj = remote_json;

RemoteRequest completions_draw_request(const RemoteKind& kind, const DrawCall& call) {
  const auto [temperature, top_p, top_k, min_p] = call.sampling;
  Json body = {{"model", kind.model},         {"max_tokens", call.max_tokens},
               {"temperature", temperature},  {"top_p", top_p},
               {"seed", seed_of(call.key)},   {"logprobs", call.top},
               {"return_token_ids", true},    {"return_tokens_as_token_ids", true},
               {"stop_token_ids", call.stop}, {"ignore_eos", true},
               {"skip_special_tokens", false}};
  if (top_k > 0) body["top_k"] = top_k;
  if (min_p > 0) body["min_p"] = min_p;
  if (call.only) body["allowed_token_ids"] = {*call.only};
  if (!call.salt.empty()) body["cache_salt"] = call.salt;
  return {"/v1/completions", rj::with_ids("prompt", call.tokens, body), rank_headers(call.rank)};
}

DrawReply completions_read_draw(const DrawCall& call, const Json& json) {
  DrawReply reply;
  const Json& choice = rj::first(json, "choices");
  const Json& logprobs = rj::object(choice, "logprobs");
  for (const Json& one : rj::array(logprobs, "token_logprobs"))
    reply.logprobs.push_back(rj::needed_logprob(one));
  if (const Json* ids = rj::find(choice, "token_ids"); ids && ids->is_array()) {
    reply.tokens = rj::ids_of(*ids);
  } else {
    for (const Json& label : rj::array(logprobs, "tokens")) {
      const auto id = rj::labelled_id(&label);
      if (!id) rj::bad_reply("the reply gives no token ids (return_token_ids is not understood)");
      reply.tokens.push_back(*id);
    }
  }
  if (call.top > 0) {
    const Json* list = rj::find(logprobs, "top_logprobs");
    for (std::size_t i = 0; list && list->is_array() && i < list->size(); ++i) {
      TopTokens top;
      if ((*list)[i].is_object())
        for (const auto& [label, value] : (*list)[i].items()) {
          const Json name = label;
          if (const auto id = rj::labelled_id(&name))
            top.push_back({*id, rj::needed_logprob(value)});
        }
      rj::keep_likeliest(top, call.top);
      reply.top.push_back(std::move(top));
    }
    if (reply.top.size() != reply.tokens.size()) reply.top.clear();
  }
  const Json* finish = rj::find(choice, "finish_reason");
  reply.cut = finish && (*finish == "abort" || *finish == "error");
  const rj::CountedUsage usage = rj::usage_of(json);
  reply.prompt_tokens = usage.prompt_tokens;
  reply.cached_tokens = usage.cached_tokens;
  return reply;
}

RemoteRequest completions_score_request(const RemoteKind& kind, const ScoreCall& call) {
  Json body = {{"model", kind.model}, {"temperature", 0}};
  if (kind.echo && call.top == 0) {
    body["echo"] = true;
    body["max_tokens"] = 0;
    body["logprobs"] = 0;
    body["return_tokens_as_token_ids"] = true;
  } else {
    body["max_tokens"] = 1;
    body["prompt_logprobs"] = call.top;
  }
  if (!call.salt.empty()) body["cache_salt"] = call.salt;
  return {"/v1/completions", rj::with_ids("prompt", call.tokens, body), rank_headers(call.rank)};
}

ScoreReply completions_read_score(const RemoteKind& kind, const ScoreCall& call, const Json& json) {
  ScoreReply reply;
  const rj::CountedUsage usage = rj::usage_of(json);
  reply.prompt_tokens = usage.prompt_tokens;
  reply.cached_tokens = usage.cached_tokens;
  const Json& choice = rj::first(json, "choices");
  if (!kind.echo || call.top > 0) {
    rj::read_prompt_rows(rj::array(choice, "prompt_logprobs"), call, reply);
    return reply;
  }
  const Json& logprobs = rj::object(choice, "logprobs");
  const Json& values = rj::array(logprobs, "token_logprobs");
  if (values.size() != call.tokens.size())
    rj::bad_reply("echo gave {} log-probabilities for a prompt of {} tokens", values.size(),
                  call.tokens.size());
  const Json* labels = rj::find(logprobs, "tokens");
  for (std::size_t i = call.from; i < values.size(); ++i) {
    const auto id = labels && labels->is_array() && labels->size() == values.size()
                        ? rj::labelled_id(&(*labels)[i])
                        : std::nullopt;
    if (id && *id != call.tokens[i]) rj::bad_reply("echo gave other tokens than those sent");
    reply.logprobs.push_back(rj::logprob_of(values[i]));
  }
  return reply;
}

}  // namespace counterbeam
