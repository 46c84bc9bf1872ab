// POST /inference/v1/generate: token ids in, token ids out. vLLM has it with --enable-scale-out,
// and Counterbeam's own server always. Counterbeam takes a draw_key beside the seed, and gives the
// log-probabilities that tokens were drawn with.
#include <algorithm>

#include "base/json_cursor.h"
#include "engine/remote_apis.h"
#include "engine/remote_json.h"

namespace counterbeam {

namespace rj = remote_json;

std::vector<std::string> rank_headers(int rank) {
  if (rank < 0) return {};
  return {fmt::format("X-data-parallel-rank: {}", rank)};
}

RemoteRequest tokens_draw_request(const RemoteKind& kind, const DrawCall& call) {
  const auto [temperature, top_p, top_k, min_p] = call.sampling;
  constexpr int kMostLogprobs = 20;  // vLLM's default --max-logprobs
  Json sampling = {{"max_tokens", call.max_tokens},
                   {"temperature", temperature},
                   {"top_p", top_p},
                   {"top_k", top_k},
                   {"min_p", min_p},
                   {"repetition_penalty", 1},
                   {"seed", seed_of(call.key)},
                   {"logprobs", call.top > 0 ? std::min(call.top + 1, kMostLogprobs) : 0},
                   {"detokenize", false},
                   {"ignore_eos", true},
                   {"stop_token_ids", call.stop}};
  if (call.only) sampling["allowed_token_ids"] = {*call.only};
  if (kind.keyed)
    sampling["draw_key"] = {{"seed", call.key.seed},
                            {"question", call.key.question},
                            {"block", call.key.block},
                            {"beam", call.key.beam},
                            {"position", call.key.position}};
  Json body = {{"sampling_params", std::move(sampling)}};
  if (!kind.model.empty()) body["model"] = kind.model;
  if (!call.salt.empty()) body["cache_salt"] = call.salt;
  return {"/inference/v1/generate", rj::with_ids("token_ids", call.tokens, body),
          rank_headers(call.rank)};
}

namespace {

// vLLM writes "token_id": 5, others "token": "token_id:5".
std::optional<TokenId> token_of(const Json& entry) {
  const Json* id = rj::find(entry, "token_id");
  return id ? std::optional(rj::id_of(*id)) : rj::labelled_id(rj::find(entry, "token"));
}

}  // namespace

DrawReply tokens_read_draw(const DrawCall& call, const Json& json) {
  DrawReply reply;
  const Json& choice = rj::first(json, "choices");
  reply.tokens = rj::ids_of(rj::array(choice, "token_ids"));
  const Json& content = rj::array(rj::object(choice, "logprobs"), "content");
  if (content.size() != reply.tokens.size())
    rj::bad_reply("the reply has {} tokens and {} log-probabilities", reply.tokens.size(),
                  content.size());
  for (std::size_t i = 0; i < content.size(); ++i) {
    const Json& one = content[i];
    const Json* logprob = rj::find(one, "logprob");
    const auto token = token_of(one);
    if (!logprob) rj::bad_reply("a drawn token has no logprob in the reply");
    if (token && *token != reply.tokens[i])
      rj::bad_reply("the log-probabilities of the reply belong to other tokens");
    reply.logprobs.push_back(rj::needed_logprob(*logprob));
    if (const Json* drawn = rj::find(one, "drawn_logprob"))
      reply.drawn_logprobs.push_back(rj::needed_logprob(*drawn));
    if (call.top == 0) continue;
    TopTokens top;
    if (const Json* list = rj::find(one, "top_logprobs"); list && list->is_array())
      for (const Json& other : *list) {
        const auto label = token_of(other);
        const Json* value = rj::find(other, "logprob");
        if (label && value) top.push_back({*label, rj::needed_logprob(*value)});
      }
    rj::keep_likeliest(top, call.top);
    reply.top.push_back(std::move(top));
  }
  const Json* finish = rj::find(choice, "finish_reason");
  reply.cut = finish && (*finish == "abort" || *finish == "error");
  if (const Json* keyed = rj::find(json, "keyed")) reply.keyed = *keyed == true;
  const rj::CountedUsage usage = rj::usage_of(json);
  reply.prompt_tokens = usage.prompt_tokens;
  reply.cached_tokens = usage.cached_tokens;
  return reply;
}

RemoteRequest tokens_score_request(const RemoteKind& kind, const ScoreCall& call) {
  Json sampling = {{"max_tokens", 1}, {"temperature", 0}, {"detokenize", false}};
  if (kind.score == ScoreWay::Rows && call.top == 0) {
    Json ids = Json::array();
    for (std::size_t i = call.from; i < call.tokens.size(); ++i)
      ids.push_back(Json::array({call.tokens[i]}));
    sampling["prompt_logprob_token_ids"] = std::move(ids);
    sampling["prompt_logprob_start"] = call.from - 1;
    sampling["skip_reading_prefix_cache"] = !call.use_cache;
  } else {
    sampling["prompt_logprobs"] = call.top;
    if (kind.score == ScoreWay::Cached && call.use_cache)
      sampling["skip_reading_prefix_cache"] = false;
    if (kind.score == ScoreWay::Whole) {
      sampling["max_tokens"] = 0;
      sampling["prompt_logprob_start"] = call.from - 1;
    }
  }
  Json body = {{"sampling_params", std::move(sampling)}};
  if (!kind.model.empty()) body["model"] = kind.model;
  if (!call.salt.empty()) body["cache_salt"] = call.salt;
  return {"/inference/v1/generate", rj::with_ids("token_ids", call.tokens, body),
          rank_headers(call.rank)};
}

namespace {

// {"usage", "prompt_logprobs": the last `wanted` of them}. A reply holds a row for every token of
// the prompt, and a tree of them all would take longer than everything else that is done for a
// block.
Json parts_of_score(std::string_view body, std::size_t wanted, std::size_t most) {
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  if (first == body.npos || body[first] != '{') return rj::parsed(body);  // says what is wrong
  Json parts = Json::object();
  try {
    JsonCursor cursor(body, "the reply", "is it cut off?");
    cursor.object("the reply", [&](const std::string& key) {
      if (key == "usage") {
        parts[key] = parse_json(cursor.raw(), "the reply");
      } else if (key == "prompt_logprobs" && cursor.peek() == '[') {
        std::vector<std::string_view> rows;
        cursor.array(key, [&] { rows.push_back(cursor.raw()); });
        if (rows.size() > most)
          rj::bad_reply("prompt_logprobs has {} entries for {} tokens", rows.size(), most);
        parts[key] = Json::array();
        for (std::size_t i = rows.size() - std::min(wanted, rows.size()); i < rows.size(); ++i)
          parts[key].push_back(parse_json(rows[i], "the reply"));
      } else {
        cursor.skip();
      }
    });
    cursor.end();
  } catch (const Error& error) {
    rj::bad_reply("{}", error.what());
  }
  return parts;
}

}  // namespace

ScoreReply tokens_read_score(const RemoteKind& kind, const ScoreCall& call, std::string_view body) {
  const bool by_ids = kind.score == ScoreWay::Rows && call.top == 0;
  const std::size_t wanted = call.tokens.size() - call.from;
  ScoreReply reply;
  const Json json = by_ids ? rj::parsed(body) : parts_of_score(body, wanted, call.tokens.size());
  const rj::CountedUsage usage = rj::usage_of(json);
  reply.prompt_tokens = usage.prompt_tokens;
  reply.cached_tokens = usage.cached_tokens;
  if (!by_ids) {
    rj::read_prompt_rows(rj::array(json, "prompt_logprobs"), call, reply);
    return reply;
  }
  // The values as .npy in base64; null where the cache reached beyond the first row asked for.
  constexpr const char* kValues = "prompt_token_id_logprobs";
  if (!json.contains(kValues)) rj::bad_reply("prompt_logprob_token_ids brought no values");
  const Json* values = rj::find(json, kValues);
  if (!values) {
    reply.logprobs.resize(wanted);
    return reply;
  }
  if (!values->is_string()) rj::bad_reply("{} is no text in the reply", kValues);
  for (const double value : npy_values(values->get_ref<const std::string&>(), wanted))
    reply.logprobs.push_back(rj::logprob_of(value));
  return reply;
}

}  // namespace counterbeam
