#include "serve/server.h"

#include <condition_variable>
#include <csignal>
#include <mutex>

#include "serve/router.h"

namespace counterbeam::serve {
namespace {

constexpr std::chrono::milliseconds kLastAnswers{5000};  // for clients that read slowly

// "Qwen/Qwen2.5-7B" stays; what could not stand in a model name is replaced.
std::string usable_name(std::string name) {
  for (char& c : name)
    if (c == ',' || c == '@' || c == ' ' || c == '\t') c = '-';
  return name.empty() ? "model" : name;
}

void end_by_signal(int number) {
  std::signal(number, SIG_DFL);
  std::raise(number);
}

// Of an answer, as clients see it: what differs here may change the same request's answer.
std::string fingerprint_of(const EngineInfo& engine, const std::string& version) {
  std::string text = fmt::format("counterbeam-{}-{}-{}", version, engine.device, engine.dtype);
  if (!engine.activations.empty()) text += "-" + engine.activations;
  if (!engine.cache_dtype.empty()) text += "-" + engine.cache_dtype + "-cache";
  return text;
}

}  // namespace

struct Server::Parts {
  explicit Parts(ServerOptions given)
      : options(std::move(given)),
        log(options.log),
        router({options.keys, options.origins, options.version}, metrics, log),
        http(options.host, options.port, options.limits, options.threads) {}

  void keep_listeners_alive(Searches& searches) {
    http.after(options.keep_alive, [this, &searches] {
      if (over) return;
      searches.keep_alive();
      keep_listeners_alive(searches);
    });
  }

  ServerOptions options;
  Metrics metrics;
  RequestLog log;
  Router router;
  std::mutex mutex;
  std::condition_variable changed;
  bool draining = false;  // guarded by mutex
  std::atomic<int> signals = 0;
  std::atomic<bool> over = false;
  HttpServer http;  // last: its threads use all of the above
};

Server::Server(ServerOptions options) : parts_(std::make_unique<Parts>(std::move(options))) {
  std::signal(SIGPIPE, SIG_IGN);
  Router& router = parts_->router;
  router.answer_to({parts_->options.host, parts_->options.host_names, parts_->http.on_loopback()});
  parts_->http.start({.admit = [&router](HttpRequest& request) { return router.admit(request); },
                      .handle =
                          [&router](std::shared_ptr<const HttpRequest> request,
                                    std::shared_ptr<Responder> responder) {
                            router.handle(std::move(request), std::move(responder));
                          },
                      .problem =
                          [&router](int status, const std::string& message) {
                            return router.problem(status, message);
                          }});
}

Server::~Server() = default;

int Server::port() const {
  return parts_->http.port();
}

std::string Server::url() const {
  const std::string& host = parts_->options.host;
  const bool ipv6 = host.find(':') != host.npos;
  return fmt::format("http://{}{}{}:{}", ipv6 ? "[" : "", host, ipv6 ? "]" : "", port());
}

void Server::handle_signals() {
  parts_->http.on_signal([this](int number) {
    if (parts_->signals++ > 0 || parts_->router.state() == ServerState::Loading)
      return end_by_signal(number);
    drain();
  });
}

void Server::drain() {
  {
    const std::lock_guard lock(parts_->mutex);
    parts_->draining = true;
  }
  parts_->changed.notify_all();
}

void Server::serve(const LoadedModel& model, const std::function<void()>& ready) {
  const ServerOptions& options = parts_->options;
  HttpServer& http = parts_->http;
  const ModelNames names(options.name.empty() ? usable_name(model.name()) : options.name,
                         options.aliases, options.book);
  const EngineInfo& info = model.engine().info();
  Searches searches(model);
  PromptScores scores(model.engine());
  Admission admission(options.searches, options.queue);
  Services services{model,
                    names,
                    admission,
                    searches,
                    scores,
                    parts_->metrics,
                    parts_->log,
                    [&http](std::chrono::milliseconds delay, std::function<void()> work) {
                      http.after(delay, std::move(work));
                    },
                    fingerprint_of(info, options.version),
                    options.system_as_user,
                    options.ignore_tools,
                    options.keep_alive};
  parts_->router.ready(services, [&, this] {
    const bool is_ready = parts_->router.state() == ServerState::Ready;
    return parts_->metrics.text(names.name(),
                                {admission.running(), admission.waiting(), http.connections(),
                                 options.searches, options.queue, is_ready ? "ready" : "draining"},
                                model.engine().status(), model.engine().tokens_drawn(),
                                scores.counts());
  });
  parts_->keep_listeners_alive(searches);
  ready();
  {
    std::unique_lock lock(parts_->mutex);
    parts_->changed.wait(lock, [&] { return parts_->draining; });
  }
  parts_->router.drain();
  admission.drain();
  if (!admission.wait_idle(options.drain)) searches.cancel_all();
  admission.wait_idle(std::chrono::hours(1));
  searches.end_all();
  parts_->over = true;
  http.stop(kLastAnswers);
}

}  // namespace counterbeam::serve
