// Requests as the servers document them, and replies as they were seen: read or refused, each with
// its reason.
#include "engine/remote_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "engine/remote_apis.h"

namespace counterbeam {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

RemoteKind kind_of(RemoteApi api, ScoreWay way) {
  RemoteKind kind;
  kind.api = api;
  kind.score = way;
  kind.model = "m";
  return kind;
}

Json body_of(const RemoteRequest& request) {
  return parse_json(request.body, "request");
}

std::string refusal(const std::function<void()>& read) {
  try {
    read();
  } catch (const BadReply& bad) {
    return bad.what();
  }
  return "read";
}

TEST(RemoteProtocol, ADrawFromVllmByTokenIds) {
  DrawCall call{.tokens = {4, 5, 6}, .max_tokens = 16, .stop = {1023}, .salt = "S", .rank = 2};
  call.sampling = {.temperature = 0.5f, .top_p = 1, .top_k = 3, .min_p = 0};
  const RemoteRequest request = draw_request(kind_of(RemoteApi::Tokens, ScoreWay::Cached), call);
  EXPECT_EQ(request.path, "/inference/v1/generate");
  EXPECT_THAT(request.headers, ElementsAre("X-data-parallel-rank: 2"));
  const Json body = body_of(request);
  EXPECT_EQ(body["token_ids"], Json({4, 5, 6}));
  EXPECT_EQ(body["cache_salt"], "S");
  const Json& how = body["sampling_params"];
  EXPECT_EQ(how["max_tokens"], 16);
  EXPECT_EQ(how["temperature"], 0.5);
  EXPECT_EQ(how["top_k"], 3);
  EXPECT_EQ(how["logprobs"], 0);
  EXPECT_EQ(how["ignore_eos"], true);
  EXPECT_EQ(how["stop_token_ids"], Json({1023}));
  EXPECT_FALSE(how.contains("draw_key"));
  EXPECT_FALSE(how.contains("allowed_token_ids"));
}

TEST(RemoteProtocol, KeysBecomeSeeds) {
  const DrawKey key{.seed = 7, .question = 1, .block = 2, .beam = 3, .position = 4};
  DrawKey other = key;
  other.beam = 4;
  EXPECT_EQ(seed_of(key), seed_of(key));
  EXPECT_NE(seed_of(key), seed_of(other));
  EXPECT_LT(seed_of(key), std::uint64_t{1} << 63);
}

TEST(RemoteProtocol, RowsAreAlignedFromTheEnd) {
  const RemoteKind kind = kind_of(RemoteApi::Tokens, ScoreWay::Cached);
  const ScoreCall call{.tokens = {1, 2, 3, 4, 5}, .from = 2};
  const Json how = body_of(score_request(kind, call))["sampling_params"];
  EXPECT_EQ(how["skip_reading_prefix_cache"], false);
  EXPECT_EQ(how["prompt_logprobs"], 0);
  const auto reply = [&](const char* rows, int cached) {
    return read_score(kind, call,
                      fmt::format(R"({{"prompt_logprobs": {}, "usage": {{"prompt_tokens": 5,
                        "prompt_tokens_details": {{"cached_tokens": {}}}}}}})",
                                  rows, cached))
        .logprobs;
  };
  const char* whole = R"([null, {"2": {"logprob": -1}}, {"3": {"logprob": -2}},
                          {"4": {"logprob": -3}}, {"5": {"logprob": -4}}])";
  EXPECT_THAT(reply(whole, 1), ElementsAre(Optional(-2.f), Optional(-3.f), Optional(-4.f)));
  // V1: rows of cached positions look well and are not.
  EXPECT_THAT(reply(whole, 2), ElementsAre(std::nullopt, Optional(-3.f), Optional(-4.f)));
  EXPECT_THAT(reply(whole, 4), ElementsAre(std::nullopt, std::nullopt, std::nullopt));
  // V2: they are missing.
  EXPECT_THAT(reply(R"([{"4": {"logprob": -3}}, {"5": {"logprob": -4}}])", 2),
              ElementsAre(std::nullopt, Optional(-3.f), Optional(-4.f)));
  // Another token's row, numbers that are no log-probabilities, nulls.
  EXPECT_THAT(reply(R"([{"9": {"logprob": -3}}, {"4": {"logprob": 3e38}}, null])", 0),
              ElementsAre(std::nullopt, std::nullopt, std::nullopt));
}

TEST(RemoteProtocol, WithoutACountOfCachedTokensNothingIsTrusted) {
  const RemoteKind kind = kind_of(RemoteApi::Tokens, ScoreWay::Cached);
  const ScoreCall call{.tokens = {1, 2, 3}, .from = 2};
  EXPECT_THAT(read_score(kind, call, R"({"prompt_logprobs": [null, {"2": {"logprob": -1}},
                                                     {"3": {"logprob": -2}}]})")
                  .logprobs,
              ElementsAre(std::nullopt));
}

