// The remote engine over our own server: the same answers as the local engine, bit for bit, by
// every method that needs no mixture, and the same through a second server in front of the first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "search/answer.h"
#include "search/method_strings.h"
#include "serve/test_server.h"
#include "support/temporary_folder.h"

namespace counterbeam::serve::testing {
namespace {

std::string url_of(int port) {
  return "http://127.0.0.1:" + std::to_string(port);
}

const LoadedModel& remote_model() {
  static const LoadedModel kModel = LoadedModel::load(COUNTERBEAM_SOURCE_DIR "/models/tiny-dense",
                                                      {.engine = url_of(shared_port())});
  return kModel;
}

AnsweredQuestion answered(const LoadedModel& model, const std::string& method,
                          const std::string& question = "Compute 12 + 3 * 7.") {
  AnswerOptions options;
  options.seed = 5;
  return answer_question(model, {.text = question}, GivenMethod(method).resolve({}), options);
}

TEST(RemoteServe, AnswersAreThoseOfTheLocalEngine) {
  EXPECT_TRUE(remote_model().engine().info().abilities.keyed_draws);
  EXPECT_TRUE(remote_model().engine().info().abilities.drawn_logprobs);
  for (const char* method :
       {"cbs:beams=8:prune=4:block=8:max-tokens=40", "beam:beams=4:prune=2:block=8:max-tokens=32",
        "sample:max-tokens=32", "greedy:max-tokens=24", "best-of-n:beams=4:max-tokens=32:steer=0.5",
        "self-consistency:beams=4:max-tokens=32",
        "power:block=8:max-tokens=16:draws=4:candidates=3:rollouts=2:horizon=4",
        "mcmc-power:block=16:max-tokens=32:steps=3",
        "cbs:beams=4:prune=2:block=8:max-tokens=24:lookahead=2:horizon=8"}) {
    const AnsweredQuestion local = answered(tiny_model(), method);
    const AnsweredQuestion remote = answered(remote_model(), method);
    EXPECT_EQ(local.text, remote.text) << method;
    ASSERT_EQ(local.result.pool.size(), remote.result.pool.size()) << method;
    for (std::size_t i = 0; i < local.result.pool.size(); ++i) {
      EXPECT_EQ(local.result.pool[i].tokens, remote.result.pool[i].tokens) << method;
      EXPECT_EQ(local.result.pool[i].logprobs.base, remote.result.pool[i].logprobs.base) << method;
      EXPECT_EQ(local.result.pool[i].logprobs.positive, remote.result.pool[i].logprobs.positive)
          << method;
      EXPECT_EQ(local.result.pool[i].score, remote.result.pool[i].score) << method;
    }
    EXPECT_EQ(local.result.ledger.generated_tokens, remote.result.ledger.generated_tokens);
    EXPECT_LE(remote.result.ledger.scored_tokens, local.result.ledger.scored_tokens);
    EXPECT_GT(remote.result.ledger.prompt_tokens + remote.result.ledger.cached_tokens, 0);
  }
}

TEST(RemoteServe, MixturesAreRefusedWithTheReason) {
  try {
    answered(remote_model(), "token-contrast:max-tokens=8");
    FAIL();
  } catch (const BadInput& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("draws from a mixture of prompts"));
  }
}

TEST(RemoteServe, AFolderWithoutWeightsSuffices) {
  const counterbeam::testing::TemporaryFolder folder;
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja",
                           "config.json", "generation_config.json"}) {
    const std::filesystem::path from =
        std::filesystem::path(COUNTERBEAM_SOURCE_DIR "/models/tiny-dense") / name;
    if (std::filesystem::exists(from)) std::filesystem::copy(from, folder.path() / name);
  }
  const auto load = [&] {
    return LoadedModel::load(folder.path().string(), {.engine = url_of(shared_port())});
  };
  EXPECT_EQ(answered(load(), "sample:max-tokens=16").text,
            answered(tiny_model(), "sample:max-tokens=16").text);
  EXPECT_EQ(load().fingerprint().weights, "elsewhere");
  // Not even the config is needed.
  std::filesystem::remove(folder.path() / "config.json");
  EXPECT_EQ(answered(load(), "sample:max-tokens=16").text,
            answered(tiny_model(), "sample:max-tokens=16").text);
}

// Two servers give one name to the same weights in two dtypes, or to two models.
TEST(RemoteServe, ServersMustComputeTheSameModelInAnyDtype) {
  const auto loaded = [](const char* name, const char* dtype) {
    return LoadedModel::load(std::string(COUNTERBEAM_SOURCE_DIR "/models/") + name,
                             {.device = "cpu", .dtype = dtype});
  };
  const LoadedModel bf16 = loaded("tiny-dense", "bf16"), f32 = loaded("tiny-dense", "f32"),
                    hybrid = loaded("tiny-hybrid", "bf16");
  const TestServer dense({.name = "m"}, bf16), precise({.name = "m"}, f32),
      other({.name = "m"}, hybrid);
  const auto connect = [&](const TestServer& a, const TestServer& b) {
    LoadedModel::load(COUNTERBEAM_SOURCE_DIR "/models/tiny-dense",
                      {.engine = url_of(a.port()) + "," + url_of(b.port())});
  };
  EXPECT_NO_THROW(connect(dense, precise));
  try {
    connect(dense, other);
    ADD_FAILURE();
  } catch (const BadInput& error) {
    EXPECT_THAT(error.what(), ::testing::AllOf(::testing::HasSubstr(url_of(dense.port())),
                                               ::testing::HasSubstr(url_of(other.port())),
                                               ::testing::HasSubstr("is another model")));
  }
}

