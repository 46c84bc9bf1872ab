// /v1/chat/completions: lines 31 to 39 of the conformance list, search answers and the registry of
// searches, over raw sockets.
#include <set>

#include "search/answer.h"
#include "search/method_strings.h"
#include "serve/test_server.h"

namespace counterbeam::serve::testing {
namespace {

const char* const kChat = "/v1/chat/completions";

Json chat(const Json& body) {
  const Answer answer = post(shared_port(), kChat, body);
  EXPECT_EQ(answer.status, 200) << answer.body;
  return answer.json();
}

std::string content(const Json& reply) {
  return reply["choices"][0]["message"]["content"];
}

TEST(Chat, AnswersAsTheCommandLineDoes) {
  const Json reply = chat(chat_body());
  EXPECT_EQ(reply["object"], "chat.completion");
  EXPECT_TRUE(reply["id"].get<std::string>().starts_with("chatcmpl-"));
  EXPECT_EQ(reply["model"], "tiny-dense");
  EXPECT_TRUE(reply["system_fingerprint"].is_string() && reply["created"].is_number());
  EXPECT_EQ(reply["choices"][0]["index"], 0);
  EXPECT_EQ(reply["choices"][0]["message"]["role"], "assistant");
  EXPECT_TRUE(reply["choices"][0].contains("logprobs"));
  const std::string finish = reply["choices"][0]["finish_reason"];
  EXPECT_TRUE(finish == "stop" || finish == "length");
  const Json& usage = reply["usage"];
  EXPECT_EQ(usage["total_tokens"].get<int>(),
            usage["prompt_tokens"].get<int>() + usage["completion_tokens"].get<int>());
  EXPECT_TRUE(usage["prompt_tokens_details"]["cached_tokens"].is_number());
  const AnsweredQuestion alone =
      answer_question(tiny_model(), Question{.text = "Compute 12 + 3 * 7."},
                      parse_method("sample:max-tokens=24"), {.seed = 7});
  EXPECT_EQ(content(reply), alone.text);
}

TEST(Chat, ASearchIsTheSameByNameByObjectAndByAlias) {
  Json named = chat_body();
  named["model"] = "tiny-dense@cbs:steer=0.7:beams=4:prune=2";
  Json object = chat_body();
  object["search"] = {{"method", "cbs"}, {"steer", 0.7}, {"beams", 4}, {"prune", 2}};
  Json mixed = chat_body();
  mixed["model"] = "tiny-dense@cbs:steer=9:beams=4";
  mixed["search"] = {{"steer", 0.7}, {"prune", 2}, {"max_tokens", 24}};
  Json alias = chat_body();
  alias["model"] = "strong";
  alias["search"] = {{"max-tokens", 24}};
  const Json first = chat(named);
  for (const Json& body : {object, mixed, alias}) EXPECT_EQ(content(chat(body)), content(first));
  const AnsweredQuestion alone =
      answer_question(tiny_model(), Question{.text = "Compute 12 + 3 * 7."},
                      parse_method("cbs:steer=0.7:beams=4:prune=2:max-tokens=24"), {.seed = 7});
  EXPECT_EQ(content(first), alone.text);
  const Json& search = first["search"];
  for (const char* name : {"id", "method", "score", "generated_tokens", "scored_tokens",
                           "prompt_tokens", "cached_tokens", "seconds", "blocks", "pool"})
    EXPECT_TRUE(search.contains(name)) << name;
  EXPECT_EQ(search["generated_tokens"], alone.result.ledger.generated_tokens);
  EXPECT_EQ(search["scored_tokens"], alone.result.ledger.scored_tokens);
  EXPECT_EQ(search["pool"], alone.result.pool.size());
  EXPECT_EQ(first["usage"]["completion_tokens"], alone.result.answer().tokens.size());
}

TEST(Chat, SeveralAnswersOfASearchAreDistinctAndTheBestComesFirst) {
  Json body = chat_body("Compute 23 + 48.");
  body["model"] = "tiny-dense@beam:beams=8:prune=2";
  body["n"] = 3;
  const Json reply = chat(body);
  std::set<std::string> texts;
  for (const Json& choice : reply["choices"]) texts.insert(choice["message"]["content"]);
  EXPECT_EQ(texts.size(), reply["choices"].size());
  EXPECT_LE(reply["choices"].size(), 3u);
  body.erase("n");
  EXPECT_EQ(content(chat(body)), content(reply));
}

TEST(Chat, SeveralSamplesAreThoseOfTheNextSeeds) {
  Json body = chat_body();
  body["n"] = 3;
  const Json reply = chat(body);
  ASSERT_EQ(reply["choices"].size(), 3u);
  for (int i = 0; i < 3; ++i) {
    body["n"] = 1;
    body["seed"] = 7 + i;
    EXPECT_EQ(chat(body)["choices"][0]["message"], reply["choices"][i]["message"]);
  }
}

TEST(Chat, ContentIsATextOrTextParts) {
  Json parts = chat_body();
  parts["messages"][0]["content"] = {{{"type", "text"}, {"text", "Compute 12 + 3 * 7."}}};
  EXPECT_EQ(content(chat(parts)), content(chat(chat_body())));
  parts["messages"][0]["content"] = {{{"type", "image_url"}, {"image_url", {{"url", "a"}}}}};
  const Answer refused = post(shared_port(), kChat, parts);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.json()["error"]["param"], "messages[0].content[0].type");
}

TEST(Chat, ThoughtsAreToldApart) {
  Json body = chat_body();
  body["max_tokens"] = 200;
  body["temperature"] = 0;
  const std::string whole = content(chat(body));
  ASSERT_TRUE(whole.starts_with("<think>")) << "the shipped model thinks first";
  const auto close = whole.find("</think>");
  ASSERT_NE(close, std::string::npos);
  body.erase("reasoning_format");
  const Json message = chat(body)["choices"][0]["message"];
  EXPECT_TRUE(whole.ends_with(message["content"].get<std::string>()));
  EXPECT_EQ(message["content"].get<std::string>().find("think>"), std::string::npos);
  const std::string thoughts = message["reasoning_content"];
  EXPECT_NE(whole.substr(0, close).find(thoughts), std::string::npos);
  EXPECT_FALSE(thoughts.empty());
  EXPECT_EQ(message["reasoning"], thoughts);
  body["stream"] = true;
  std::string streamed_thoughts, streamed;
  for (const std::string& event : post(shared_port(), kChat, body).events()) {
    if (event == "[DONE]") continue;
    const Json delta = parse_json(event, "chunk")["choices"][0]["delta"];
    if (delta.contains("reasoning_content")) streamed_thoughts += delta["reasoning_content"];
    if (delta.contains("content")) streamed += delta["content"];
  }
  EXPECT_EQ(streamed_thoughts, thoughts);
  EXPECT_EQ(streamed, message["content"]);
}

TEST(Chat, BothNamesOfTheTokenLimit) {
  for (const char* name : {"max_tokens", "max_completion_tokens"}) {
    Json body = chat_body();
    body.erase("max_tokens");
    body[name] = 3;
    const Json reply = chat(body);
    EXPECT_EQ(reply["usage"]["completion_tokens"], 3);
    EXPECT_EQ(reply["choices"][0]["finish_reason"], "length");
  }
}

TEST(Chat, LogprobsHaveBytesAndAlternatives) {
  Json body = chat_body();
  body["logprobs"] = true;
  body["top_logprobs"] = 3;
  for (const char* model : {"tiny-dense", "strong"}) {
    body["model"] = model;
    const Json reply = chat(body);
    const Json& tokens = reply["choices"][0]["logprobs"]["content"];
    ASSERT_EQ(tokens.size(), reply["usage"]["completion_tokens"].get<std::size_t>());
    for (const Json& token : tokens) {
      EXPECT_EQ(token["top_logprobs"].size(), 3u);
      EXPECT_TRUE(token["bytes"].is_array());
      EXPECT_LE(token["logprob"].get<double>(), 0);
      EXPECT_GE(token["top_logprobs"][0]["logprob"].get<double>(), token["logprob"].get<double>());
    }
  }
}

TEST(Chat, TurnsRolesNamesAndTheBeginningOfAnAnswer) {
  Json body = chat_body();
  body["messages"] = {{{"role", "developer"}, {"content", "Be brief."}},
                      {{"role", "user"}, {"content", "Compute 1 + 1."}, {"name", "Ada"}},
                      {{"role", "assistant"}, {"content", "2"}},
                      {{"role", "user"}, {"content", "Compute 12 + 3 * 7."}}};
  const Answer turns = post(shared_port(), kChat, body);
  EXPECT_EQ(turns.status, 200) << turns.body;
  Json continued = chat_body();
  continued["messages"].push_back({{"role", "assistant"}, {"content", "12 + 21 = "}});
  continued["continue_final_message"] = true;
  continued["add_generation_prompt"] = false;
  continued["return_token_ids"] = true;
  const Json reply = chat(continued);
  const Json prompt =
      post(shared_port(), "/detokenize", {{"tokens", reply["prompt_token_ids"]}}).json();
  EXPECT_TRUE(prompt["prompt"].get<std::string>().ends_with("12 + 21 = ")) << prompt;
  continued["messages"].erase(1);
  EXPECT_EQ(post(shared_port(), kChat, continued).json()["error"]["param"],
            "continue_final_message");
  body["chat_template_kwargs"] = {{"enable_thinking", false}};
  EXPECT_EQ(post(shared_port(), kChat, body).status, 200);
  body["chat_template_kwargs"] = {{"messages", Json::array()}};
  const Answer own = post(shared_port(), kChat, body);
  EXPECT_EQ(own.status, 400);
  EXPECT_EQ(own.json()["error"]["param"], "chat_template_kwargs.messages");
}

TEST(Chat, ASearchLeavesItsTraceAndItsEvents) {
  Json body = chat_body();
  body["model"] = "strong";
  body["search"] = {{"id", "mine-1"}, {"trace", true}, {"block", 8}};
  Client listener(shared_port());
  listener.request("GET", "/v1/searches/mine-1/events");
  ASSERT_TRUE(listener.wait_for(": listening"));
  const Json reply = chat(body);
  EXPECT_EQ(reply["search"]["id"], "mine-1");
  const Answer events = listener.answer();
  EXPECT_EQ(events.header("content-type"), "text/event-stream; charset=utf-8");
  const std::vector<std::string> data = events.events();
  ASSERT_GE(data.size(), 2u);
  const Json first = parse_json(data[0], "event");
  EXPECT_EQ(first["block"], 1);
  ASSERT_EQ(first["candidates"].size(), 4u);
  EXPECT_EQ(first["candidates"][0]["tokens"].size(), first["candidates"][0]["texts"].size());
  EXPECT_NE(events.body.find("event: done"), std::string::npos);
  const Json trace = ask(shared_port(), "GET", "/v1/searches/mine-1").json();
  EXPECT_EQ(trace["status"], "done");
  EXPECT_EQ(trace["blocks"].size(), reply["search"]["blocks"].get<std::size_t>());
  EXPECT_EQ(trace["selected"], reply["search"]["trace"]["selected"]);
  EXPECT_EQ(trace["blocks"][0]["candidates"][0]["tokens"],
            reply["search"]["trace"]["blocks"][0]["candidates"][0]["tokens"]);
  EXPECT_EQ(ask(shared_port(), "DELETE", "/v1/searches/mine-1").status, 200);
  // Without an id of one's own it cannot be guessed.
  EXPECT_GT(chat(chat_body())["search"]["id"].get<std::string>().size(), 32u);
}

TEST(Chat, ARunningSearchCanBeCancelled) {
  Json body = chat_body("Write a very long story.");
  body["model"] = "tiny-dense@cbs:beams=32:prune=2:block=4";
  body["search"] = {{"id", "long-1"}};
  body["max_tokens"] = 2000;
  Client client(shared_port());
  client.request("POST", kChat, to_line(body));
  Json trace;
  do {
    trace = ask(shared_port(), "GET", "/v1/searches/long-1").json();
  } while (!trace.contains("blocks") || trace["blocks"].empty());
  Json again = chat_body();
  again["search"] = {{"id", "long-1"}};
  EXPECT_EQ(post(shared_port(), kChat, again).json()["error"]["param"], "search.id");
  EXPECT_EQ(ask(shared_port(), "DELETE", "/v1/searches/long-1").status, 200);
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, 200) << "the best answer so far";
  EXPECT_EQ(answer.json()["search"]["interrupted"], true);
}

