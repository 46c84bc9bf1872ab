// Replies of servers in detail, as tables: what is refused and why, what is passed over, and which
// tokens are the likeliest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "base/json.h"
#include "engine/remote_apis.h"
#include "engine/remote_fleet.h"
#include "engine/remote_protocol.h"

namespace counterbeam {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

// What a server gives in reply to a draw of up to three tokens, and what is made of it.
TEST(RemoteReplies, DrawRepliesThatAreRefused) {
  const DrawCall call{.tokens = {1}, .max_tokens = 3};
  const DrawCall with_top{.tokens = {1}, .max_tokens = 3, .top = 2};
  struct Row {
    RemoteApi api;
    bool top;
    const char *body, *message;
  };
  for (
      const Row& row : std::initializer_list<Row>{
          {RemoteApi::Completions, false,
           R"({"choices": [{"token_ids": [7, 8], "logprobs": {"token_logprobs": [-1]}}]})",
           "2 tokens and 1 log-probabilities"},
          {RemoteApi::Completions, false,
           R"({"choices": [{"token_ids": [6, 7, 8, 9], "logprobs": {"token_logprobs": [-1, -1, -1, -1]}}]})",
           "4 tokens; 3 were asked for"},
          {RemoteApi::Completions, false,
           R"({"choices": [{"token_ids": 7, "logprobs": {"tokens": ["a"], "token_logprobs": [-1]}}]})",
           "gives no token ids"},
          {RemoteApi::Tokens, false,
           R"({"choices": [{"token_ids": [7], "logprobs": {"content": []}}]})",
           "1 tokens and 0 log-probabilities"},
          {RemoteApi::Tokens, false,
           R"({"choices": [{"token_ids": [7], "logprobs": {"content": [{"token_id": 7}]}}]})",
           "has no logprob"},
          {RemoteApi::Tokens, false,
           R"({"choices": [{"token_ids": [7], "logprobs": {"content": [{"token_id": 8, "logprob": -1}]}}]})",
           "belong to other tokens"},
          {RemoteApi::SGLang, false, R"({"meta_info": {"output_token_logprobs": [-1]}})",
           "has no token id"},
          {RemoteApi::SGLang, false, R"({"meta_info": {"output_token_logprobs": [[-1]]}})",
           "has no token id"},
          {RemoteApi::SGLang, false, R"({"meta_info": {"output_token_logprobs": [[null, 7]]}})",
           "has no log-probability"},
          {RemoteApi::SGLang, true,
           R"({"meta_info": {"output_token_logprobs": [[-1, 7]], "output_top_logprobs": []}})",
           "another length than the tokens"}})
    EXPECT_THAT(refusal([&] {
                  read_draw(kind_of(row.api, ScoreWay::None), row.top ? with_top : call, row.body);
                }),
                HasSubstr(row.message))
        << row.body;
}

TEST(RemoteReplies, LikeliestTokensOfADraw) {
  const DrawCall call{.tokens = {1}, .max_tokens = 3, .top = 2};
  const auto read = [&](RemoteApi api, const char* body) {
    std::string shown;
    for (const TopTokens& tokens : read_draw(kind_of(api, ScoreWay::None), call, body).top) {
      for (const auto& [token, logprob] : tokens) shown += fmt::format("{}:{} ", token, logprob);
      shown += "|";
    }
    return shown;
  };
  // Equal ones by token; labels that are no ids are passed over.
  EXPECT_EQ(read(RemoteApi::Completions,
                 R"({"choices": [{"token_ids": [7, 8], "logprobs": {"token_logprobs": [-1, -2],
                     "top_logprobs": [{"token_id:9": -1, "token_id:7": -1, "x": 0, "token_id:5": -3}, null]}}]})"),
            "7:-1 9:-1 ||");
  EXPECT_EQ(read(RemoteApi::Completions,
                 R"({"choices": [{"token_ids": [7, 8], "logprobs": {"token_logprobs": [-1, -2],
                     "top_logprobs": [{"token_id:7": -1}]}}]})"),
            "");
  EXPECT_EQ(
      read(
          RemoteApi::Completions,
          R"({"choices": [{"token_ids": [7], "logprobs": {"token_logprobs": [-1], "top_logprobs": 3}}]})"),
      "");
  EXPECT_EQ(read(RemoteApi::Completions,
                 R"({"choices": [{"token_ids": [7], "logprobs": {"token_logprobs": [-1]}}]})"),
            "");
  EXPECT_EQ(read(RemoteApi::Tokens,
                 R"({"choices": [{"token_ids": [7, 8], "logprobs": {"content": [
                     {"token": "token_id:7", "logprob": -1, "top_logprobs": [{"token": "token_id:7", "logprob": -1},
                      {"token": "x", "logprob": 0}, {"token_id": 3}]},
                     {"token": "token_id:8", "logprob": -2, "top_logprobs": "none"}]}}]})"),
            "7:-1 ||");
  EXPECT_EQ(read(RemoteApi::SGLang,
                 R"({"meta_info": {"output_token_logprobs": [[-1, 7, null], [-2, 8, null]],
                     "output_top_logprobs": [[[-1, 7, null], [null, 9, null]], null]}})"),
            "7:-1 ||");
}

