// Rules of requests that concern several fields, or sizes: each is a 400 that names the field, or
// is allowed. bad_requests_test.cpp has the types and signs of every field.
#include "serve/test_server.h"

namespace counterbeam::serve::testing {
namespace {

struct Rule {
  const char* path;
  Json patch;  // over a good request; null removes a field
  const char* param;
  const char* part;  // of the message; empty: the request is answered
};

const Json kAssistant = {{"role", "assistant"}, {"content", "It is"}};

Json question_and(Json last) {
  return Json::array({{{"role", "user"}, {"content", "1 + 1?"}}, std::move(last)});
}

std::vector<Rule> chat_rules() {
  constexpr const char* kPath = "/v1/chat/completions";
  const Json hello = {{"role", "user"}, {"content", "a"}};
  const Json parts = {{{"type", "input_text"}, {"text", "1 +"}}, {{"text", " 1?"}}};
  return {
      {kPath, {{"messages", nullptr}}, "messages", "messages: is missing"},
      {kPath, {{"messages", Json(4097, hello)}}, "messages", "at most 4096 are allowed"},
      {kPath, {{"messages", {{{"role", "user"}, {"content", parts}}}}}, "", ""},
      {kPath, {{"continue_final_message", true}}, "continue_final_message", "is not the assistant"},
      {kPath,
       {{"continue_final_message", true},
        {"messages", question_and({{"role", "user"}, {"content", "x"}})}},
       "continue_final_message",
       "is not the assistant"},
      {kPath,
       {{"continue_final_message", true},
        {"messages", question_and({{"role", "assistant"}, {"content", ""}})}},
       "continue_final_message",
       "the last message is empty"},
      {kPath, {{"continue_final_message", true}, {"messages", question_and(kAssistant)}}, "", ""},
      {kPath, {{"top_logprobs", 3}}, "top_logprobs", "needs \"logprobs\": true"},
      {kPath, {{"top_logprobs", 0}}, "", ""},
      {kPath, {{"reasoning_format", "deepseek"}}, "", ""},
      {kPath, {{"stop", Json::array({std::string(1001, 'x')})}}, "stop", "1001 bytes is too long"},
      {kPath, {{"stop_token_ids", Json(1001, 1)}}, "stop_token_ids", "at most 1000 are allowed"},
      {kPath, {{"stop_token_ids", Json(1000, 1)}}, "", ""},
      {kPath, {{"stream", true}, {"prompt_logprobs", 1}}, "prompt_logprobs", "leave out stream"},
      {kPath, {{"repetition_penalty", 1.1}}, "repetition_penalty", "other than 1 is not supported"},
      {kPath, {{"repetition_penalty", 1}, {"tools", false}, {"functions", ""}}, "", ""},
      {kPath, {{"modalities", {"audio"}}}, "modalities", "other than text is not supported"},
      {kPath, {{"modalities", {"text"}}}, "", ""},
      {kPath, {{"top_p", 0}}, "", ""},
      {kPath, {{"search", {{"id", std::string(65, 'x')}}}}, "search.id", "use 1 to 64 letters"},
      {kPath,
       {{"search", {{"method", "sample"}, {"temperature", true}}}},
       "search.temperature",
       "true"},
      {kPath, {{"search", {{"method", "sample"}, {"temperature", nullptr}}}}, "", ""},
      // A field that the method does not have is not used.
      {kPath, {{"search", {{"method", "greedy"}}}, {"temperature", 0.5}}, "", ""},
  };
}

std::vector<Rule> completion_rules() {
  constexpr const char* kPath = "/v1/completions";
  return {
      {kPath, {{"prompt", nullptr}}, "prompt", "prompt: is missing"},
      {kPath, {{"prompt", ""}}, "prompt", "needs at least one token"},
      {kPath, {{"prompt", {"a", ""}}}, "prompt[1]", "needs at least one token"},
      {kPath, {{"prompt", {Json::array({1}), Json::array()}}}, "prompt[1]", "at least one token"},
      {kPath, {{"prompt", {"a", 1}}}, "prompt[1]", "neither a string nor an array"},
      {kPath, {{"max_tokens", 0}}, "max_tokens", "is allowed with echo only"},
      {kPath, {{"max_tokens", 0}, {"echo", true}}, "", ""},
      {kPath, {{"best_of", 2}}, "best_of", "other than n is not supported"},
      {kPath, {{"best_of", 1}}, "", ""},
  };
}

class RequestRules : public ::testing::TestWithParam<Rule> {};

TEST_P(RequestRules, AreNamedOrAllowed) {
  const Rule& rule = GetParam();
  Json body = rule.path == std::string("/v1/completions")
                  ? Json{{"prompt", "Compute 1 + 1."}, {"max_tokens", 1}}
                  : chat_body();
  body["max_tokens"] = 1;
  for (const auto& [field, value] : rule.patch.items()) {
    if (value.is_null())
      body.erase(field);
    else
      body[field] = value;
  }
  const Answer answer = ask(shared_port(), "POST", rule.path, to_line(body));
  if (*rule.part == '\0') {
    EXPECT_EQ(answer.status, 200) << to_line(rule.patch) << answer.body;
    return;
  }
  ASSERT_EQ(answer.status, 400) << to_line(rule.patch).substr(0, 200) << answer.body;
  const Json error = answer.json()["error"];
  EXPECT_EQ(error["param"], rule.param);
  EXPECT_NE(error["message"].get<std::string>().find(rule.part), std::string::npos) << answer.body;
}

INSTANTIATE_TEST_SUITE_P(Chat, RequestRules, ::testing::ValuesIn(chat_rules()));
INSTANTIATE_TEST_SUITE_P(Completions, RequestRules, ::testing::ValuesIn(completion_rules()));

}  // namespace
}  // namespace counterbeam::serve::testing
