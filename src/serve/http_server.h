// The HTTP edge: connections, limits, timeouts and streams, over Boost.Asio with Beast's request
// parser. A few threads serve any number of connections; handlers run on them and must be quick.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "serve/http.h"

namespace counterbeam::serve {

struct HttpLimits {
  std::size_t header_bytes = 64 << 10;
  std::size_t body_bytes = 8 << 20;
  std::size_t backlog_bytes = 32 << 20;  // of a stream that its reader has not taken
  int connections = 4096;
  std::chrono::milliseconds idle{75'000};    // between two requests of a connection
  std::chrono::milliseconds header{10'000};  // from the first byte of a request to its body
  std::chrono::milliseconds body{60'000};
  std::chrono::milliseconds stall{30'000};  // a reader that takes nothing is dropped
};

struct HttpHandlers {
  // Looks at a request before its body is read; an answer refuses it.
  std::function<std::optional<HttpResponse>(HttpRequest&)> admit;
  std::function<void(std::shared_ptr<const HttpRequest>, std::shared_ptr<Responder>)> handle;
  // The answer to what is not an HTTP request, or too large for one.
  std::function<HttpResponse(int status, const std::string& message)> problem;
};

class HttpServer {
 public:
  // Binds the address; throws Failed where that is not possible. Port 0 takes a free one.
  HttpServer(const std::string& host, int port, const HttpLimits& limits, int threads);
  ~HttpServer();

  int port() const;
  bool on_loopback() const;  // only this machine can reach it
  int connections() const;

  // Serves from now on.
  void start(HttpHandlers handlers);

  // Runs the function on one of the threads, after the delay.
  void after(std::chrono::milliseconds delay, std::function<void()> work);

  // Calls `signalled` for SIGTERM and SIGINT instead of ending the process.
  void on_signal(std::function<void(int)> signalled);

  // Waits until every answer has reached its client, at most that long; then closes all
  // connections and ends the threads.
  void stop(std::chrono::milliseconds patience);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace counterbeam::serve