TEST(RemoteReplies, DrawsThatTheServerCutShort) {
  const DrawCall call{.tokens = {1}, .max_tokens = 3};
  const auto cut = [&](RemoteApi api, std::string body, const char* reason) {
    body.replace(body.find("REASON"), 6, reason);
    return read_draw(kind_of(api, ScoreWay::None), call, body).cut;
  };
  const char* completions =
      R"({"choices": [{"token_ids": [7], "logprobs": {"token_logprobs": [-1]}, "finish_reason": "REASON"}]})";
  const char* tokens = R"({"choices": [{"token_ids": [7], "finish_reason": "REASON",
      "logprobs": {"content": [{"token_id": 7, "logprob": -1}]}}]})";
  const char* sglang = R"({"meta_info": {"output_token_logprobs": [[-1, 7]],
      "finish_reason": {"type": "REASON"}, "prompt_tokens": 4, "cached_tokens": 2}})";
  for (const char* reason : {"abort", "error"}) {
    EXPECT_TRUE(cut(RemoteApi::Completions, completions, reason)) << reason;
    EXPECT_TRUE(cut(RemoteApi::Tokens, tokens, reason)) << reason;
  }
  EXPECT_TRUE(cut(RemoteApi::SGLang, sglang, "abort"));
  EXPECT_FALSE(cut(RemoteApi::Completions, completions, "length"));
  EXPECT_FALSE(cut(RemoteApi::Tokens, tokens, "stop"));
  EXPECT_FALSE(cut(RemoteApi::SGLang, sglang, "length"));
}

TEST(RemoteReplies, FiltersAndTopsAreSent) {
  DrawCall call{.tokens = {4}, .max_tokens = 2, .top = 3, .salt = "S", .only = 9};
  call.sampling = {.temperature = 1, .top_p = 0.5f, .top_k = 7, .min_p = 0.25f};
  const Json plain = body_of(draw_request(kind_of(RemoteApi::Completions, ScoreWay::None), call));
  EXPECT_EQ(plain["top_k"], 7);
  EXPECT_EQ(plain["min_p"], 0.25);
  EXPECT_EQ(plain["allowed_token_ids"], Json({9}));
  EXPECT_EQ(body_of(draw_request(kind_of(RemoteApi::SGLang, ScoreWay::None),
                                 call))["sampling_params"]["top_k"],
            7);
  RemoteKind nameless = kind_of(RemoteApi::Tokens, ScoreWay::Rows);
  nameless.model.clear();
  EXPECT_FALSE(body_of(draw_request(nameless, call)).contains("model"));
  const ScoreCall score{.tokens = {1, 2, 3}, .from = 1, .top = 2};
  const Json rows = body_of(score_request(nameless, score));
  EXPECT_FALSE(rows.contains("model"));
  EXPECT_EQ(rows["sampling_params"]["prompt_logprobs"], 2);
  EXPECT_FALSE(rows["sampling_params"].contains("prompt_logprob_token_ids"));
  RemoteKind echo = kind_of(RemoteApi::Completions, ScoreWay::Prompt);
  echo.echo = true;  // which cannot give other tokens than those sent
  EXPECT_FALSE(body_of(score_request(echo, score)).contains("echo"));
  EXPECT_EQ(body_of(score_request(echo, score))["prompt_logprobs"], 2);
}

