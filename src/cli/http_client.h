// A small HTTP client for `chat --server`: one request per connection, http only. The body of the
// answer can be read while it arrives; a length, chunks and a closed connection may end it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace counterbeam::cli {

struct ServerAddress {
  std::string host, port;

  // "http://HOST:PORT", "HOST:PORT", "HOST", with or without "/v1" at the end; IPv6 in brackets.
  static ServerAddress parse(std::string_view text);
  std::string name() const;  // http://HOST:PORT
};

struct HttpCall {
  std::string method, path;  // "POST", "/v1/chat/completions"
  std::string key{};         // sent as a bearer token unless empty
  std::string body{};        // JSON
};

class HttpAnswer {
 public:
  // Connects, sends the call and reads the header of the answer. Failed with the address where
  // there is no answer. `waiting` is called ten times a second while there is nothing to read; what
  // it throws ends the call.
  HttpAnswer(
      const ServerAddress& address, const HttpCall& call, std::function<void()> waiting = [] {});
  ~HttpAnswer();
  HttpAnswer(const HttpAnswer&) = delete;
  HttpAnswer& operator=(const HttpAnswer&) = delete;

  int status() const { return status_; }
  // More of the body; nothing at its end. Failed where the connection ends before the body does.
  std::optional<std::string> more();
  // All that is left of it.
  std::string rest();

 private:
  enum class Framing { Closed, Length, Chunks };
  void connect();
  void send(std::string_view text);
  bool receive();  // false: the connection has ended
  std::string line();
  void read_header();
  std::string take(std::size_t most);

  const ServerAddress address_;
  const std::function<void()> waiting_;
  int socket_ = -1, status_ = 0;
  std::string buffer_{};  // received and not yet given out
  Framing framing_ = Framing::Closed;
  std::size_t left_ = 0;  // bytes of the body, or of the chunk
  bool ended_ = false, in_chunk_ = false;
};

}  // namespace counterbeam::cli
