// From a request to its endpoint: routes, methods, keys, hosts, origins, and what is refused while
// a model loads or the server drains. A path that no route has needs a key too, so that no spelling
// of a path gets around the check.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/api.h"
#include "serve/host_names.h"
#include "serve/http.h"
#include "serve/keys.h"
#include "serve/services.h"

namespace counterbeam::serve {

enum class ServerState { Loading, Ready, Draining };

struct RouterOptions {
  Keys keys;
  std::vector<std::string> origins;  // other sites that may ask from a browser; "*": all
  std::string version;
};

class Router {
 public:
  Router(RouterOptions options, Metrics& metrics, RequestLog& log);

  // Names the server is asked by; others are refused. REQUIRES that no request has come yet.
  void answer_to(HostNames hosts) { hosts_ = std::move(hosts); }

  // Before the body is read. An answer refuses the request.
  std::optional<HttpResponse> admit(HttpRequest& request);
  void handle(std::shared_ptr<const HttpRequest> request, std::shared_ptr<Responder> responder);
  // For bytes that are not a request.
  HttpResponse problem(int status, const std::string& message);

  // From now on requests are served. REQUIRES that the services outlive every request.
  void ready(Services& services, std::function<std::string()> metrics);
  void drain() { state_ = ServerState::Draining; }
  ServerState state() const { return state_; }

 private:
  enum class Endpoint {
    Health,
    Version,
    Metrics,
    Models,
    Model,
    Methods,
    Tokenize,
    Detokenize,
    TokenizerInfo,
    Chat,
    Completions,
    Tokens,
    SearchEvents,
    SearchTrace,
    SearchCancel,
    Page,
  };
  struct Route;
  static const std::vector<Route>& routes();
  struct Found {
    const Route* route = nullptr;  // null: no route has the path
    std::string subject{};
    std::string allow{};  // methods of the path, where the method is not among them
  };
  Found find(const HttpRequest& request) const;
  void check(const HttpRequest& request, const Found& found) const;
  void check_host(const HttpRequest& request) const;
  void check_origin(const HttpRequest& request) const;
  HttpResponse preflight(const HttpRequest& request) const;
  std::string client_of(const HttpRequest& request) const;
  HttpResponse health() const;
  HttpResponse finished(const HttpRequest& request, HttpResponse response, const std::string& note);
  void add_headers(const HttpRequest& request, HttpHeaders& headers) const;
  void dispatch(const Call& call, const Found& found);

  const RouterOptions options_;
  HostNames hosts_;
  Metrics& metrics_;
  RequestLog& log_;
  const std::int64_t created_;
  std::atomic<ServerState> state_ = ServerState::Loading;
  std::atomic<std::uint64_t> next_id_ = 1;
  Services* services_ = nullptr;  // set before the state is Ready
  std::function<std::string()> metrics_text_;
};

}  // namespace counterbeam::serve