TEST(RemoteReplies, LikeliestTokensOfAScore) {
  const ScoreCall call{.tokens = {1, 2, 3}, .from = 1, .top = 2};
  const auto shown = [&](const RemoteKind& kind, const char* body) {
    const ScoreReply reply = read_score(kind, call, body);
    std::string text;
    for (std::size_t i = 0; i < reply.logprobs.size(); ++i) {
      text += reply.logprobs[i] ? fmt::format("({})", *reply.logprobs[i]) : "(none)";
      for (const auto& [token, logprob] : reply.top[i])
        text += fmt::format(" {}:{}", token, logprob);
    }
    return text;
  };
  RemoteKind echo = kind_of(RemoteApi::Completions, ScoreWay::Prompt);
  echo.echo = true;
  // Plain numbers in place of objects; names that are no ids; an entry without a number.
  EXPECT_EQ(
      shown(
          echo,
          R"({"choices": [{"prompt_logprobs": [null, {"2": -1, "5": -0.5, "": -0.1, "x1": 0, "12345678901": 0},
                            {"3": {"logprob": -2}, "4": {"rank": 1}}]}]})"),
      "(-1) 5:-0.5 2:-1(-2) 3:-2");
  const RemoteKind rows = kind_of(RemoteApi::Tokens, ScoreWay::Rows);
  EXPECT_EQ(shown(rows, R"({"prompt_logprobs": [{"2": -1}, {"3": -2}]})"), "(-1) 2:-1(-2) 3:-2");
  const RemoteKind sglang = kind_of(RemoteApi::SGLang, ScoreWay::Start);
  EXPECT_EQ(shown(sglang, R"({"meta_info": {"input_token_logprobs": [[-1, 2], [-2, 3]],
                              "input_top_logprobs": [[[-1, 2], [-0.5, 9]], [[-2, 3]]]}})"),
            "(-1) 9:-0.5 2:-1(-2) 3:-2");
  for (const char* tops : {"null", "3", "[]"})
    EXPECT_EQ(
        shown(sglang, fmt::format(R"({{"meta_info": {{"input_token_logprobs": [[-1, 2], [-2, 3]],
                                             "input_top_logprobs": {}}}}})",
                                  tops)
                          .c_str()),
        "(-1)(-2)")
        << tops;
}

TEST(RemoteReplies, ScoreRepliesThatAreRefused) {
  const ScoreCall call{.tokens = {1, 2, 3}, .from = 1};
  const RemoteKind tokens = kind_of(RemoteApi::Tokens, ScoreWay::Prompt);
  const RemoteKind completions = kind_of(RemoteApi::Completions, ScoreWay::Prompt);
  RemoteKind echo = completions;
  echo.echo = true;
  EXPECT_THAT(refusal([&] { read_score(tokens, call, R"({"prompt_logprobs": [1, 2, 3, 4]})"); }),
              HasSubstr("prompt_logprobs has 4 entries for 3 tokens"));
  EXPECT_THAT(refusal([&] {
                read_score(completions, call,
                           R"({"choices": [{"prompt_logprobs": [1, 2, 3, 4]}]})");
              }),
              HasSubstr("prompt_logprobs has 4 entries for 3 tokens"));
  for (const char* body : {"", "  ", "[]", "7"})
    EXPECT_NE(refusal([&] { read_score(tokens, call, body); }), "read") << body;
  EXPECT_THAT(refusal([&] { read_score(tokens, call, R"({"prompt_logprobs": {}})"); }),
              HasSubstr("prompt_logprobs"));
  const auto echoed = [&](const char* labels) {
    return refusal([&] {
      read_score(echo, call,
                 fmt::format(R"({{"choices": [{{"logprobs": {{"tokens": {},
                                 "token_logprobs": [null, -1, -2]}}}}]}})",
                             labels));
    });
  };
  EXPECT_EQ(echoed(R"(["token_id:1", "token_id:2", "token_id:3"])"), "read");
  EXPECT_EQ(echoed("[]"), "read");
  EXPECT_EQ(echoed("3"), "read");
  EXPECT_THAT(echoed(R"(["token_id:1", "token_id:2", "token_id:9"])"),
              HasSubstr("other tokens than those sent"));
}

