// SGLang's POST /generate: input_ids in, log-probabilities with ids out. logprob_start_len keeps
// the prefix cache up to the first scored token.
#include "engine/remote_apis.h"
#include "engine/remote_json.h"

namespace counterbeam {

namespace rj = remote_json;

namespace {

// [[logprob, id, text], ...]; the logprob of a first entry may be null.
struct PairedLogprob {
  std::optional<float> logprob;
  TokenId token;
};
PairedLogprob paired(const Json& entry) {
  if (!entry.is_array() || entry.size() < 2) rj::bad_reply("a log-probability has no token id");
  return {rj::logprob_of(entry[0]), rj::id_of(entry[1])};
}

TopTokens paired_top(const Json& list, int count) {
  TopTokens top;
  if (list.is_array())
    for (const Json& entry : list)
      if (const PairedLogprob one = paired(entry); one.logprob)
        top.push_back({one.token, *one.logprob});
  rj::keep_likeliest(top, count);
  return top;
}

Json sglang_body(Json sampling, int top, const std::string& salt, int rank) {
  Json body = {{"sampling_params", std::move(sampling)},
               {"return_logprob", true},
               {"top_logprobs_num", top}};
  if (!salt.empty()) body["extra_key"] = salt;
  if (rank >= 0) body["routed_dp_rank"] = rank;
  return body;
}

}  // namespace

RemoteRequest sglang_draw_request(const DrawCall& call) {
  const auto [temperature, top_p, top_k, min_p] = call.sampling;
  Json sampling = {{"max_new_tokens", call.max_tokens},
                   {"temperature", temperature},
                   {"top_p", top_p},
                   {"top_k", top_k > 0 ? top_k : -1},
                   {"min_p", min_p},
                   {"sampling_seed", seed_of(call.key) & 0x7fffffff},
                   {"stop_token_ids", call.stop},
                   {"ignore_eos", true},
                   {"no_stop_trim", true},
                   {"skip_special_tokens", false}};
  const Json body = sglang_body(std::move(sampling), call.top, call.salt, call.rank);
  return {"/generate", rj::with_ids("input_ids", call.tokens, body), {}};
}

DrawReply sglang_read_draw(const DrawCall& call, const Json& json) {
  DrawReply reply;
  const Json& meta = rj::object(json, "meta_info");
  for (const Json& entry : rj::array(meta, "output_token_logprobs")) {
    const PairedLogprob one = paired(entry);
    if (!one.logprob) rj::bad_reply("a drawn token has no log-probability");
    reply.tokens.push_back(one.token);
    reply.logprobs.push_back(*one.logprob);
  }
  if (call.top > 0) {
    for (const Json& list : rj::array(meta, "output_top_logprobs"))
      reply.top.push_back(paired_top(list, call.top));
    if (reply.top.size() != reply.tokens.size())
      rj::bad_reply("output_top_logprobs has another length than the tokens");
  }
  const Json* finish = rj::find(meta, "finish_reason");
  const Json* type = finish ? rj::find(*finish, "type") : nullptr;
  reply.cut = type && *type == "abort";
  if (const Json* prompt = rj::find(meta, "prompt_tokens"))
    reply.prompt_tokens = rj::whole(prompt, "prompt_tokens");
  if (const Json* cached = rj::find(meta, "cached_tokens"))
    reply.cached_tokens = rj::whole(cached, "cached_tokens");
  return reply;
}

RemoteRequest sglang_score_request(const ScoreCall& call) {
  Json body =
      sglang_body({{"max_new_tokens", 0}, {"temperature", 0}}, call.top, call.salt, call.rank);
  body["logprob_start_len"] = call.from - 1;
  return {"/generate", rj::with_ids("input_ids", call.tokens, body), {}};
}

ScoreReply sglang_read_score(const ScoreCall& call, const Json& json) {
  ScoreReply reply;
  const Json& meta = rj::object(json, "meta_info");
  const Json& entries = rj::array(meta, "input_token_logprobs");
  const std::size_t wanted = call.tokens.size() - call.from;
  reply.logprobs.assign(wanted, std::nullopt);
  if (call.top > 0) reply.top.resize(wanted);
  const Json* tops = rj::find(meta, "input_top_logprobs");
  for (std::size_t i = 0; i < std::min(wanted, entries.size()); ++i) {
    const std::size_t place = wanted - 1 - i, entry = entries.size() - 1 - i;
    const PairedLogprob one = paired(entries[entry]);
    if (one.token != call.tokens[call.from + place])
      rj::bad_reply("the log-probabilities of the reply belong to other tokens");
    reply.logprobs[place] = one.logprob;
    if (call.top > 0 && tops && tops->is_array() && tops->size() == entries.size())
      reply.top[place] = paired_top((*tops)[entry], call.top);
  }
  if (const Json* prompt = rj::find(meta, "prompt_tokens"))
    reply.prompt_tokens = rj::whole(prompt, "prompt_tokens");
  if (const Json* cached = rj::find(meta, "cached_tokens"))
    reply.cached_tokens = rj::whole(cached, "cached_tokens");
  return reply;
}

}  // namespace counterbeam
