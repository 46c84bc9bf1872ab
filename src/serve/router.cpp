#include "serve/router.h"

#include <algorithm>
#include <ctime>
#include <random>

#include "base/error.h"
#include "base/json.h"
#include "base/lower_case.h"
#include "base/quote.h"
#include "serve/page.h"

namespace counterbeam::serve {
namespace {

// Adds the headers that every answer has.
class LabelledResponder : public Responder {
 public:
  LabelledResponder(std::shared_ptr<Responder> to, HttpHeaders headers)
      : to_(std::move(to)), headers_(std::move(headers)) {}
  void send(HttpResponse response) override { to_->send(labelled(std::move(response))); }
  void begin(HttpResponse head) override { to_->begin(labelled(std::move(head))); }
  void write(std::string piece) override { to_->write(std::move(piece)); }
  void end() override { to_->end(); }
  void drop() override { to_->drop(); }
  void on_gone(std::function<void()> gone) override { to_->on_gone(std::move(gone)); }

 private:
  HttpResponse labelled(HttpResponse response) const {
    response.headers.insert(response.headers.end(), headers_.begin(), headers_.end());
    return response;
  }
  std::shared_ptr<Responder> to_;
  HttpHeaders headers_;
};

std::string request_id() {
  thread_local std::mt19937_64 numbers{std::random_device()()};
  return fmt::format("req-{:016x}", numbers());
}

bool is_json(std::string_view type) {
  const std::string_view bare = type.substr(0, type.find(';'));
  const std::string lower = to_lower_case(bare.substr(0, bare.find_last_not_of(" \t") + 1));
  return lower == "application/json" ||
         (lower.starts_with("application/") && lower.ends_with("+json"));
}

// "https://host:1" -> "host:1"
std::string_view host_of(std::string_view origin) {
  const auto scheme = origin.find("://");
  return scheme == origin.npos ? origin : origin.substr(scheme + 3);
}

}  // namespace

// A path is fixed, or has a subject at the place of *; only the last part of /models/* may hold
// slashes, as names of the hub do.
struct Router::Route {
  std::string_view method, path;
  Endpoint endpoint;
  bool open = false;    // no key is needed
  bool always = false;  // also while a model loads or the server drains
};

const std::vector<Router::Route>& Router::routes() {
  static const std::vector<Route> kRoutes = {
      {"GET", "/health", Endpoint::Health, true, true},
      {"GET", "/version", Endpoint::Version, false, true},
      {"GET", "/metrics", Endpoint::Metrics, false, true},
      {"GET", "/models", Endpoint::Models},
      {"GET", "/models/*", Endpoint::Model},
      {"GET", "/methods", Endpoint::Methods},
      {"POST", "/tokenize", Endpoint::Tokenize},
      {"POST", "/detokenize", Endpoint::Detokenize},
      {"GET", "/tokenizer_info", Endpoint::TokenizerInfo},
      {"POST", "/chat/completions", Endpoint::Chat},
      {"POST", "/completions", Endpoint::Completions},
      {"POST", "/inference/v1/generate", Endpoint::Tokens},
      {"GET", "/searches/*/events", Endpoint::SearchEvents},
      {"GET", "/searches/*", Endpoint::SearchTrace},
      {"DELETE", "/searches/*", Endpoint::SearchCancel},
  };
  return kRoutes;
}

Router::Router(RouterOptions options, Metrics& metrics, RequestLog& log)
    : options_(std::move(options)),
      metrics_(metrics),
      log_(log),
      created_(static_cast<std::int64_t>(std::time(nullptr))) {}

void Router::ready(Services& services, std::function<std::string()> metrics) {
  services_ = &services;
  metrics_text_ = std::move(metrics);
  state_ = ServerState::Ready;
}

Router::Found Router::find(const HttpRequest& request) const {
  static const Route kPage{"GET", "", Endpoint::Page, true, true};
  const bool head = request.method == "HEAD";
  const std::string_view method = head ? "GET" : std::string_view(request.method);
  std::string_view path = request.path;
  if (page_file(path)) return method == "GET" ? Found{&kPage, {}, {}} : Found{nullptr, {}, "GET"};
  if (path.starts_with("/v1/")) path.remove_prefix(3);
  Found found;
  for (const Route& route : routes()) {
    const auto star = route.path.find('*');
    std::string subject;
    if (star == route.path.npos) {
      if (path != route.path) continue;
    } else {
      const std::string_view before = route.path.substr(0, star),
                             after = route.path.substr(star + 1);
      if (path.size() <= before.size() + after.size() || !path.starts_with(before) ||
          !path.ends_with(after))
        continue;
      subject = path.substr(before.size(), path.size() - before.size() - after.size());
      if (route.endpoint != Endpoint::Model && subject.find('/') != subject.npos) continue;
    }
    // The head of a stream would have to wait for its search.
    const bool endless = head && route.endpoint == Endpoint::SearchEvents;
    if (route.method == method && !endless) return {&route, subject, {}};
    found.allow += (found.allow.empty() ? "" : ", ") + std::string(route.method);
  }
  return found;
}

void Router::check_host(const HttpRequest& request) const {
  const std::string_view host = request.header("host");
  // Only a client of HTTP/1.0 leaves it out, and that is no browser.
  if (!request.has_header("host") || hosts_.allows(host)) return;
  throw ApiError(403, "invalid_request_error", "", "host_not_allowed",
                 fmt::format("this server is not asked by the name {} (--host-name adds one)",
                             in_quotes(printable(host, 100))));
}

// A page of another site may not make a browser ask us.
void Router::check_origin(const HttpRequest& request) const {
  const std::string_view origin = request.header("origin");
  if (origin.empty() || host_of(origin) == request.header("host") ||
      hosts_.is_given(host_of(origin)))
    return;
  const auto allowed = [&](const std::string& known) { return known == "*" || known == origin; };
  if (std::any_of(options_.origins.begin(), options_.origins.end(), allowed)) return;
  throw ApiError(403, "invalid_request_error", "", "origin_not_allowed",
                 "pages of this origin may not use this server (--cors names those that may)");
}

void Router::check(const HttpRequest& request, const Found& found) const {
  check_host(request);
  check_origin(request);
  const bool open = found.route && found.route->open;
  if (!open && !options_.keys.empty() && !options_.keys.find(request.header("authorization")))
    throw ApiError(401, "invalid_request_error", "", "invalid_api_key",
                   "the key is missing or not known; send \"Authorization: Bearer KEY\"");
  if (!found.route && !found.allow.empty()) {
    ApiError error(405, "invalid_request_error", "", "method_not_allowed",
                   fmt::format("this path takes {}", found.allow));
    error.allow = found.allow;
    throw error;
  }
  if (!found.route)
    throw ApiError(404, "invalid_request_error", "", "not_found", "there is no such path");
  if (found.route->always) return;
  if (state_ == ServerState::Loading) throw unavailable("Loading model", "loading", 2);
  const bool searches = found.route->endpoint == Endpoint::Chat ||
                        found.route->endpoint == Endpoint::Completions ||
                        found.route->endpoint == Endpoint::Tokens;
  if (state_ == ServerState::Draining && searches)
    throw unavailable("the server is shutting down", "draining", 5);
  const std::string_view encoding = request.header("content-encoding");
  if (!encoding.empty() && encoding != "identity")
    throw ApiError(415, "invalid_request_error", "", "unsupported_content_encoding",
                   "the body is encoded; send it as it is, without Content-Encoding");
  const std::string_view type = request.header("content-type");
  if (request.method == "POST" && !type.empty() && !is_json(type))
    throw ApiError(415, "invalid_request_error", "", "unsupported_media_type",
                   "the body must be application/json");
}

void Router::add_headers(const HttpRequest& request, HttpHeaders& headers) const {
  headers.emplace_back("x-request-id", request.id);
  headers.emplace_back("X-Content-Type-Options", "nosniff");
  const std::string_view origin = request.header("origin");
  const auto allowed = [&](const std::string& known) { return known == "*" || known == origin; };
  if (origin.empty() || !std::any_of(options_.origins.begin(), options_.origins.end(), allowed))
    return;
  headers.emplace_back("Access-Control-Allow-Origin", std::string(origin));
  headers.emplace_back("Access-Control-Expose-Headers", "x-request-id, Retry-After");
  headers.emplace_back("Vary", "Origin");
}

HttpResponse Router::finished(const HttpRequest& request, HttpResponse response,
                              const std::string& note) {
  metrics_.request(response.status);
  log_.add({.id = request.id,
            .client = request.peer,
            .method = request.method,
            .path = request.path,
            .status = response.status,
            .note = note});
  return response;
}

// What a browser asks before a page of another site may send a request. Clients such as openai-node
// send headers of their own, so those asked for are allowed.
HttpResponse Router::preflight(const HttpRequest& request) const {
  check_host(request);
  check_origin(request);
  const std::string_view wanted = request.header("access-control-request-headers");
  HttpResponse allowed{.status = 204};
  add_headers(request, allowed.headers);
  allowed.headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, DELETE");
  allowed.headers.emplace_back("Access-Control-Allow-Headers",
                               wanted.empty() ? "Authorization, Content-Type" : wanted);
  allowed.headers.emplace_back("Access-Control-Max-Age", "600");
  return allowed;
}

std::optional<HttpResponse> Router::admit(HttpRequest& request) {
  request.id = request_id();
  const Found found = find(request);
  try {
    if (request.method == "OPTIONS" && !options_.origins.empty())
      return finished(request, preflight(request), "");
    check(request, found);
    return std::nullopt;
  } catch (const ApiError& error) {
    HttpResponse response = error.response();
    add_headers(request, response.headers);
    response.close = error.status == 503;
    return finished(request, std::move(response), error.what());
  }
}

std::string Router::client_of(const HttpRequest& request) const {
  const auto key = options_.keys.find(request.header("authorization"));
  return key ? fmt::format("key {}", *key) : request.peer;
}

HttpResponse Router::health() const {
  if (state_ == ServerState::Ready) return {.body = R"({"status":"ok"})"};
  const bool loading = state_ == ServerState::Loading;
  HttpResponse response{.status = 503};
  response.body = to_line(Json{{"status", loading ? "loading" : "draining"},
                               {"error",
                                {{"code", 503},
                                 {"message", loading ? "Loading model" : "Shutting down"},
                                 {"type", "unavailable_error"},
                                 {"param", nullptr}}}});
  response.headers.emplace_back("Retry-After", loading ? "2" : "5");
  return response;
}

void Router::dispatch(const Call& call, const Found& found) {
  const HttpRequest& request = *call.request;
  const auto reply = [&](HttpResponse response) {
    call.responder->send(finished(request, std::move(response), ""));
  };
  switch (found.route->endpoint) {
    case Endpoint::Health:
      return reply(health());
    case Endpoint::Version:
      return reply({.body = to_line(Json{{"version", options_.version}})});
    case Endpoint::Metrics:
      return reply({.body = state_ == ServerState::Loading ? "" : metrics_text_(),
                    .type = "text/plain; version=0.0.4; charset=utf-8"});
    case Endpoint::Page:
      return reply(page_response(*page_file(request.path), request.header("if-none-match")));
    case Endpoint::Models:
      return reply(list_models(*services_, created_));
    case Endpoint::Model:
      return reply(show_model(*services_, call.subject, created_));
    case Endpoint::Methods:
      return reply(list_methods(*services_));
    case Endpoint::Tokenize:
      return reply(tokenize(*services_, request));
    case Endpoint::Detokenize:
      return reply(detokenize(*services_, request));
    case Endpoint::TokenizerInfo:
      return reply(tokenizer_info(*services_));
    case Endpoint::Chat:
      return chat_completions(*services_, call);
    case Endpoint::Completions:
      return completions(*services_, call);
    case Endpoint::Tokens:
      return generate_tokens(*services_, call);
    case Endpoint::SearchTrace:
      return reply({.body = to_line(services_->searches.trace(call.subject))});
    case Endpoint::SearchCancel:
      return reply(
          {.body = to_line(Json{{"id", call.subject},
                                {"object", "search"},
                                {"cancelled", services_->searches.cancel(call.subject)}})});
    case Endpoint::SearchEvents:
      services_->searches.listen(call.subject, call.responder);
      call.responder->on_gone([services = services_, responder = call.responder] {
        services->searches.forget(responder);
      });
      finished(request, {}, "events");
      return;
  }
}

void Router::handle(std::shared_ptr<const HttpRequest> request,
                    std::shared_ptr<Responder> responder) {
  HttpHeaders headers;
  add_headers(*request, headers);
  const Found found = find(*request);
  const Call call{request, std::make_shared<LabelledResponder>(responder, std::move(headers)),
                  client_of(*request), found.subject};
  try {
    dispatch(call, found);
  } catch (const ApiError& error) {
    call.responder->send(finished(*request, error.response(), error.what()));
  } catch (const std::exception& error) {
    ApiError hidden(500, "server_error", "", "internal_error",
                    "the server failed to answer this request; its log says why");
    hidden.may_retry = false;
    call.responder->send(finished(*request, hidden.response(), error.what()));
  }
}

HttpResponse Router::problem(int status, const std::string& message) {
  HttpRequest unread;
  unread.id = request_id();
  ApiError error(status, status == 503 ? "unavailable_error" : "invalid_request_error", "",
                 status == 413   ? "content_too_large"
                 : status == 431 ? "header_too_large"
                 : status == 503 ? "too_many_connections"
                 : status == 408 ? "timeout"
                                 : "bad_request",
                 message);
  if (status == 503) error.retry_after = 1;
  HttpResponse response = error.response();
  add_headers(unread, response.headers);
  return finished(unread, std::move(response), message);
}

}  // namespace counterbeam::serve