TEST(RemoteServe, AServerInFrontOfAServer) {
  const TestServer front({}, remote_model());
  const Json body = chat_body();
  Json through = post(front.port(), "/v1/chat/completions", body).json();
  Json direct = post(shared_port(), "/v1/chat/completions", body).json();
  EXPECT_EQ(through["choices"][0]["message"]["content"],
            direct["choices"][0]["message"]["content"]);
  Json search = body;
  search["model"] = "tiny-dense@cbs:beams=4:prune=2:block=8";
  through = post(front.port(), "/v1/chat/completions", search).json();
  direct = post(shared_port(), "/v1/chat/completions", search).json();
  EXPECT_EQ(through["choices"][0]["message"]["content"],
            direct["choices"][0]["message"]["content"]);
  const Json echo = {{"model", "tiny-dense"},
                     {"prompt", "Compute 1 + 2."},
                     {"echo", true},
                     {"max_tokens", 0},
                     {"logprobs", 2}};
  EXPECT_EQ(post(front.port(), "/v1/completions", echo).json()["choices"][0]["logprobs"],
            post(shared_port(), "/v1/completions", echo).json()["choices"][0]["logprobs"]);
}

TEST(TokenRoute, DrawsAndScores) {
  const Json sampling = {{"max_tokens", 5},
                         {"temperature", 0},
                         {"logprobs", 2},
                         {"prompt_logprobs", 1},
                         {"ignore_eos", true}};
  const Json reply =
      post(shared_port(), "/inference/v1/generate",
           {{"token_ids", {5, 6, 7, 8}}, {"sampling_params", sampling}, {"cache_salt", "x"}})
          .json();
  EXPECT_EQ(reply["choices"][0]["token_ids"].size(), 5u);
  EXPECT_EQ(reply["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"].size(), 2u);
  ASSERT_EQ(reply["prompt_logprobs"].size(), 4u);
  EXPECT_TRUE(reply["prompt_logprobs"][0].is_null());
  EXPECT_TRUE(reply["prompt_logprobs"][1].contains("6"));
  EXPECT_EQ(reply["usage"]["prompt_tokens"], 4);
  EXPECT_FALSE(reply.contains("keyed"));
}

TEST(TokenRoute, BadRequestsNameTheField) {
  struct Case {
    Json body;
    const char* param;
  };
  const Json sampling = {{"max_tokens", 2}};
  const Case cases[] = {
      {{{"sampling_params", sampling}}, "token_ids"},
      {{{"token_ids", Json::array()}, {"sampling_params", sampling}}, "token_ids"},
      {{{"token_ids", {1, -1}}, {"sampling_params", sampling}}, "token_ids"},
      {{{"token_ids", {1, 1 << 30}}, {"sampling_params", sampling}}, "token_ids"},
      {{{"token_ids", std::vector<int>(5000, 1)}, {"sampling_params", sampling}}, "token_ids"},
      {{{"token_ids", {1}}}, "sampling_params"},
      {{{"token_ids", {1}}, {"sampling_params", 3}}, "sampling_params"},
      {{{"token_ids", {1}}, {"sampling_params", {{"max_tokens", 0}}}},
       "sampling_params.max_tokens"},
      {{{"token_ids", {1}}, {"sampling_params", {{"temperature", -1}}}},
       "sampling_params.temperature"},
      {{{"token_ids", {1}}, {"sampling_params", {{"top_p", 0}}}}, "sampling_params.top_p"},
      {{{"token_ids", {1}}, {"sampling_params", {{"allowed_token_ids", {1}}}}},
       "sampling_params.allowed_token_ids"},
      {{{"token_ids", {1, 2}},
        {"sampling_params", {{"prompt_logprobs", 0}, {"prompt_logprob_start", 1}}}},
       "sampling_params.prompt_logprob_start"},
      {{{"token_ids", {1}}, {"sampling_params", {{"draw_key", {{"seed", -1}}}}}},
       "sampling_params.draw_key.seed"},
      {{{"token_ids", {1}}, {"sampling_params", {{"draw_key", {{"beam", 1 << 24}}}}}},
       "sampling_params.draw_key.beam"},
      {{{"token_ids", {1}}, {"sampling_params", sampling}, {"stream", true}}, "stream"}};
  for (const Case& one : cases) {
    const Answer answer = post(shared_port(), "/inference/v1/generate", one.body);
    EXPECT_EQ(answer.status, 400) << one.body;
    EXPECT_EQ(answer.json()["error"]["param"], one.param) << one.body;
  }
  EXPECT_EQ(post(shared_port(), "/inference/v1/generate",
                 {{"model", "nobody"}, {"token_ids", {1}}, {"sampling_params", sampling}})
                .status,
            404);
}

}  // namespace
}  // namespace counterbeam::serve::testing
