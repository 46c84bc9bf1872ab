// A server in this process, over the small model that ships with the program.
#pragma once

#include <future>
#include <memory>
#include <thread>

#include "search/loaded_model.h"
#include "serve/http_client.h"
#include "serve/server.h"

namespace counterbeam::serve::testing {

inline const LoadedModel& tiny_model() {
  static const LoadedModel kModel =
      LoadedModel::load(COUNTERBEAM_SOURCE_DIR "/models/tiny-dense", {.device = "cpu"});
  return kModel;
}

class TestServer {
 public:
  explicit TestServer(ServerOptions options = {}, const LoadedModel& model = tiny_model()) {
    options.port = 0;
    options.log = LogFormat::None;
    options.version = "test";
    server_ = std::make_unique<Server>(std::move(options));
    std::promise<void> ready;
    thread_ = std::thread(
        [this, &ready, &model] { server_->serve(model, [&ready] { ready.set_value(); }); });
    ready.get_future().wait();
  }
  ~TestServer() { stop(); }
  void stop() {
    if (!thread_.joinable()) return;
    server_->drain();
    thread_.join();
  }

  int port() const { return server_->port(); }
  Server& server() { return *server_; }

  // The value of a metric without labels beyond the model's; -1: there is none.
  double metric(const std::string& name) const {
    const std::string text = ask(port(), "GET", "/metrics").body;
    const auto at = text.find("\n" + name + "{");
    if (at == text.npos) return -1;
    return std::stod(text.substr(text.find("} ", at) + 2));
  }

 private:
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

inline int shared_port() {
  static TestServer server([] {
    ServerOptions options;
    options.aliases = {{"strong", "cbs:steer=0.7:beams=4:prune=2:max-tokens=48"}};
    return options;
  }());
  return server.port();
}

// A chat request that is answered quickly, with the thoughts of the model in the text.
inline Json chat_body(const std::string& content = "Compute 12 + 3 * 7.") {
  return {{"model", "tiny-dense"},
          {"messages", Json::array({{{"role", "user"}, {"content", content}}})},
          {"seed", 7},
          {"max_tokens", 24},
          {"reasoning_format", "none"}};
}

}  // namespace counterbeam::serve::testing
