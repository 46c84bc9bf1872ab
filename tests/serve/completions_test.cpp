// /v1/completions: lines 17 to 30 of the conformance list, over raw sockets.
#include <cmath>

#include "search/answer.h"
#include "search/method_strings.h"
#include "search/score_answer.h"
#include "serve/test_server.h"

namespace counterbeam::serve::testing {
namespace {

const std::string kPrompt = "Question: Compute 12 + 3 * 7.\nAnswer:";

Json complete(const Json& body) {
  const Answer answer = post(shared_port(), "/v1/completions", body);
  EXPECT_EQ(answer.status, 200) << answer.body;
  return answer.json();
}

Json ids_of(const std::string& text) {
  return post(shared_port(), "/tokenize", {{"prompt", text}, {"add_special_tokens", false}})
      .json()["tokens"];
}

TEST(Completions, TakesAllFourShapesOfPrompt) {
  const Json ids = ids_of(kPrompt);
  const Json bodies[] = {
      {{"prompt", kPrompt}}, {{"prompt", {kPrompt}}}, {{"prompt", ids}}, {{"prompt", {ids}}}};
  std::string first;
  for (Json body : bodies) {
    body["temperature"] = 0;
    body["max_tokens"] = 8;
    const Json reply = complete(body);
    ASSERT_EQ(reply["choices"].size(), 1u);
    EXPECT_EQ(reply["object"], "text_completion");
    EXPECT_TRUE(reply["id"].get<std::string>().starts_with("cmpl-"));
    EXPECT_TRUE(reply["choices"][0]["logprobs"].is_null());
    EXPECT_EQ(reply["usage"]["prompt_tokens"], ids.size()) << "no BOS is added to ids";
    const std::string text = reply["choices"][0]["text"];
    if (first.empty()) first = text;
    EXPECT_EQ(text, first);
  }
}

TEST(Completions, EchoWithLogprobsIsWhatEvaluationHarnessesRead) {
  const Json ids = ids_of(kPrompt);
  const Json reply = complete({{"model", "tiny-dense"},
                               {"prompt", {ids}},
                               {"temperature", 0},
                               {"max_tokens", 1},
                               {"logprobs", 1},
                               {"seed", 1234},
                               {"echo", true}});
  const Json& choice = reply["choices"][0];
  const Json& logprobs = choice["logprobs"];
  for (const char* name : {"text_offset", "token_logprobs", "tokens", "top_logprobs"})
    ASSERT_EQ(logprobs[name].size(), ids.size() + 1) << name;
  EXPECT_TRUE(logprobs["token_logprobs"][0].is_null());
  EXPECT_TRUE(logprobs["top_logprobs"][0].is_null());
  EXPECT_TRUE(choice["text"].get<std::string>().starts_with(kPrompt));
  for (std::size_t i = 1; i <= ids.size(); ++i) {
    double best = -1e9;
    bool same_number = false;
    for (const auto& [token, value] : logprobs["top_logprobs"][i].items()) {
      best = std::max(best, value.get<double>());
      same_number |= value == logprobs["token_logprobs"][i];
    }
    EXPECT_TRUE(same_number) << i;
    EXPECT_GE(best, logprobs["token_logprobs"][i].get<double>());
  }
  EXPECT_EQ(logprobs["token_logprobs"][ids.size()], *logprobs["top_logprobs"][ids.size()].begin())
      << "the generated token is the likeliest";
  // The log-probabilities are those of the scoring pass.
  std::vector<TokenId> tokens = ids.get<std::vector<TokenId>>();
  const Prompts prompts{{tokens[0]}, {}, {}};
  const Task task{tiny_model().engine(), prompts};
  const Candidate scored = score_answer(task, std::span(tokens).subspan(1), 0);
  for (std::size_t i = 1; i < tokens.size(); ++i)
    EXPECT_EQ(logprobs["token_logprobs"][i].get<float>(), scored.logprobs.base[i - 1]) << i;
}

TEST(Completions, EchoedPrefixesAreScoredOnce) {
  const TestServer server;
  const Json context = post(server.port(), "/tokenize", {{"prompt", kPrompt}}).json()["tokens"];
  Json prompts = Json::array();
  for (const char* end : {" 33", " 34", " 45", " 12"}) {
    Json ids = context;
    const Json tail =
        post(server.port(), "/tokenize", {{"prompt", end}, {"add_special_tokens", false}})
            .json()["tokens"];
    for (const Json& id : tail) ids.push_back(id);
    prompts.push_back(std::move(ids));
  }
  const Json body = {{"prompt", prompts}, {"max_tokens", 1}, {"temperature", 0},
                     {"logprobs", 1},     {"echo", true},    {"seed", 1}};
  const Json together = post(server.port(), "/v1/completions", body).json();
  ASSERT_EQ(together["choices"].size(), 4u);
  EXPECT_GT(server.metric("vllm:prefix_cache_hits_total"), 3.0 * (context.size() - 1));
  for (std::size_t i = 0; i < 4; ++i) {
    Json alone = body;
    alone["prompt"] = prompts[i];
    EXPECT_EQ(together["choices"][i]["index"], i);
    EXPECT_EQ(complete(alone)["choices"][0]["logprobs"], together["choices"][i]["logprobs"]);
  }
}

TEST(Completions, OffsetsCountCharacters) {
  const Json reply = complete({{"prompt", "\u20ac\u20ac 12 \u20ac + 3"},
                               {"echo", true},
                               {"max_tokens", 0},
                               {"logprobs", 0}});
  const Json& logprobs = reply["choices"][0]["logprobs"];
  EXPECT_EQ(reply["choices"][0]["text"], "\u20ac\u20ac 12 \u20ac + 3");
  EXPECT_EQ(reply["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(reply["usage"]["completion_tokens"], 0);
  std::size_t last = 0;
  for (const Json& offset : logprobs["text_offset"]) {
    EXPECT_GE(offset.get<std::size_t>(), last);
    last = offset.get<std::size_t>();
  }
  EXPECT_LT(last, 11u) << "in characters, not in bytes";
}

TEST(Completions, LogprobsZeroToTwenty) {
  for (const int top : {0, 1, 5, 20}) {
    const Json reply =
        complete({{"prompt", kPrompt}, {"logprobs", top}, {"max_tokens", 3}, {"seed", 3}});
    const Json& logprobs = reply["choices"][0]["logprobs"];
    ASSERT_GE(logprobs["top_logprobs"].size(), 1u);
    for (const Json& alternatives : logprobs["top_logprobs"]) {
      EXPECT_GE(alternatives.size(), static_cast<std::size_t>(std::max(top, 1)));
      EXPECT_LE(alternatives.size(), static_cast<std::size_t>(top) + 1);
    }
  }
  EXPECT_EQ(post(shared_port(), "/v1/completions", {{"prompt", "a"}, {"logprobs", 21}}).status,
            400);
}

TEST(Completions, APromptIsEchoedAloneWithAndWithoutLogprobs) {
  for (const bool scored : {false, true}) {
    Json body = {{"prompt", {"Compute 1", "a"}}, {"echo", true}, {"max_tokens", 0}, {"n", 2}};
    if (scored) body["logprobs"] = 1;
    const Json choices = complete(body)["choices"];
    ASSERT_EQ(choices.size(), 4u);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(choices[i]["index"], i);
      EXPECT_EQ(choices[i]["text"], body["prompt"][i / 2]);
      EXPECT_EQ(choices[i]["logprobs"].is_null(), !scored);
    }
  }
}

TEST(Completions, SixteenTokensUnlessSaidOtherwise) {
  for (const Json& most : {Json(), Json(nullptr)}) {
    Json body = {{"prompt", kPrompt}, {"seed", 1}, {"temperature", 2}};
    body["max_tokens"] = most;
    EXPECT_LE(complete(body)["usage"]["completion_tokens"].get<int>(), 16);
  }
}

TEST(Completions, ChoicesComeInTheOrderOfThePrompts) {
  const Json body = {
      {"prompt", {"Compute 1 + 1.", "Compute 2 + 2."}}, {"n", 3}, {"seed", 5}, {"max_tokens", 6}};
  const Json reply = complete(body);
  ASSERT_EQ(reply["choices"].size(), 6u);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(reply["choices"][i]["index"], i);
    // Choice i of a prompt is the answer with the seed plus i.
    const Json alone =
        complete({{"prompt", body["prompt"][i / 3]}, {"seed", 5 + i % 3}, {"max_tokens", 6}});
    EXPECT_EQ(alone["choices"][0]["text"], reply["choices"][i]["text"]) << i;
  }
}

TEST(Completions, StopTextsEndTheAnswerAndAreNotShown) {
  const Json free = complete({{"prompt", kPrompt}, {"temperature", 0}, {"max_tokens", 24}});
  const std::string text = free["choices"][0]["text"];
  ASSERT_GT(text.size(), 6u);
  const std::string stop = text.substr(3, 3);
  for (const Json& given : {Json(stop), Json({stop}), Json({"no such text", stop})}) {
    const Json reply =
        complete({{"prompt", kPrompt}, {"temperature", 0}, {"max_tokens", 24}, {"stop", given}});
    EXPECT_EQ(reply["choices"][0]["text"], text.substr(0, text.find(stop)));
    EXPECT_EQ(reply["choices"][0]["finish_reason"], "stop");
  }
  const Json kept = complete({{"prompt", kPrompt},
                              {"temperature", 0},
                              {"max_tokens", 24},
                              {"stop", stop},
                              {"include_stop_str_in_output", true}});
  EXPECT_EQ(kept["choices"][0]["text"], text.substr(0, text.find(stop) + stop.size()));
}

TEST(Completions, TheAnswerIsThatOfTheCommandLine) {
  Question question{.text = kPrompt};
  question.raw = true;
  const Settings settings = parse_method("sample:max-tokens=24");
  const AnsweredQuestion alone = answer_question(tiny_model(), question, settings, {.seed = 11});
  const Json reply = complete({{"prompt", kPrompt}, {"max_tokens", 24}, {"seed", 11}});
  EXPECT_EQ(reply["choices"][0]["text"], alone.text);
  const Settings search = parse_method("cbs:steer=0.7:beams=4:prune=2:max-tokens=24");
  const AnsweredQuestion searched = answer_question(tiny_model(), question, search, {.seed = 11});
  const Json found = complete({{"model", "tiny-dense@cbs:steer=0.7:beams=4:prune=2"},
                               {"prompt", kPrompt},
                               {"max_tokens", 24},
                               {"seed", 11}});
  EXPECT_EQ(found["choices"][0]["text"], searched.text);
  EXPECT_EQ(found["search"]["score"], searched.result.answer().score);
  EXPECT_EQ(found["search"]["generated_tokens"], searched.result.ledger.generated_tokens);
  EXPECT_EQ(found["search"]["method"], "cbs");
}

TEST(Completions, TokenIdsAndPromptLogprobsAreGivenWhenAsked) {
  const Json reply = complete({{"prompt", kPrompt},
                               {"max_tokens", 4},
                               {"temperature", 0},
                               {"return_token_ids", true},
                               {"prompt_logprobs", 2}});
  const Json& choice = reply["choices"][0];
  EXPECT_EQ(choice["prompt_token_ids"], ids_of(kPrompt));
  EXPECT_EQ(choice["token_ids"].size(), reply["usage"]["completion_tokens"].get<std::size_t>());
  ASSERT_EQ(reply["prompt_logprobs"].size(), choice["prompt_token_ids"].size());
  EXPECT_TRUE(reply["prompt_logprobs"][0].is_null());
  const Json& second = reply["prompt_logprobs"][1];
  EXPECT_TRUE(second.contains(std::to_string(choice["prompt_token_ids"][1].get<int>())));
  EXPECT_GE(second.size(), 2u);
}

TEST(Completions, AreTheSameAmongManyOthers) {
  const Json body = {{"prompt", kPrompt}, {"max_tokens", 24}, {"seed", 21}, {"temperature", 1.2}};
  const Json alone = complete(body);
  std::vector<std::thread> others;
  std::atomic<int> different = 0;
  for (int i = 0; i < 24; ++i)
    others.emplace_back([&, i] {
      Json mine = body;
      if (i % 3 == 1) mine["seed"] = i;
      if (i % 3 == 2) mine["model"] = "strong";
      const Json reply = post(shared_port(), "/v1/completions", mine).json();
      if (i % 3 == 0) different += reply["choices"] != alone["choices"];
    });
  for (std::thread& other : others) other.join();
  EXPECT_EQ(different, 0);
}

}  // namespace
}  // namespace counterbeam::serve::testing
