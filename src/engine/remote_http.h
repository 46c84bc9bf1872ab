// HTTP for the remote engine: many calls at once over connections that are kept open, on one thread
// of libcurl's multi interface. Any thread may begin a round of calls. Replies are bounded in size
// and time. Nothing here knows what the calls mean or repeats them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "counterbeam/cancellation.h"

namespace counterbeam {

struct RemoteCall {
  std::string url;
  std::string body{};                    // JSON; empty: a GET
  std::vector<std::string> headers{};    // "Name: value"
  std::chrono::milliseconds timeout{0};  // 0: that of the options
};

struct RemoteReply {
  enum class Outcome {
    Answered,     // `status` and `body` are the server's
    Unreachable,  // no connection
    Cut,          // the connection ended within the reply
    TimedOut,
    TooLarge,  // the reply is larger than the bound
    Failed,    // anything else, such as TLS
  };
  Outcome outcome = Outcome::Failed;
  int status = 0;
  std::string body{};
  std::string problem{};   // in words, unless answered
  double retry_after = 0;  // seconds, where the server says so
};

struct RemoteHttpOptions {
  std::string key{};      // sent as a bearer token; empty: none
  int connections = 128;  // calls in flight per server; more wait here
  std::chrono::milliseconds connect_timeout{5'000}, timeout{600'000};
  std::size_t most_bytes = std::size_t{64} << 20;  // of a reply
};

class RemoteHttp {
  struct Batch;

 public:
  explicit RemoteHttp(RemoteHttpOptions options);
  ~RemoteHttp();

  // Calls in flight together, whose replies are had as they come. One thread uses it. Where it
  // ends early, its calls are dropped at once, and servers see their connections close.
  class Round {
   public:
    Round(RemoteHttp& http, std::size_t most_calls);
    ~Round();
    Round(const Round&) = delete;
    Round& operator=(const Round&) = delete;

    void send(RemoteCall call);

    struct Answer {
      std::size_t call;  // 0: the first that was sent
      RemoteReply reply;
    };
    // Waits for the next reply; none when all have been had. Throws Cancelled.
    std::optional<Answer> next(const Cancellation* cancellation = nullptr);

   private:
    RemoteHttp& http_;
    std::shared_ptr<Batch> batch_;
    std::size_t had_ = 0;
  };

 private:
  struct Transfer;
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace counterbeam
