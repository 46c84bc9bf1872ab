// Faults between a client and its servers: each ends in the right answer or in a clear error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/simulated_server.h"

namespace counterbeam::testing {
namespace {

using ::testing::HasSubstr;

const std::vector<std::vector<TokenId>> kFaultPrompts = {std::vector<TokenId>(37, 3),
                                                         std::vector<TokenId>(20, 5)};

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Extension one_block(RemoteEngine& engine, std::uint64_t seed = 1) {
  Opened opened = engine.open(kFaultPrompts);
  ExtendRequest request;
  request.sequence = &opened.sequences[0];
  request.followers = {&opened.sequences[1]};
  request.max_tokens = 12;
  request.key.seed = seed;
  return engine.extend({&request, 1})[0];
}

void expect_right(const ToyDistribution& toy, const Extension& result) {
  ASSERT_EQ(result.tokens.size(), 12u);
  for (std::size_t i = 0; i < 12; ++i) {
    std::vector<TokenId> before = kFaultPrompts[1];
    before.insert(before.end(), result.tokens.begin(), result.tokens.begin() + std::ptrdiff_t(i));
    EXPECT_NEAR(result.follower_logprobs[0][i], toy.logprob(before, result.tokens[i]), 1e-5);
  }
}

// Faults begin after the probe: `armed` turns them on.
struct FaultyServer {
  explicit FaultyServer(std::function<std::optional<SpokenReply>(int)> fault) {
    SimulatedOptions options;
    options.fault = [this, fault](const HeardRequest& request) -> std::optional<SpokenReply> {
      if (!armed || request.method != "POST") return std::nullopt;
      return fault(count++);
    };
    server.emplace(std::move(options));
  }
  std::atomic<bool> armed = false;
  std::atomic<int> count = 0;
  std::optional<SimulatedServer> server;
};

SpokenReply cut_connection() {
  return {.raw = [](int socket) {
    HttpListener::send_all(socket, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"choi");
  }};
}

TEST(RemoteFaults, TransientFailuresAreRepeated) {
  const std::pair<const char*, SpokenReply> faults[] = {
      {"429", {429, R"({"error": {"message": "busy"}})", "Retry-After: 0\r\n"}},
      {"503", {503, "{}"}},
      {"500", {500, "engine died"}},
      {"cut", cut_connection()},
      {"closed", {.raw = [](int) {}}}};
  for (const auto& [name, reply] : faults) {
    FaultyServer faulty([&, &fault = reply](int number) -> std::optional<SpokenReply> {
      if (number % 2 == 0) return fault;
      return std::nullopt;
    });
    RemoteEngine engine(simulated_options({faulty.server->url()}), simulated_model());
    faulty.armed = true;
    expect_right(faulty.server->toy(), one_block(engine));
    EXPECT_GE(faulty.count, 4) << name;
  }
}

TEST(RemoteFaults, LastingFailuresAreErrorsThatNameTheServer) {
  struct Case {
    SpokenReply reply;
    std::string message;
  };
  const Case cases[] = {
      {{400, R"({"error": {"message": "bad thing"}})"}, "400 bad thing"},
      {{404, "<html>nothing</html>"}, "404"},
      {{401, "{}"}, "COUNTERBEAM_ENGINE_KEY"},
      {{503, R"({"error": "loading"})"}, "503 loading; gave up after"},
      {{200, "<!doctype html><p>login"}, "HTML"},
      {{200, "{\"choices\": [}"}, "not valid JSON"},
      {{200, "{}"}, "choices is missing"},
      {{200, R"({"choices": [{"token_ids": [1, 2], "logprobs": {"content": []}}]})"},
       "2 tokens and 0 log-probabilities"},
      {{200, R"({"choices": [{"token_ids": [-4], "logprobs": {"content": [{"logprob": -1}]}}]})"},
       "is -4, which is no id"},
      {{200, R"({"choices": [{"token_ids": [99], "logprobs": {"content": [{"logprob": -1}]}}]})"},
       "it drew token 99"},
      {{200, R"({"choices": [{"token_ids": [9], "logprobs": {"content": [{"logprob": 7.5}]}}]})"},
       "--logprobs-mode"},
      {{200, R"({"choices": [{"token_ids": [9], "logprobs": {"content": [{"logprob": -1e39}]}}]})"},
       "a log-probability of the reply is -1e+39"},
      {{200, ""}, "the reply is empty"}};
  for (const Case& one : cases) {
    FaultyServer faulty([&](int) { return one.reply; });
    RemoteOptions options = simulated_options({faulty.server->url()});
    options.patience = std::chrono::milliseconds(60);
    RemoteEngine engine(options, simulated_model());
    faulty.armed = true;
    const std::string message = message_of([&] { one_block(engine); });
    EXPECT_THAT(message, HasSubstr(one.message));
    EXPECT_THAT(message, HasSubstr(faulty.server->url()));
  }
}

TEST(RemoteFaults, AReplyOfTwoGigabytesStopsAtTheBound) {
  for (const bool says_length : {true, false}) {
    std::atomic<std::int64_t> sent = 0;
    FaultyServer faulty([&](int) -> std::optional<SpokenReply> {
      return SpokenReply{.raw = [&sent, says_length](int socket) {
        HttpListener::send_all(socket, says_length
                                           ? "HTTP/1.1 200 OK\r\nContent-Length: 2147483648\r\n\r\n"
                                           : "HTTP/1.1 200 OK\r\n\r\n");
        const std::string piece(1 << 20, ' ');
        for (int i = 0; i < 2048 && HttpListener::send_all(socket, piece); ++i) sent += 1 << 20;
      }};
    });
    RemoteOptions options = simulated_options({faulty.server->url()});
    options.http.most_bytes = 8 << 20;
    RemoteEngine engine(options, simulated_model());
    faulty.armed = true;
    EXPECT_THAT(message_of([&] { one_block(engine); }), HasSubstr("more than 8 MiB"));
    EXPECT_LT(sent, 64 << 20);
  }
}

TEST(RemoteFaults, SlowDripsEndAtTheTimeLimit) {
  FaultyServer faulty([&](int) -> std::optional<SpokenReply> {
    return SpokenReply{.raw = [](int socket) {
      HttpListener::send_all(socket, "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n");
      for (int i = 0; i < 200 && HttpListener::send_all(socket, " "); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }};
  });
  RemoteOptions options = simulated_options({faulty.server->url()});
  options.http.timeout = std::chrono::milliseconds(150);
  RemoteEngine engine(options, simulated_model());
  faulty.armed = true;
  EXPECT_THAT(message_of([&] { one_block(engine); }), HasSubstr("timed out"));
}

TEST(RemoteFaults, CancellationEndsACallAtOnce) {
  FaultyServer faulty([&](int) -> std::optional<SpokenReply> {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    return std::nullopt;
  });
  RemoteEngine engine(simulated_options({faulty.server->url()}), simulated_model());
  Opened opened = engine.open(kFaultPrompts);
  faulty.armed = true;
  Cancellation cancellation;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancellation.cancel();
  });
  ExtendRequest request;
  request.sequence = &opened.sequences[0];
  request.max_tokens = 4;
  EXPECT_THROW(engine.extend({&request, 1}, &cancellation), Cancelled);
  EXPECT_EQ(opened.sequences[0].length(), 37);
  later.join();
}

TEST(RemoteFaults, WhatIsNoServerOfModelsIsRefused) {
  const auto connect = [](const std::string& url) {
    return message_of([&] { RemoteEngine(simulated_options({url}), simulated_model()); });
  };
  EXPECT_THAT(connect("http://127.0.0.1:1"), HasSubstr("http://127.0.0.1:1"));
  HttpListener page([](const HeardRequest&) { return SpokenReply{200, "<html>hello</html>"}; });
  EXPECT_THAT(connect(page.url()), HasSubstr("HTML"));
  HttpListener nothing([](const HeardRequest&) { return SpokenReply{404, "no"}; });
  EXPECT_THAT(connect(nothing.url()), HasSubstr("/v1/models gives 404"));
  SimulatedOptions locked;
  locked.key = "secret";
  SimulatedServer with_key(locked);
  EXPECT_THAT(connect(with_key.url()), HasSubstr("wants a key (401)"));
  RemoteOptions options = simulated_options({with_key.url()});
  options.http.key = "secret";
  EXPECT_NO_THROW(RemoteEngine(options, simulated_model()));
  SimulatedOptions no_ids;
  no_ids.kind = SimulatedOptions::Kind::Echo;
  no_ids.token_ids = false;
  SimulatedServer texts(no_ids);
  EXPECT_THAT(connect(texts.url()), HasSubstr("return_token_ids is not understood"));
}

TEST(RemoteFaults, TheModelIsChosenByName) {
  SimulatedOptions several;
  several.models = {"small", "large"};
  SimulatedServer server(several);
  RemoteOptions options = simulated_options({server.url()});
  const auto connect = [&] {
    return message_of([&] { RemoteEngine(options, simulated_model()); });
  };
  EXPECT_THAT(connect(), HasSubstr("several models (small, large); choose one by --engine-model"));
  options.probe.model = "huge";
  EXPECT_THAT(connect(), HasSubstr("serves no model \"huge\"; it has: small, large"));
  options.probe.model = "large";
  EXPECT_EQ(connect(), "no error");
}

TEST(RemoteFaults, AddressesAreChecked) {
  EXPECT_EQ(remote_urls("http://a:1/v1/,https://b"),
            (std::vector<std::string>{"http://a:1", "https://b"}));
  for (const char* bad : {"", "a:1", "http://", "http://a,", "ftp://a", "http://a b", "http://a\n",
                          "http://a?x", "http://a,http://a"})
    EXPECT_THROW(remote_urls(bad), BadInput) << bad;
  EXPECT_THAT(message_of([] { remote_urls("http://me:key@host"); }),
              ::testing::Not(HasSubstr("key@")));
}

TEST(RemoteFleetTest, SearchesSpreadAndMoveWhenTheirServerDies) {
  SimulatedOptions first, second;
  std::optional<SimulatedServer> a(std::in_place, first), b(std::in_place, second);
  RemoteEngine engine(simulated_options({a->url(), b->url()}), simulated_model());
  std::vector<Opened> searches;
  for (int i = 0; i < 4; ++i) searches.push_back(engine.open(kFaultPrompts));
  for (const auto& server : engine.fleet().servers()) EXPECT_EQ(server.searches, 2);
  const auto extend_all = [&](std::uint64_t seed) {
    for (Opened& opened : searches) {
      ExtendRequest request;
      request.sequence = &opened.sequences[0];
      request.followers = {&opened.sequences[1]};
      request.max_tokens = 12;
      request.key.seed = seed;
      EXPECT_EQ(engine.extend({&request, 1})[0].tokens.size(), 12u);
    }
  };
  extend_all(1);
  EXPECT_GT(a->requests("/inference/v1/generate"), 0);
  EXPECT_GT(b->requests("/inference/v1/generate"), 0);
  const int port = a->port();
  a.reset();
  extend_all(2);
  EXPECT_FALSE(engine.fleet().servers()[0].alive);
  for (const Opened& opened : searches) EXPECT_EQ(opened.sequences[0].length(), 37 + 24);
  // It comes back, and is used again.
  SimulatedOptions back;
  back.port = port;
  a.emplace(back);
  for (int i = 0; i < 500 && !engine.fleet().servers()[0].alive; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(engine.fleet().servers()[0].alive);
  const int before = a->requests("/inference/v1/generate");
  expect_right(a->toy(), one_block(engine));
  EXPECT_GT(a->requests("/inference/v1/generate"), before);
}

TEST(RemoteFleetTest, AServerThatIsNotThereYetIsUsedLater) {
  SimulatedServer alive;
  int port = 0;
  {
    SimulatedServer gone;
    port = gone.port();
  }
  const std::string later = "http://127.0.0.1:" + std::to_string(port);
  RemoteEngine engine(simulated_options({alive.url(), later}), simulated_model());
  EXPECT_THAT(engine.warnings(), ::testing::Contains(HasSubstr(later)));
  expect_right(alive.toy(), one_block(engine));
}

// Threads search over two servers while each of them is killed and restarted again and again.
TEST(RemoteFleetTest, NothingIsLostWhileServersComeAndGo) {
  std::optional<SimulatedServer> servers[2];
  for (auto& server : servers) server.emplace();
  const int ports[2] = {servers[0]->port(), servers[1]->port()};
  RemoteOptions options = simulated_options({servers[0]->url(), servers[1]->url()});
  options.patience = std::chrono::milliseconds(20'000);
  RemoteEngine engine(options, simulated_model());
  const ToyDistribution toy(40);
  std::atomic<int> done = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 10; ++i) {
        expect_right(toy, one_block(engine, 100 * t + i));
        ++done;
      }
    });
  for (int i = 0; i < 6 && done < 40; ++i) {
    servers[i % 2].reset();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    SimulatedOptions back;
    back.port = ports[i % 2];
    servers[i % 2].emplace(back);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 40);
}

}  // namespace
}  // namespace counterbeam::testing