TEST(RemoteReplies, UsageMayBePartial) {
  const RemoteKind kind = kind_of(RemoteApi::Completions, ScoreWay::Prompt);
  const DrawCall call{.tokens = {1}};
  const auto read = [&](const char* usage) {
    return read_draw(kind, call,
                     fmt::format(R"({{"choices": [{{"token_ids": [7],
        "logprobs": {{"token_logprobs": [-1]}}}}], "usage": {}}})",
                                 usage));
  };
  EXPECT_EQ(read("{}").prompt_tokens, 0);
  EXPECT_EQ(read(R"({"prompt_tokens": 4, "prompt_tokens_details": {}})").prompt_tokens, 4);
  EXPECT_EQ(read(R"({"prompt_tokens_details": {}})").cached_tokens, std::nullopt);
  EXPECT_EQ(read(R"({"prompt_tokens_details": {"cached_tokens": 3}})").cached_tokens, 3);
}

// Files of numpy 1.x (version 1 of the format) and of version 2, whose header has a longer length.
TEST(RemoteReplies, ArraysInBase64) {
  const auto base64 = [](const std::string& bytes, const char* last) {
    std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    digits += last;
    std::string out;
    std::uint32_t held = 0;
    int bits = 0;
    for (const char c : bytes) {
      held = held << 8 | static_cast<unsigned char>(c);
      for (bits += 8; bits >= 6; bits -= 6) out += digits[held >> (bits - 6) & 63];
    }
    if (bits > 0) out += digits[held << (6 - bits) & 63];
    return out + "=";
  };
  const auto file = [](int version, std::string header, const auto& values) {
    std::string out = "\x93NUMPY";
    out += static_cast<char>(version);
    out += '\0';
    out += static_cast<char>(header.size());
    out += std::string(version == 1 ? 1 : 3, '\0');
    out += header;
    for (const auto value : values) out.append(reinterpret_cast<const char*>(&value), sizeof value);
    return out;
  };
  const std::vector<float> floats = {-1.5f, -2};
  const std::vector<double> doubles = {-1.5, -1e-300};
  for (const char* last : {"+/", "-_"}) {
    EXPECT_THAT(npy_values(base64(file(1, "{'descr': '<f4'}", floats), last), 2),
                ElementsAre(-1.5, -2));
    EXPECT_THAT(npy_values(base64(file(2, "{'descr': '<f8'}", doubles), last), 2),
                ElementsAre(-1.5, -1e-300));
  }
  const auto refused = [&](const std::string& bytes) {
    return refusal([&] { npy_values(base64(bytes, "+/"), 2); });
  };
  const std::string whole = file(1, "{'descr': '<f4'}", floats);
  EXPECT_THAT(refused(whole.substr(0, whole.size() - 1)),
              HasSubstr("has 7 bytes; 2 values were asked for"));
  EXPECT_THAT(refused(whole.substr(0, 20)), HasSubstr("is cut off"));
  EXPECT_THAT(refused(file(2, "{'descr': '<f8'}", doubles).substr(0, 11)), HasSubstr("is cut off"));
  EXPECT_THAT(refused("0123456789"), HasSubstr("no .npy file"));
  EXPECT_THAT(refused(file(1, "{'descr': '<i4'}", floats)),
              HasSubstr("not known here: {'descr': '<i4'}"));
}

TEST(RemoteReplies, Addresses) {
  EXPECT_THAT(remote_urls("http://a:1/v1/,https://b/x//v1,http://c//"),
              ElementsAre("http://a:1", "https://b/x", "http://c"));
  for (const char* bad : {"", "http://", "https:///", "a:8000", "http://a b", "http://a\x7f",
                          "http://a?x", "http://a,"})
    EXPECT_THROW(remote_urls(bad), Error) << bad;
  EXPECT_THROW(remote_urls("http://key@a"), Error);
  EXPECT_THROW(remote_urls("http://a,http://a/"), Error);
}

}  // namespace
}  // namespace counterbeam