TEST(Chat, ASearchThatWaitsIsCancelledAtOnce) {
  ServerOptions options;
  options.searches = 1;
  const TestServer server(std::move(options));
  Json body = chat_body("Write a very long story.");
  body["model"] = "tiny-dense@cbs:beams=32:prune=2:block=4";
  body["max_tokens"] = 2000;
  body["search"] = {{"id", "runs"}};
  Client running(server.port()), waiting(server.port());
  running.request("POST", kChat, to_line(body));
  while (server.metric("vllm:num_requests_running") != 1) std::this_thread::yield();
  body["search"] = {{"id", "waits"}};
  waiting.request("POST", kChat, to_line(body));
  while (server.metric("vllm:num_requests_waiting") != 1) std::this_thread::yield();
  EXPECT_EQ(ask(server.port(), "DELETE", "/v1/searches/waits").json()["cancelled"], true);
  const Answer cancelled = waiting.answer();
  EXPECT_EQ(cancelled.status, 400);
  EXPECT_EQ(cancelled.json()["error"]["code"], "cancelled");
  EXPECT_EQ(cancelled.header("x-should-retry"), "false");
  EXPECT_EQ(ask(server.port(), "GET", "/v1/searches/waits").json()["status"], "failed");
  EXPECT_EQ(server.metric("vllm:num_requests_waiting"), 0);
  EXPECT_EQ(ask(server.port(), "DELETE", "/v1/searches/waits").json()["cancelled"], false);
  EXPECT_EQ(ask(server.port(), "DELETE", "/v1/searches/runs").json()["cancelled"], true);
  EXPECT_NE(running.answer().status, 0);
}

