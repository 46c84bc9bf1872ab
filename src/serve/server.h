// The server: it listens from its construction on, answers 503 while the model loads, then serves
// requests, and drains when it is told to end.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "search/context_book.h"
#include "search/loaded_model.h"
#include "serve/http_server.h"
#include "serve/keys.h"
#include "serve/request_log.h"

namespace counterbeam::serve {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 8080;
  std::string name{};  // of the model; empty: the folder's or hub name
  std::vector<std::pair<std::string, std::string>> aliases{};
  ContextBook book{};
  Keys keys{};
  std::vector<std::string> origins{};
  std::vector<std::string> host_names{};  // the server is reached by, beside its host
  int searches = 16;
  int queue = 256;
  LogFormat log = LogFormat::Text;
  HttpLimits limits{};
  int threads = 4;  // that serve connections
  bool system_as_user = false, ignore_tools = false;
  std::chrono::seconds drain{300};  // searches that run longer are cancelled
  std::chrono::milliseconds keep_alive{10'000};
  std::string version{};
};

class Server {
 public:
  explicit Server(ServerOptions options);  // throws Failed if it cannot listen there
  ~Server();

  int port() const;
  std::string url() const;

  // The first SIGTERM or SIGINT drains, or ends the process while a model loads; a second one ends
  // it at once.
  void handle_signals();

  // Serves the model until drain() is called and the running searches have ended. `ready` is called
  // when requests are accepted.
  void serve(const LoadedModel& model, const std::function<void()>& ready);
  void drain();  // any thread

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace counterbeam::serve