TEST(RemoteProtocol, RowsByTokenIds) {
  const RemoteKind kind = kind_of(RemoteApi::Tokens, ScoreWay::Rows);
  const ScoreCall call{.tokens = {1, 2, 3, 4}, .from = 2};
  const Json how = body_of(score_request(kind, call))["sampling_params"];
  EXPECT_EQ(how["prompt_logprob_token_ids"], Json({{3}, {4}}));
  EXPECT_EQ(how["prompt_logprob_start"], 1);
  EXPECT_THAT(refusal([&] { read_score(kind, call, R"({"choices": [{}]})"); }),
              HasSubstr("brought no values"));
  EXPECT_THAT(refusal([&] {
                read_score(kind, call, R"({"choices": [{}], "prompt_token_id_logprobs": 7})");
              }),
              HasSubstr("is no text"));
  // Null: the prefix cache held rows that were asked for, so they are asked for without it.
  EXPECT_THAT(
      read_score(kind, call, R"({"choices": [{}], "prompt_token_id_logprobs": null})").logprobs,
      ElementsAre(std::nullopt, std::nullopt));
  ScoreCall again = call;
  again.use_cache = false;
  EXPECT_EQ(how["skip_reading_prefix_cache"], false);
  EXPECT_EQ(body_of(score_request(kind, again))["sampling_params"]["skip_reading_prefix_cache"],
            true);
  for (const auto& [values, message] :
       {std::pair{"!!", "not in base64"}, {"AAAA", "no .npy file"}, {"", "no .npy file"}})
    EXPECT_THAT(refusal([given = values] { npy_values(given, 2); }), HasSubstr(message));
}

TEST(RemoteProtocol, SGLangEntriesCarryTheirTokens) {
  const RemoteKind kind = kind_of(RemoteApi::SGLang, ScoreWay::Start);
  const ScoreCall call{.tokens = {1, 2, 3, 4}, .from = 2, .rank = 1};
  const RemoteRequest request = score_request(kind, call);
  EXPECT_EQ(request.path, "/generate");
  EXPECT_EQ(body_of(request)["logprob_start_len"], 1);
  EXPECT_EQ(body_of(request)["routed_dp_rank"], 1);
  EXPECT_EQ(body_of(request)["sampling_params"]["max_new_tokens"], 0);
  const auto reply = read_score(kind, call, R"({"meta_info": {"prompt_tokens": 4,
      "cached_tokens": 1, "input_token_logprobs": [[null, 2, null], [-1.5, 3, null], [-2, 4, null]]}})");
  EXPECT_THAT(reply.logprobs, ElementsAre(Optional(-1.5f), Optional(-2.f)));
  EXPECT_THAT(refusal([&] {
                read_score(
                    kind, call,
                    R"({"meta_info": {"input_token_logprobs": [[-1, 3, null], [-2, 9, null]]}})");
              }),
              HasSubstr("belong to other tokens"));
}

TEST(RemoteProtocol, EchoMustHaveTheLengthOfThePrompt) {
  RemoteKind kind = kind_of(RemoteApi::Completions, ScoreWay::Prompt);
  kind.echo = true;
  const ScoreCall call{.tokens = {1, 2, 3}, .from = 1};
  EXPECT_EQ(body_of(score_request(kind, call))["echo"], true);
  EXPECT_THAT(
      read_score(kind, call, R"({"choices": [{"logprobs": {"token_logprobs": [null, -1, -2]}}]})")
          .logprobs,
      ElementsAre(Optional(-1.f), Optional(-2.f)));
  EXPECT_THAT(refusal([&] {
                read_score(kind, call,
                           R"({"choices": [{"logprobs": {"token_logprobs": [-1, -2]}}]})");
              }),
              HasSubstr("2 log-probabilities for a prompt of 3 tokens"));
}

TEST(RemoteProtocol, TokensAfterAStopTokenAreRefused) {
  const RemoteKind kind = kind_of(RemoteApi::Completions, ScoreWay::Prompt);
  const DrawCall call{.tokens = {1}, .max_tokens = 3, .stop = {7}};
  EXPECT_THAT(
      refusal([&] {
        read_draw(
            kind, call,
            R"({"choices": [{"token_ids": [7, 8], "logprobs": {"token_logprobs": [-1, -1]}}]})");
      }),
      HasSubstr("went on after the stop token 7"));
}

TEST(RemoteProtocol, ErrorTexts) {
  EXPECT_EQ(error_text(R"({"error": {"message": "no such model"}})"), "no such model");
  EXPECT_EQ(error_text(R"({"error": "loading"})"), "loading");
  EXPECT_EQ(error_text(R"({"detail": "Not Found"})"), "Not Found");
  EXPECT_EQ(error_text(""), "no reason is given");
  EXPECT_THAT(error_text("<html>x"), HasSubstr("html"));
  EXPECT_TRUE(is_nan_refusal(400, "Out of range float values are not JSON compliant: nan"));
  EXPECT_FALSE(is_nan_refusal(400, "prompt too long"));
}

}  // namespace
}  // namespace counterbeam