TEST(Chat, UnsupportedFieldsAreNamed) {
  const std::pair<const char*, Json> fields[] = {{"tools", Json::array({{{"type", "function"}}})},
                                                 {"functions", Json::array({{{"name", "f"}}})},
                                                 {"response_format", {{"type", "json_object"}}},
                                                 {"audio", {{"voice", "a"}}},
                                                 {"modalities", {"text", "audio"}},
                                                 {"logit_bias", {{"5", 1}}},
                                                 {"frequency_penalty", 0.5},
                                                 {"presence_penalty", -1}};
  for (const auto& [name, value] : fields) {
    Json body = chat_body();
    body[name] = value;
    const Answer answer = post(shared_port(), kChat, body);
    EXPECT_EQ(answer.status, 400) << name;
    EXPECT_EQ(answer.json()["error"]["param"], name);
  }
  Json harmless = chat_body();
  for (const char* name : {"tools", "functions"}) harmless[name] = Json::array();
  harmless["response_format"] = {{"type", "text"}};
  harmless["frequency_penalty"] = 0;
  harmless["unknown_field"] = {{"a", 1}};
  harmless["user"] = "me";
  harmless["tool_choice"] = nullptr;
  EXPECT_EQ(post(shared_port(), kChat, harmless).status, 200);
}

TEST(Chat, ToolsAreLeftOutWhereTheServerIsToldTo) {
  ServerOptions options;
  options.ignore_tools = true;
  const TestServer server(std::move(options));
  Json body = chat_body();
  const std::string without = content(post(server.port(), kChat, body).json());
  body["tools"] = Json::array({{{"type", "function"}, {"function", {{"name", "f"}}}}});
  body["functions"] = Json::array({{{"name", "f"}}});
  const Answer answer = post(server.port(), kChat, body);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(content(answer.json()), without);
  body["audio"] = {{"voice", "a"}};
  EXPECT_EQ(post(server.port(), kChat, body).json()["error"]["param"], "audio");
}

TEST(Chat, ARequestThatCannotFitSaysTheNumbers) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "12 + 3 * 7, ";
  const Answer answer = post(shared_port(), kChat, chat_body(text));
  EXPECT_EQ(answer.status, 400);
  const Json error = answer.json()["error"];
  EXPECT_EQ(error["code"], "context_length_exceeded");
  EXPECT_EQ(error["param"], "messages");
}

}  // namespace
}  // namespace counterbeam::serve::testing
