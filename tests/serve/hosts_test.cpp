// Under which names a server answers, and the HTTP requests around that: Host headers, absolute
// targets, preflights, heads, encodings. DNS rebinding must not reach a server on loopback.
#include "serve/host_names.h"
#include "serve/test_server.h"

namespace counterbeam::serve::testing {
namespace {

Answer raw(int port, const std::string& bytes, bool head_only = false) {
  Client client(port);
  client.send(bytes);
  return client.answer(20, head_only);
}

Answer with_host(int port, const std::string& host, const std::string& more = "") {
  return raw(port, "GET /v1/models HTTP/1.1\r\nHost: " + host + "\r\n" + more + "\r\n");
}

TEST(HostNames, LoopbackIsKnownByAllItsSpellings) {
  for (const char* name :
       {"localhost", "LocalHost:8080", "localhost.", "chat.localhost", "127.0.0.1", "127.8.9.1:1",
        "[::1]", "[::1]:8080", "::1", "[::ffff:127.0.0.1]:80", "[0:0:0:0:0:0:0:1]"})
    EXPECT_TRUE(is_loopback_name(name)) << name;
  for (const char* name : {"", ":", "[", "[]", "[]:1", "evil.example", "localhost.evil.example",
                           "notlocalhost", "127.0.0.1.evil.example", "128.0.0.1", "127.0.0",
                           "0177.0.0.1", "2130706433", "[::2]", "localhost:1:2", "0.0.0.0"})
    EXPECT_FALSE(is_loopback_name(name)) << name;
}

TEST(HostNames, AreCheckedOnLoopbackAndWhereNamesAreGiven) {
  const HostNames local("127.0.0.1", {}, true), named("0.0.0.0", {"Chat.example"}, false),
      open("0.0.0.0", {}, false), by_name("box", {}, true);
  EXPECT_TRUE(local.allows("localhost:8080"));
  EXPECT_FALSE(local.allows("evil.example:8080"));
  EXPECT_FALSE(local.allows(""));
  EXPECT_TRUE(named.allows("chat.EXAMPLE:443"));
  EXPECT_TRUE(named.allows("0.0.0.0:8080"));
  EXPECT_FALSE(named.allows("evil.example"));
  EXPECT_TRUE(open.allows("any.example"));
  EXPECT_TRUE(by_name.allows("box:8080"));
}

TEST(Hosts, OtherNamesAreRefusedOnEveryPath) {
  for (const char* host :
       {"evil.example", "evil.example:8080", "127.0.0.1.evil.example", "192.168.1.5", "a", ""}) {
    const Answer refused = with_host(shared_port(), host);
    EXPECT_EQ(refused.status, 403) << host;
    EXPECT_EQ(refused.json()["error"]["code"], "host_not_allowed");
    // A page that was rebound has its own name as Origin too.
    const Answer page =
        with_host(shared_port(), host, std::string("Origin: http://") + host + "\r\n");
    EXPECT_EQ(page.status, 403) << host;
  }
  for (const char* path : {"/", "/health", "/v1/chat/completions", "/nothing"})
    EXPECT_EQ(raw(shared_port(), fmt::format("GET {} HTTP/1.1\r\nHost: evil.example\r\n\r\n", path))
                  .status,
              403)
        << path;
  for (const char* host : {"localhost", "127.0.0.1:8080", "[::1]:1", "LOCALHOST:80"})
    EXPECT_EQ(with_host(shared_port(), host).status, 200) << host;
}

TEST(Hosts, AProxysNameIsGivenAndIsAnOriginToo) {
  ServerOptions options;
  options.host_names = {"chat.example"};
  const TestServer server(std::move(options));
  EXPECT_EQ(with_host(server.port(), "chat.example").status, 200);
  EXPECT_EQ(with_host(server.port(), "127.0.0.1:8080", "Origin: https://chat.example\r\n").status,
            200)
      << "a proxy that does not pass the name on";
  EXPECT_EQ(with_host(server.port(), "chat.example", "Origin: https://evil.example\r\n").status,
            403);
  EXPECT_EQ(with_host(server.port(), "other.example").status, 403);
}

TEST(Hosts, ARequestHasOneHost) {
  EXPECT_EQ(raw(shared_port(), "GET /health HTTP/1.1\r\n\r\n").status, 400);
  EXPECT_EQ(raw(shared_port(), "GET /health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n")
                .status,
            400);
  EXPECT_EQ(raw(shared_port(), "GET /health HTTP/1.0\r\n\r\n").status, 200);
}

TEST(Hosts, AnAbsoluteTargetNamesTheHostItself) {
  const auto target = [](const std::string& text) {
    return raw(shared_port(), "GET " + text + " HTTP/1.1\r\nHost: localhost\r\n\r\n").status;
  };
  EXPECT_EQ(target("http://127.0.0.1:8080/health"), 200);
  EXPECT_EQ(target("HTTPS://localhost/health?a=b"), 200);
  EXPECT_EQ(target("http://localhost"), 200) << "the page";
  EXPECT_EQ(target("http://localhost?a"), 400);
  EXPECT_EQ(target("http://evil.example/health"), 403) << "not what Host says";
  EXPECT_EQ(target("ftp://localhost/health"), 400);
  EXPECT_EQ(target("http:///health"), 200) << "no authority: Host says it";
}

TEST(Hosts, PreflightsAllowTheHeadersThatClientsSend) {
  ServerOptions options;
  options.origins = {"https://chat.example"};
  const TestServer server(std::move(options));
  const std::string asked =
      "Origin: https://chat.example\r\nAccess-Control-Request-Method: POST\r\n";
  const Answer plain = ask(server.port(), "OPTIONS", "/v1/chat/completions", "", asked);
  EXPECT_EQ(plain.status, 204);
  EXPECT_EQ(plain.header("access-control-allow-headers"), "Authorization, Content-Type");
  const Answer answer =
      ask(server.port(), "OPTIONS", "/v1/chat/completions", "",
          asked + "Access-Control-Request-Headers: authorization,x-stainless-os\r\n");
  EXPECT_EQ(answer.header("access-control-allow-headers"), "authorization,x-stainless-os");
  EXPECT_EQ(answer.header("access-control-allow-origin"), "https://chat.example");
  EXPECT_EQ(ask(server.port(), "OPTIONS", "/v1/models", "", "Origin: https://b.example\r\n").status,
            403);
  const Answer off = ask(shared_port(), "OPTIONS", "/v1/models");
  EXPECT_EQ(off.status, 405);
  EXPECT_EQ(off.header("allow"), "GET");
}

TEST(Hosts, HeadsHaveNoBodyAndNeverWait) {
  for (const char* path : {"/", "/health", "/v1/models", "/metrics", "/v1/methods"}) {
    Client client(shared_port());
    client.request("HEAD", path);
    const Answer head = client.answer(20, true);
    EXPECT_EQ(head.status, 200) << path;
    EXPECT_GT(std::stoul(head.header("content-length")), 0u) << path;
    client.request("GET", "/version");
    EXPECT_EQ(client.answer().status, 200) << "nothing of a body is before it";
  }
  const Answer events =
      raw(shared_port(), "HEAD /v1/searches/a/events HTTP/1.1\r\nHost: localhost\r\n\r\n", true);
  EXPECT_EQ(events.status, 405);
  EXPECT_EQ(events.header("allow"), "GET");
}

TEST(Hosts, BodiesInChunksAreReadAndEncodedOnesAreNot) {
  const std::string head = "POST /tokenize HTTP/1.1\r\nHost: localhost\r\n";
  EXPECT_EQ(raw(shared_port(), head + "Transfer-Encoding: chunked\r\n\r\n5;a=b\r\n{\"pro\r\n9\r\n"
                                      "mpt\":\"a\"}\r\n0\r\nX-Trailer: 1\r\n\r\n")
                .status,
            200);
  const Answer encoded =
      raw(shared_port(), head + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b");
  EXPECT_EQ(encoded.status, 415);
  EXPECT_EQ(encoded.json()["error"]["code"], "unsupported_content_encoding");
  for (const char* coding : {"gzip, chunked", "gzip\r\nTransfer-Encoding: chunked"})
    EXPECT_EQ(
        raw(shared_port(), head + "Transfer-Encoding: " + coding + "\r\n\r\n0\r\n\r\n").status, 501)
        << coding;
  // Two ways to say how long a body is are the beginning of request smuggling.
  for (const char* lengths :
       {"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 3\r\nContent-Length: 4\r\n", "Content-Length: 3, 4\r\n",
        "Content-Length: +3\r\n", "Content-Length: 0x3\r\n"})
    EXPECT_EQ(raw(shared_port(), head + lengths + "\r\n0\r\n\r\n").status, 400) << lengths;
}

}  // namespace
}  // namespace counterbeam::serve::testing
