// Streams, disconnects, the queue and draining: lines 40 to 50 of the conformance list.
#include <sys/socket.h>

#include "base/utf8.h"
#include "serve/test_server.h"

namespace counterbeam::serve::testing {
namespace {

const char* const kChat = "/v1/chat/completions";

Json long_search(int beams = 16) {
  Json body = chat_body("Write a very long story about numbers.");
  body["model"] = fmt::format("tiny-dense@beam:beams={}:prune=2:block=4", beams);
  body["max_tokens"] = 4000;
  body["temperature"] = 1.5;
  return body;
}

// Waits until the condition holds; false: it did not within ten seconds.
template <typename Condition>
bool soon(const Condition& condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(Stream, HasTheShapeThatClientsExpect) {
  for (const char* model : {"tiny-dense", "strong"}) {
    Json body = chat_body();
    body["model"] = model;
    const std::string whole =
        post(shared_port(), kChat, body).json()["choices"][0]["message"]["content"];
    body["stream"] = true;
    body["stream_options"] = {{"include_usage", true}};
    const Answer answer = post(shared_port(), kChat, body);
    EXPECT_EQ(answer.header("content-type"), "text/event-stream; charset=utf-8");
    EXPECT_EQ(answer.header("cache-control"), "no-cache");
    EXPECT_EQ(answer.header("x-accel-buffering"), "no");
    std::vector<std::string> events = answer.events();
    ASSERT_GE(events.size(), 4u) << answer.body;
    EXPECT_EQ(events.back(), "[DONE]");
    events.pop_back();
    const Json usage = parse_json(events.back(), "usage");
    EXPECT_EQ(usage["choices"], Json::array());
    EXPECT_GT(usage["usage"]["completion_tokens"].get<int>(), 0);
    events.pop_back();
    std::string text;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Json chunk = parse_json(events[i], "chunk");
      EXPECT_EQ(chunk["object"], "chat.completion.chunk");
      ASSERT_EQ(chunk["choices"].size(), 1u) << "no chunk but the last is empty";
      const Json& choice = chunk["choices"][0];
      EXPECT_EQ(choice["index"], 0);
      if (i == 0) {
        EXPECT_EQ(choice["delta"]["role"], "assistant");
      }
      if (choice["delta"].contains("content")) text += choice["delta"]["content"];
      const bool last = i + 1 == events.size();
      EXPECT_EQ(choice["finish_reason"].is_null(), !last);
      if (last) {
        EXPECT_EQ(choice["delta"], Json::object());
        EXPECT_TRUE(chunk["search"].contains("generated_tokens"));
      }
    }
    EXPECT_EQ(text, whole);
  }
}

TEST(Stream, CompletionsStreamTextsWithLogprobs) {
  Json body = {{"prompt", "Compute 12 + 3 * 7."}, {"max_tokens", 20}, {"seed", 4}, {"logprobs", 2}};
  const Json whole = post(shared_port(), "/v1/completions", body).json()["choices"][0];
  body["stream"] = true;
  std::string text;
  Json tokens = Json::array(), offsets = Json::array();
  for (const std::string& event : post(shared_port(), "/v1/completions", body).events()) {
    if (event == "[DONE]") continue;
    const Json choice = parse_json(event, "chunk")["choices"][0];
    text += choice["text"];
    if (choice["logprobs"].is_null()) continue;
    for (const Json& token : choice["logprobs"]["tokens"]) tokens.push_back(token);
    for (const Json& offset : choice["logprobs"]["text_offset"]) offsets.push_back(offset);
  }
  EXPECT_EQ(text, whole["text"]);
  EXPECT_EQ(tokens, whole["logprobs"]["tokens"]);
  EXPECT_EQ(offsets, whole["logprobs"]["text_offset"]);
}

// Stop texts and bytes of characters hold text back, and searches send tokens at their end; the
// pieces together are the whole answer all the same.
TEST(Stream, PiecesOfCompletionsAreTheWholeAnswer) {
  for (int seed = 0; seed < 12; ++seed) {
    Json body = {{"prompt", {"Compute 1 + 1.", "\u20ac 12"}},
                 {"max_tokens", 20},
                 {"seed", seed},
                 {"temperature", seed % 2 == 0 ? 30.0 : 1.0},
                 {"stop", {" and", "12 +", "\n\n"}},
                 {"echo", seed % 3 == 0},
                 {"n", 1 + seed % 2}};
    if (seed % 4 != 3) body["logprobs"] = seed % 4;
    if (seed % 5 == 4) body["model"] = "tiny-dense@beam:beams=4:prune=2:block=5";
    if (seed == 6) body["max_tokens"] = 0;
    const Json whole = post(shared_port(), "/v1/completions", body).json()["choices"];
    body["stream"] = true;
    std::map<int, Json> pieces;
    for (const std::string& event : post(shared_port(), "/v1/completions", body).events()) {
      if (event == "[DONE]") continue;
      const Json choice = parse_json(event, "chunk")["choices"][0];
      Json& piece = pieces[choice["index"]];
      if (piece.is_null()) piece = {{"text", ""}, {"logprobs", nullptr}};
      piece["text"] = piece["text"].get<std::string>() + choice["text"].get<std::string>();
      piece["finish_reason"] = choice["finish_reason"];
      if (choice["logprobs"].is_null()) continue;
      for (const auto& [name, values] : choice["logprobs"].items())
        for (const Json& value : values) piece["logprobs"][name].push_back(value);
    }
    ASSERT_EQ(pieces.size(), whole.size()) << seed;
    for (const Json& choice : whole) {
      Json& piece = pieces[choice["index"]];
      for (const char* name : {"text", "finish_reason", "logprobs"})
        EXPECT_EQ(piece[name], choice[name]) << seed << " " << name;
    }
  }
}

TEST(Stream, CharactersAndStopTextsAreNeverCut) {
  for (int seed = 0; seed < 6; ++seed) {
    Json body = chat_body("Say something.");
    body["seed"] = seed;
    body["temperature"] = 30;  // any token, bytes of characters included
    body["max_tokens"] = 60;
    body["stop"] = {"qq", "zzz"};
    const std::string whole =
        post(shared_port(), kChat, body).json()["choices"][0]["message"]["content"];
    body["stream"] = true;
    std::string text;
    for (const std::string& event : post(shared_port(), kChat, body).events()) {
      if (event == "[DONE]") continue;
      const Json delta = parse_json(event, "chunk")["choices"][0]["delta"];
      if (!delta.contains("content")) continue;
      EXPECT_TRUE(is_valid_utf8(delta["content"].get<std::string>()));
      text += delta["content"];
    }
    EXPECT_EQ(text, whole);
  }
}

TEST(Stream, SeveralChoicesShareAStream) {
  Json body = chat_body();
  body["n"] = 3;
  const Json whole = post(shared_port(), kChat, body).json();
  body["stream"] = true;
  std::map<int, std::string> texts;
  int ends = 0;
  for (const std::string& event : post(shared_port(), kChat, body).events()) {
    if (event == "[DONE]") continue;
    const Json choice = parse_json(event, "chunk")["choices"][0];
    if (choice["delta"].contains("content")) texts[choice["index"]] += choice["delta"]["content"];
    ends += !choice["finish_reason"].is_null();
  }
  EXPECT_EQ(ends, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(texts[i], whole["choices"][i]["message"]["content"]);
}

TEST(Stream, SilenceIsBrokenByComments) {
  ServerOptions options;
  options.searches = 1;
  options.keep_alive = std::chrono::milliseconds(50);
  const TestServer server(std::move(options));
  Client first(server.port());
  first.request("POST", kChat, to_line(long_search()));
  ASSERT_TRUE(soon([&] { return server.metric("vllm:num_requests_running") == 1; }));
  Json body = chat_body();
  body["stream"] = true;
  Client second(server.port());
  second.request("POST", kChat, to_line(body));
  EXPECT_TRUE(second.wait_for(": keep-alive")) << "while it is queued";
  first.close();
  EXPECT_TRUE(second.wait_for("[DONE]"));
}

TEST(Disconnects, FreeTheirBeamsWhereverTheyHappen) {
  ServerOptions options;
  options.searches = 2;
  const TestServer server(std::move(options));
  const double connections = server.metric("counterbeam:connections");
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 8; ++i) {  // two run, six wait
      Json body = long_search(4);
      body["stream"] = i % 2 == 0;
      clients.push_back(std::make_unique<Client>(server.port()));
      clients.back()->request("POST", kChat, to_line(body));
    }
    ASSERT_TRUE(soon([&] { return server.metric("vllm:num_requests_waiting") == 6; }));
    for (std::size_t i = 0; i < clients.size(); ++i)
      i % 3 == 0 ? clients[i]->abort() : clients[i]->close();
    EXPECT_TRUE(soon([&] {
      return server.metric("vllm:num_requests_running") == 0 &&
             server.metric("vllm:num_requests_waiting") == 0 &&
             server.metric("counterbeam:sequences") == 0 &&
             server.metric("counterbeam:cache_pages_used") == 0 &&
             server.metric("counterbeam:connections") == connections;
    })) << round;
  }
  EXPECT_GE(server.metric("counterbeam:requests_cancelled_total"), 24);
}

TEST(Disconnects, AReaderThatStallsIsDroppedAndOthersGoOn) {
  ServerOptions options;
  options.limits.stall = std::chrono::milliseconds(300);
  options.limits.backlog_bytes = 200'000;
  const TestServer server(std::move(options));
  Client stalled(server.port());
  const int small = 4096;
  ::setsockopt(stalled.socket(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  // Asks for far more than buffers hold, and reads nothing.
  for (int i = 0; i < 400; ++i)
    if (!stalled.send("GET /v1/methods HTTP/1.1\r\nHost: localhost\r\n\r\n")) break;
  const Json body = chat_body();
  EXPECT_EQ(post(server.port(), kChat, body).status, 200);
  EXPECT_TRUE(soon([&] { return server.metric("counterbeam:connections") == 1; }))
      << "only that of the question itself";
}

TEST(Queue, IsBoundedAndFairAndSaysWhenToTryAgain) {
  ServerOptions options;
  options.searches = 1;
  options.queue = 2;
  TestServer server(std::move(options));
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<Client>(server.port()));
    clients.back()->request("POST", kChat, to_line(long_search(4)));
    if (i == 0) {
      ASSERT_TRUE(soon([&] { return server.metric("vllm:num_requests_running") == 1; }));
    }
  }
  ASSERT_TRUE(soon([&] { return server.metric("vllm:num_requests_waiting") == 2; }));
  const Answer full = post(server.port(), kChat, chat_body());
  EXPECT_EQ(full.status, 429);
  EXPECT_GE(std::stoi(full.header("retry-after")), 1);
  EXPECT_EQ(full.json()["error"]["code"], "queue_full");
  EXPECT_EQ(ask(server.port(), "GET", "/v1/models").status, 200) << "under full load";
  EXPECT_GT(server.metric("counterbeam:http_responses_total"), 0);
}

TEST(Drain, FinishesWhatRunsAndRefusesTheRest) {
  ServerOptions options;
  options.searches = 1;
  TestServer server(std::move(options));
  Json body = chat_body();
  body["model"] = "tiny-dense@beam:beams=16:prune=2:block=4";
  body["max_tokens"] = 200;
  body["stream"] = true;
  Client running(server.port()), waiting(server.port());
  running.request("POST", kChat, to_line(body));
  ASSERT_TRUE(soon([&] { return server.metric("vllm:num_requests_running") == 1; }));
  Json queued = body;
  queued["stream"] = false;
  waiting.request("POST", kChat, to_line(queued));
  ASSERT_TRUE(soon([&] {
    return server.metric("vllm:num_requests_waiting") == 1 ||
           server.metric("vllm:num_requests_running") == 0;
  }));
  server.server().drain();
  const Answer refused = waiting.answer();
  EXPECT_TRUE(refused.status == 503 || refused.status == 200) << refused.status;
  if (refused.status == 503) {
    EXPECT_FALSE(refused.header("retry-after").empty());
  }
  const Answer finished = running.answer();
  EXPECT_EQ(finished.status, 200);
  EXPECT_EQ(finished.events().back(), "[DONE]");
  server.stop();
}

TEST(Loading, IsSaidUntilTheModelIsThere) {
  ServerOptions options;
  options.port = 0;
  options.log = LogFormat::None;
  Server server(std::move(options));
  const Answer health = ask(server.port(), "GET", "/health");
  EXPECT_EQ(health.status, 503);
  EXPECT_EQ(health.json()["error"]["message"], "Loading model");
  EXPECT_EQ(health.json()["status"], "loading");
  EXPECT_FALSE(health.header("retry-after").empty());
  EXPECT_EQ(post(server.port(), kChat, chat_body()).status, 503);
  EXPECT_EQ(ask(server.port(), "GET", "/v1/models").status, 503);
}

TEST(Load, AThousandIdleConnectionsDisturbNobody) {
  const TestServer server;
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < 1000; ++i) {
    idle.push_back(std::make_unique<Client>(server.port()));
    if (!idle.back()->connected()) GTEST_SKIP() << "only " << i << " files may be open";
  }
  EXPECT_EQ(post(server.port(), kChat, chat_body()).status, 200);
  EXPECT_GE(server.metric("counterbeam:connections"), 1000);
}

}  // namespace
}  // namespace counterbeam::serve::testing
