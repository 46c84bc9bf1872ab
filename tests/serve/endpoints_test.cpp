// The endpoints, keys and errors of the conformance list (lines 1 to 16), over raw sockets.
#include <set>

#include "serve/test_server.h"

namespace counterbeam::serve::testing {
namespace {

std::set<std::string> model_ids(const Json& list) {
  std::set<std::string> ids;
  for (const Json& model : list["data"]) ids.insert(model["id"].get<std::string>());
  return ids;
}

TEST(Endpoints, ModelsListsThePlainModelEveryMethodAndEveryAlias) {
  for (const char* path : {"/v1/models", "/models"}) {
    const Answer answer = ask(shared_port(), "GET", path);
    ASSERT_EQ(answer.status, 200) << path;
    const Json list = answer.json();
    EXPECT_EQ(list["object"], "list");
    const std::set<std::string> ids = model_ids(list);
    for (const char* name : {"tiny-dense", "tiny-dense@cbs", "tiny-dense@beam", "tiny-dense@greedy",
                             "tiny-dense@self-consistency", "strong"})
      EXPECT_TRUE(ids.count(name)) << name;
    for (const Json& model : list["data"]) {
      EXPECT_EQ(model["object"], "model");
      EXPECT_GT(model["max_model_len"].get<int>(), 0);
      EXPECT_TRUE(model["created"].is_number() && model["owned_by"].is_string());
    }
  }
}

TEST(Endpoints, AModelIsShownByItsEncodedId) {
  for (const char* path : {"/v1/models/tiny-dense", "/v1/models/tiny-dense%40cbs",
                           "/models/tiny-dense@cbs:steer=0.7", "/v1/models/strong"}) {
    const Answer answer = ask(shared_port(), "GET", path);
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_EQ(answer.json()["object"], "model");
  }
  EXPECT_EQ(ask(shared_port(), "GET", "/v1/models/tiny-dense%40cbs").json()["id"],
            "tiny-dense@cbs");
  const Answer absent = ask(shared_port(), "GET", "/v1/models/gpt-4");
  EXPECT_EQ(absent.status, 404);
  EXPECT_EQ(absent.json()["error"]["code"], "model_not_found");
  EXPECT_NE(absent.body.find("tiny-dense@cbs"), std::string::npos) << "names those that exist";
}

TEST(Endpoints, HealthVersionMetricsAndTheirOtherSpelling) {
  for (const std::string prefix : {"", "/v1"}) {
    EXPECT_EQ(ask(shared_port(), "GET", prefix + "/health").json()["status"], "ok");
    EXPECT_EQ(ask(shared_port(), "GET", prefix + "/version").json()["version"], "test");
    EXPECT_EQ(ask(shared_port(), "GET", prefix + "/metrics").status, 200);
    EXPECT_EQ(ask(shared_port(), "GET", prefix + "/methods").status, 200);
    EXPECT_EQ(ask(shared_port(), "GET", prefix + "/tokenizer_info").status, 200);
    EXPECT_EQ(post(shared_port(), prefix + "/tokenize", {{"prompt", "a"}}).status, 200);
  }
  EXPECT_EQ(ask(shared_port(), "HEAD", "/health").body, "");
}

TEST(Endpoints, TokenizerRoutesTakeBothSpellings) {
  const Json info = ask(shared_port(), "GET", "/tokenizer_info").json();
  EXPECT_TRUE(info["eos_token"].is_string());
  EXPECT_TRUE(info["chat_template"].is_string());
  const std::string text = "Compute 12 + 3 * 7. \u20ac";
  const Json tokens =
      post(shared_port(), "/tokenize", {{"prompt", text}, {"add_special_tokens", false}}).json();
  EXPECT_EQ(tokens["count"], tokens["tokens"].size());
  EXPECT_GT(tokens["max_model_len"].get<int>(), 0);
  EXPECT_EQ(post(shared_port(), "/tokenize", {{"content", text}}).json()["tokens"],
            tokens["tokens"]);
  const Json back = post(shared_port(), "/detokenize", {{"tokens", tokens["tokens"]}}).json();
  EXPECT_EQ(back["prompt"], text);
  EXPECT_EQ(back["content"], text);
  const Json chat =
      post(shared_port(), "/tokenize", {{"messages", chat_body()["messages"]}}).json();
  EXPECT_GT(chat["count"].get<int>(), tokens["count"].get<int>());
}

TEST(Endpoints, MethodsDescribeTheirSettings) {
  const Json methods = ask(shared_port(), "GET", "/v1/methods").json();
  ASSERT_EQ(methods["data"][0]["name"], "cbs");
  EXPECT_EQ(methods["data"][0]["model"], "tiny-dense@cbs");
  const Json& beams = methods["data"][0]["settings"][0];
  EXPECT_EQ(beams["name"], "beams");
  EXPECT_EQ(beams["default"], 16);
  EXPECT_EQ(beams["least"], 1);
  EXPECT_FALSE(beams["help"].get<std::string>().empty());
  EXPECT_EQ(methods["contexts"][0]["name"], "reasoning");
}

TEST(Endpoints, ThePageIsEmbeddedAndAsksNoOtherHost) {
  const Answer page = ask(shared_port(), "GET", "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.header("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.header("content-security-policy"), "default-src 'self'");
  for (const char* other : {"src=\"http", "href=\"http", "src=\"//", "href=\"//"})
    EXPECT_EQ(page.body.find(other), std::string::npos) << other;
  const std::string tag = page.header("etag");
  ASSERT_FALSE(tag.empty());
  EXPECT_EQ(ask(shared_port(), "GET", "/", "", "If-None-Match: " + tag + "\r\n").status, 304);
  EXPECT_EQ(ask(shared_port(), "GET", "/index.html").body, page.body);
  EXPECT_EQ(ask(shared_port(), "GET", "/../etc/passwd").status, 404);
}

TEST(Endpoints, ErrorsAreObjectsWithTheRightStatus) {
  struct Case {
    const char *method, *path, *body, *headers;
    int status;
  };
  const Case cases[] = {
      {"GET", "/nothing", "", "", 404},
      {"GET", "/v1/v1/models", "", "", 404},
      {"GET", "/v1/chat/completions", "", "", 405},
      {"DELETE", "/v1/models", "", "", 405},
      {"POST", "/", "", "", 405},
      {"OPTIONS", "/v1/models", "", "", 405},
      {"POST", "/v1/chat/completions", "{", "", 400},
      {"POST", "/v1/chat/completions", "", "", 400},
      {"POST", "/v1/chat/completions", "[]", "", 400},
      {"POST", "/v1/completions", "{\"prompt\": \"a\", \"prompt\": \"b\"}", "", 400},
      {"GET", "/v1/searches/search-00", "", "", 404},
      {"GET", "/v1/searches/search-00/events", "", "", 404},
      {"DELETE", "/v1/searches/search-00", "", "", 404},
      {"GET", "/%zz", "", "", 400},
      {"GET", "/v1/models/%00", "", "", 400},
  };
  for (const Case& one : cases) {
    const Answer answer = ask(shared_port(), one.method, one.path, one.body, one.headers);
    EXPECT_EQ(answer.status, one.status) << one.method << " " << one.path << " " << one.body;
    const Json error = answer.json()["error"];
    EXPECT_TRUE(error["message"].is_string() && error["type"].is_string());
    EXPECT_TRUE(error.contains("param") && error.contains("code"));
    if (one.status == 405) {
      EXPECT_FALSE(answer.header("allow").empty());
    }
  }
  Client plain(shared_port());
  plain.send(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
      "Content-Length: 2\r\n\r\n{}");
  EXPECT_EQ(plain.answer().status, 415);
}

TEST(Endpoints, LimitsOnBodyHeaderAndNonsense) {
  Client large(shared_port());
  large.send(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999\r\n\r\n");
  const Answer refused = large.answer();
  EXPECT_EQ(refused.status, 413);
  EXPECT_EQ(refused.json()["error"]["code"], "content_too_large");
  // A client that sends it all first still reads the answer.
  Client sends_all(shared_port());
  sends_all.request("POST", "/v1/completions", std::string(12 << 20, ' '));
  EXPECT_EQ(sends_all.answer().status, 413);
  Client header(shared_port());
  header.send("GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: " + std::string(80000, 'a') +
              "\r\n\r\n");
  EXPECT_EQ(header.answer().status, 431);
  // What a chunked body may have beside its bytes.
  for (const char* start : {"5;", "0\r\nA: "}) {
    Client chunked(shared_port());
    chunked.send(
        "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" +
        (start + std::string(1 << 20, 'a')));
    EXPECT_EQ(chunked.answer().status, 431) << start;
  }
  for (const char* nonsense :
       {"\r\n\r\n\r\n", "HELO\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /\x01 HTTP/1.1\r\n\r\n",
        "\x16\x03\x01\x02\r\n\r\n", "POST /v1/completions HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        "POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    Client client(shared_port());
    client.send(nonsense);
    const Answer answer = client.answer(10);
    EXPECT_TRUE(answer.status == 400 || answer.status == 0) << nonsense << answer.status;
    EXPECT_TRUE(client.closed_by_server()) << nonsense;
  }
  EXPECT_EQ(ask(shared_port(), "GET", "/health").status, 200);
}

TEST(Endpoints, AConnectionServesManyRequestsAlsoPipelinedOnes) {
  Client client(shared_port());
  for (int i = 0; i < 3; ++i) {
    client.request("GET", "/health");
    EXPECT_EQ(client.answer().status, 200);
  }
  client.request("GET", "/version");
  client.request("POST", "/tokenize", "{\"prompt\": \"a\"}");
  client.request("GET", "/health");
  EXPECT_TRUE(client.answer().json().contains("version"));
  EXPECT_TRUE(client.answer().json().contains("tokens"));
  EXPECT_EQ(client.answer().json()["status"], "ok");
  client.send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: "
      "15\r\n\r\n");
  EXPECT_TRUE(client.wait_for("100 Continue"));
  client.send("{\"prompt\": \"a\"}");
  EXPECT_EQ(client.answer().status, 200);
  client.send("GET /health HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.answer().status, 200);
  EXPECT_TRUE(client.closed_by_server());
}

TEST(Keys, EveryRouteButHealthAndThePageNeedsOne) {
  ServerOptions options;
  options.keys.add("sesame", "--api-key");
  options.keys.add("second", "--api-key");
  const TestServer server(std::move(options));
  const int port = server.port();
  const std::string right = "Authorization: Bearer sesame\r\n";
  EXPECT_EQ(ask(port, "GET", "/health").status, 200);
  EXPECT_EQ(ask(port, "GET", "/v1/health").status, 200);
  EXPECT_EQ(ask(port, "GET", "/").status, 200);
  for (const char* path : {"/v1/models",
                           "/models",
                           "/v1/models/tiny-dense",
                           "/metrics",
                           "/version",
                           "/v1/methods",
                           "/tokenizer_info",
                           "/v1/searches/a",
                           "/v1/searches/a/events",
                           "/nothing",
                           "//v1/models",
                           "/v1//models",
                           "/V1/models",
                           "/v1/models/",
                           "/v1/../v1/models",
                           "/health/../v1/models",
                           "/%76%31/models",
                           "/v1/models?key=sesame",
                           "/v1/models#",
                           "/health/",
                           "/index.html/"}) {
    for (const char* wrong : {"", "Authorization: Bearer\r\n", "Authorization: Bearer sesam\r\n",
                              "Authorization: Bearer sesame2\r\n",
                              "Authorization: Basic sesame\r\n", "Authorization: sesame\r\n",
                              "Authorization: Bearer SESAME\r\n", "X-Api-Key: sesame\r\n"}) {
      const Answer answer = ask(port, "GET", path, "", wrong);
      EXPECT_TRUE(answer.status == 401 || answer.status == 400) << path << " " << wrong;
    }
  }
  for (const char* path : {"/v1/chat/completions", "/v1/completions", "/tokenize", "/detokenize"})
    EXPECT_EQ(ask(port, "POST", path, "{}").status, 401) << path;
  EXPECT_EQ(ask(port, "POST", "/tokenize", std::string(4 << 20, ' ')).status, 401)
      << "read by a client that sends its body first";
  EXPECT_EQ(ask(port, "GET", "/v1/models", "", right).status, 200);
  EXPECT_EQ(ask(port, "GET", "/v1/models", "", "Authorization: bearer second\r\n").status, 200);
  EXPECT_EQ(ask(port, "GET", "/v1/models").json()["error"]["code"], "invalid_api_key");
}

TEST(Keys, NoSpellingGetsAroundThemOnAnyRoute) {
  ServerOptions options;
  options.keys.add("sesame", "--api-key");
  const TestServer server(std::move(options));
  const std::pair<const char*, const char*> routes[] = {{"GET", "version"},
                                                        {"GET", "metrics"},
                                                        {"GET", "models"},
                                                        {"GET", "models/tiny-dense"},
                                                        {"GET", "methods"},
                                                        {"POST", "tokenize"},
                                                        {"POST", "detokenize"},
                                                        {"GET", "tokenizer_info"},
                                                        {"POST", "chat/completions"},
                                                        {"POST", "completions"},
                                                        {"GET", "searches/a/events"},
                                                        {"GET", "searches/a"},
                                                        {"DELETE", "searches/a"},
                                                        {"POST", "inference/v1/generate"}};
  for (const auto& [method, path] : routes) {
    for (const std::string& spelling :
         {fmt::format("/{}", path), fmt::format("/v1/{}", path), fmt::format("//{}", path),
          fmt::format("/v1//{}", path), fmt::format("/V1/{}", path), fmt::format("/./v1/{}", path),
          fmt::format("/health/../v1/{}", path), fmt::format("/%76%31/{}", path),
          fmt::format("/v1%2F{}", path), fmt::format("/v1/{}/", path),
          fmt::format("/v1/{}%20", path), fmt::format("/v1/{}?api_key=sesame", path),
          fmt::format("/v1/{};key=sesame", path), fmt::format("http://localhost/v1/{}", path),
          fmt::format("/index.html/../v1/{}", path)}) {
      for (const char* header :
           {"", "Authorization: Bearer sesam\r\n", "Cookie: Authorization=sesame\r\n",
            "Authorization: Bearer x\r\nAuthorization: Bearer sesame\r\n",
            "X-Forwarded-For: 127.0.0.1\r\nX-Original-URL: /health\r\n"}) {
        const Answer answer = ask(server.port(), method, spelling, "", header);
        EXPECT_EQ(answer.status, 401) << method << " " << spelling << " " << header;
      }
    }
    for (const char* other : {"HEAD", "OPTIONS", "PUT", "PATCH", "TRACE"})
      EXPECT_EQ(ask(server.port(), other, fmt::format("/v1/{}", path)).status, 401)
          << other << path;
  }
}

TEST(Keys, WithoutKeysAnyBearerIsTaken) {
  for (const char* header : {"", "Authorization: Bearer\r\n", "Authorization: Bearer x\r\n"})
    EXPECT_EQ(ask(shared_port(), "GET", "/v1/models", "", header).status, 200);
}

TEST(Cors, IsOffUnlessNamed) {
  const std::string other = "Origin: https://evil.example\r\n";
  const Answer refused = ask(shared_port(), "GET", "/v1/models", "", other);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.header("access-control-allow-origin"), "");
  EXPECT_EQ(ask(shared_port(), "GET", "/v1/models", "", "Origin: http://127.0.0.1\r\n").status, 200)
      << "the page itself";
  ServerOptions options;
  options.origins = {"https://chat.example"};
  const TestServer server(std::move(options));
  const std::string named = "Origin: https://chat.example\r\n";
  EXPECT_EQ(
      ask(server.port(), "GET", "/v1/models", "", named).header("access-control-allow-origin"),
      "https://chat.example");
  EXPECT_EQ(ask(server.port(), "OPTIONS", "/v1/models", "", named).status, 204);
  EXPECT_EQ(ask(server.port(), "GET", "/v1/models", "", other).status, 403);
}

}  // namespace
}  // namespace counterbeam::serve::testing
