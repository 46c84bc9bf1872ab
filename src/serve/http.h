// HTTP as the handlers see it: a request comes in, a responder takes the answer. Nothing here knows
// sockets, so handlers are tested without them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace counterbeam::serve {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;     // "GET"
  std::string path;       // percent-decoded, without the query
  std::string query;      // as it was sent, without the question mark
  HttpHeaders headers{};  // names in lower case
  std::string body{};
  std::string peer{};  // the client's address
  std::string id{};    // of this request, for logs and errors

  std::string_view header(std::string_view name) const;  // empty where there is none
  bool has_header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string body{};
  std::string type = "application/json";
  HttpHeaders headers{};
  bool close = false;  // the connection ends after it
};

// Where the answer to one request goes. Calls may come from any thread, and do not block. What is
// sent after the client has gone is dropped; so is the connection when a responder goes away
// without having answered.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void send(HttpResponse response) = 0;  // a whole answer; at most once
  // A streamed answer: the head (its body is ignored), pieces, the end.
  virtual void begin(HttpResponse head) = 0;
  virtual void write(std::string piece) = 0;
  virtual void end() = 0;
  virtual void drop() = 0;  // closes the connection without an answer
  // Calls `gone` once if the client goes away, or stops reading for too long, before the answer is
  // complete. It is called at once where that has happened already.
  virtual void on_gone(std::function<void()> gone) = 0;
};

std::string_view status_text(int status);

// The bytes that %XX stand for; empty where an escape is broken or the result holds a zero byte.
std::string percent_decoded(std::string_view text, bool& valid);

}  // namespace counterbeam::serve
