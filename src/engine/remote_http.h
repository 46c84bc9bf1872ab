// HTTP for the remote engine: many calls at once over connections that are kept open, on one thread
// of libcurl's multi interface. Replies are bounded in size and time. Nothing here knows what the
// calls mean or repeats them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
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
 public:
  explicit RemoteHttp(RemoteHttpOptions options);
  ~RemoteHttp();

  // Makes all calls together and returns their replies in the same order. Any thread may call.
  // Cancelled: the calls are dropped at once, and servers see their connections close.
  std::vector<RemoteReply> perform(std::vector<RemoteCall> calls,
                                   const Cancellation* cancellation = nullptr);

 private:
  struct Batch;
  struct Transfer;
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace counterbeam
