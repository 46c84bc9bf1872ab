// Bad requests: every field of every endpoint with values of the wrong type, sign and size. Each is
// answered with 4xx that names a field, and tells neither a path nor an address.
#include "serve/test_server.h"

namespace counterbeam::serve::testing {
namespace {

struct Endpoint {
  const char* path;
  Json body;
  std::vector<const char*> fields;
};

const std::vector<Endpoint>& endpoints() {
  static const std::vector<const char*> kCommon = {"model",
                                                   "max_tokens",
                                                   "temperature",
                                                   "top_p",
                                                   "top_k",
                                                   "min_p",
                                                   "n",
                                                   "stop",
                                                   "seed",
                                                   "stream",
                                                   "stream_options",
                                                   "logit_bias",
                                                   "search",
                                                   "prompt_logprobs",
                                                   "return_token_ids",
                                                   "stop_token_ids",
                                                   "frequency_penalty",
                                                   "presence_penalty",
                                                   "include_stop_str_in_output",
                                                   "response_format",
                                                   "tools"};
  static const auto with = [](std::vector<const char*> more) {
    more.insert(more.end(), kCommon.begin(), kCommon.end());
    return more;
  };
  static const std::vector<Endpoint> kEndpoints = {
      {"/v1/chat/completions", chat_body(),
       with({"messages", "logprobs", "top_logprobs", "max_completion_tokens", "reasoning_format",
             "continue_final_message", "add_generation_prompt", "chat_template_kwargs"})},
      {"/v1/completions",
       {{"prompt", "Compute 1 + 1."}, {"max_tokens", 1}},
       with({"prompt", "echo", "logprobs", "best_of", "suffix"})},
      {"/tokenize", {{"prompt", "a"}}, {"prompt", "add_special_tokens", "return_token_strs"}},
      {"/detokenize", {{"tokens", {1}}}, {"tokens"}},
  };
  return kEndpoints;
}

std::vector<Json> bad_values() {
  Json deep = 1;
  for (int i = 0; i < 100; ++i) deep = Json::array({deep});
  return {Json("nonsense"),
          Json(""),
          Json(-1),
          Json(-0.5),
          Json(1e300),
          Json(9223372036854775807),
          Json(18446744073709551615u),
          Json(-9223372036854775807 - 1),
          Json(true),
          Json(Json::array()),
          Json(Json::array({nullptr})),
          Json(Json::object({{"a", 1}})),
          Json(Json::array({Json::object()})),
          Json(Json::array({-1, 1 << 30})),
          deep};
}

void expect_clean(const Answer& answer, const std::string& what) {
  EXPECT_TRUE(answer.status == 200 || (answer.status >= 400 && answer.status < 500))
      << what << answer.status << answer.body;
  if (answer.status == 200) return;
  const Json error = answer.json()["error"];
  EXPECT_TRUE(error["message"].is_string()) << what;
  EXPECT_EQ(answer.body.find("/models/tiny"), std::string::npos) << what << answer.body;
  EXPECT_EQ(answer.body.find("0x"), std::string::npos) << what << answer.body;
  EXPECT_EQ(answer.body.find(".cpp"), std::string::npos) << what << answer.body;
}

TEST(BadRequests, EveryFieldWithEveryBadValue) {
  int refused = 0;
  Client client(shared_port());
  for (const Endpoint& endpoint : endpoints()) {
    for (const char* field : endpoint.fields) {
      for (const Json& value : bad_values()) {
        Json body = endpoint.body;
        body["max_tokens"] = 1;
        body[field] = value;
        ASSERT_TRUE(client.request("POST", endpoint.path, to_line(body)));
        const Answer answer = client.answer();
        expect_clean(answer, fmt::format("{} {}: ", endpoint.path, field));
        if (answer.status == 200) continue;
        ++refused;
        const Json param = answer.json()["error"]["param"];
        EXPECT_TRUE(param.is_string() && param.get<std::string>().starts_with(field))
            << endpoint.path << " " << field << " " << to_line(value).substr(0, 80) << answer.body;
      }
    }
  }
  EXPECT_GE(refused, 500);
}

TEST(BadRequests, SearchSettingsAreCheckedAsOnTheCommandLine) {
  const std::pair<Json, const char*> cases[] = {
      {{{"method", "nosuch"}}, "search.method"},
      {{{"method", 5}}, "search.method"},
      {{{"method", "cbs"}, {"steer", "x"}}, "search.steer"},
      {{{"method", "cbs"}, {"steer", 1e9}}, "search.steer"},
      {{{"method", "cbs"}, {"beams", 0}}, "search.beams"},
      {{{"method", "cbs"}, {"beams", 1.5}}, "search.beams"},
      {{{"method", "cbs"}, {"nosuch", 1}}, "search.nosuch"},
      {{{"method", "cbs"}, {"positive", Json::array()}}, "search.positive"},
      {{{"method", "cbs"}, {"contexts", "nosuch"}}, "search"},
      {{{"method", "cbs"}, {"prune", 99}}, "search"},
      {{{"steer", 0.7}}, "search.steer"},
      {{{"id", "a b"}}, "search.id"},
      {{{"id", ""}}, "search.id"},
      {{{"trace", 1}}, "search.trace"}};
  for (const auto& [search, param] : cases) {
    Json body = chat_body();
    body["search"] = search;
    const Answer answer = post(shared_port(), "/v1/chat/completions", body);
    EXPECT_EQ(answer.status, 400) << search;
    EXPECT_EQ(answer.json()["error"]["param"], param) << search << answer.body;
  }
}

TEST(BadRequests, MessagesOfEveryWrongShape) {
  for (const char* messages :
       {"[]", "[1]", "[{}]", R"([{"role": "user"}])", R"([{"content": "a"}])",
        R"([{"role": 5, "content": "a"}])", R"([{"role": "tool", "content": "a"}])",
        R"([{"role": "user", "content": 5}])", R"([{"role": "user", "content": []}])",
        R"([{"role": "user", "content": [{"type": "text"}]}])",
        R"([{"role": "user", "content": ["a"]}])", R"([{"role": "system", "content": "a"}])",
        R"([{"role": "user", "content": "  "}])",
        R"([{"role": "user", "content": "a", "name": 5}])"}) {
    const std::string body = fmt::format(R"({{"max_tokens": 1, "messages": {}}})", messages);
    const Answer answer = ask(shared_port(), "POST", "/v1/chat/completions", body);
    EXPECT_EQ(answer.status, 400) << messages;
    const std::string param = answer.json()["error"]["param"];
    EXPECT_TRUE(param.starts_with("messages")) << messages << answer.body;
    expect_clean(answer, messages);
  }
}

TEST(BadRequests, EveryBeginningOfABodyAndEveryFieldTwice) {
  Client client(shared_port());
  for (const Endpoint& endpoint : endpoints()) {
    const std::string whole = to_line(endpoint.body);
    std::vector<std::string> bodies;
    for (std::size_t end = 0; end < whole.size(); ++end) bodies.push_back(whole.substr(0, end));
    for (const char* field : endpoint.fields)
      bodies.push_back(fmt::format("{{\"{0}\": 1, \"{0}\": 1, {1}", field, whole.substr(1)));
    for (const std::string& body : bodies) {
      ASSERT_TRUE(client.request("POST", endpoint.path, body));
      const Answer answer = client.answer();
      EXPECT_EQ(answer.status, 400) << endpoint.path << " " << body;
      expect_clean(answer, body);
    }
  }
}

// Bytes that are not a request to an endpoint, on every path; bench/serve has more of them.
TEST(BadRequests, AbuseOfTheRawSocket) {
  for (const char* path : {"/", "/health", "/metrics", "/v1/models", "/v1/methods", "/v1/models/a",
                           "/v1/searches/a", "/tokenize", "/v1/completions"}) {
    for (const char* format :
         {"FOO {} HTTP/1.1\r\nHost: localhost\r\n\r\n",
          "get {} HTTP/1.1\r\nHost: localhost\r\n\r\n",
          "GET {}%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
          "GET {}%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
          "GET {} HTTP/3.0\r\nHost: localhost\r\n\r\n", "GET {}\r\n\r\n",
          "GET {} HTTP/1.1\r\nHost: localhost\r\nBad Name: 1\r\n\r\n",
          "GET {} HTTP/1.1\r\nHost: localhost\r\n folded: 1\r\n\r\n",
          "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
          "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\n",
          "POST {} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
      Client client(shared_port());
      client.send(fmt::format(fmt::runtime(format), path));
      const Answer answer = client.answer(20);
      EXPECT_TRUE(answer.status >= 400 && answer.status < 500)
          << path << " " << format << answer.status << answer.body;
      if (answer.status != 0) expect_clean(answer, format);
    }
  }
}

TEST(BadRequests, TooManyPromptsOrChoices) {
  const auto prompts = [](int count) {
    return Json(std::vector<std::string>(std::size_t(count), "a"));
  };
  for (const auto& [prompt, n, param] :
       {std::tuple(prompts(100000), 1, "prompt"), std::tuple(prompts(64), 100, "n")}) {
    const Json body = {{"prompt", prompt}, {"n", n}, {"max_tokens", 1}};
    const Answer answer = post(shared_port(), "/v1/completions", body);
    EXPECT_EQ(answer.status, 400) << param;
    EXPECT_EQ(answer.json()["error"]["param"], param) << answer.body;
    expect_clean(answer, param);
  }
}

TEST(BadRequests, JsonThatIsNoneOrTooMuch) {
  std::string deep(100000, '['), wide = "{\"prompt\": [";
  for (int i = 0; i < 700000; ++i) wide += "1,";
  wide += "1]}";
  for (const std::string& body :
       {deep, wide, std::string("nul"), std::string("{\"a\": NaN}"), std::string("{\"a\": 1e999}"),
        std::string("{\"prompt\": \"\xff\"}"), std::string("\xef\xbb\xbf"), std::string(1, '\0')}) {
    const Answer answer = ask(shared_port(), "POST", "/v1/completions", body);
    EXPECT_EQ(answer.status, 400) << body.substr(0, 40);
    expect_clean(answer, body.substr(0, 40));
  }
}

}  // namespace
}  // namespace counterbeam::serve::testing
