#include "serve/http_server.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/strand.hpp>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/start_thread.h"
#include "serve/http_connection.h"

namespace counterbeam::serve {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

// As many open files as the system lets us have: every connection is one.
void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

struct HttpServer::Parts {
  std::atomic<int> open = 0;  // before `io`, whose end closes connections
  asio::io_context io;
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(io);
  Tcp::acceptor acceptor{io};
  asio::steady_timer retry{io};
  std::optional<asio::signal_set> signals;
  HttpLimits limits;
  HttpHandlers handlers;
  std::vector<std::jthread> threads;
  int thread_count = 1;
  std::mutex mutex;
  std::vector<std::weak_ptr<HttpConnection>> connections;  // guarded by mutex

  void accept() {
    acceptor.async_accept(asio::make_strand(io),
                          [this](const ErrorCode& error, Tcp::socket socket) {
                            if (error == asio::error::operation_aborted) return;
                            if (error) {  // out of file descriptors, most likely
                              retry.expires_after(std::chrono::milliseconds(100));
                              retry.async_wait([this](const ErrorCode& stopped) {
                                if (!stopped) accept();
                              });
                              return;
                            }
                            take(std::move(socket));
                            accept();
                          });
  }

  void take(Tcp::socket socket) {
    const bool full = ++open > limits.connections;
    auto connection =
        std::make_shared<HttpConnection>(std::move(socket), limits, handlers, [this] { --open; });
    {
      const std::lock_guard lock(mutex);
      std::erase_if(connections, [](const auto& known) { return known.expired(); });
      connections.push_back(connection);
    }
    asio::post(connection->executor(),
               [connection, full] { full ? connection->refuse() : connection->start(); });
  }

  std::vector<std::shared_ptr<HttpConnection>> living() {
    const std::lock_guard lock(mutex);
    std::vector<std::shared_ptr<HttpConnection>> found;
    for (const auto& known : connections)
      if (auto connection = known.lock()) found.push_back(std::move(connection));
    return found;
  }

  void wait_for_signal(const std::function<void(int)>& signalled) {
    signals->async_wait([this, signalled](const ErrorCode& error, int number) {
      if (error) return;
      signalled(number);
      wait_for_signal(signalled);
    });
  }
};

HttpServer::HttpServer(const std::string& host, int port, const HttpLimits& limits, int threads)
    : parts_(std::make_unique<Parts>()) {
  raise_file_limit();
  parts_->limits = limits;
  parts_->thread_count = threads;
  ErrorCode error;
  Tcp::resolver resolver(parts_->io);
  const auto found = resolver.resolve(
      host, std::to_string(port), Tcp::resolver::passive | Tcp::resolver::numeric_service, error);
  if (error || found.empty())
    failed("--host {}: there is no such address ({})", host, error.message());
  const Tcp::endpoint at = found.begin()->endpoint();
  parts_->acceptor.open(at.protocol(), error);
  if (!error) parts_->acceptor.set_option(Tcp::acceptor::reuse_address(true), error);
  if (!error) parts_->acceptor.bind(at, error);
  if (!error) parts_->acceptor.listen(1024, error);
  if (error)
    failed("cannot listen on {}:{}: {}; give another --port or --host", host, port,
           error.message());
}

HttpServer::~HttpServer() {
  stop(std::chrono::milliseconds(0));
}

int HttpServer::port() const {
  return parts_->acceptor.local_endpoint().port();
}

bool HttpServer::on_loopback() const {
  return parts_->acceptor.local_endpoint().address().is_loopback();
}

int HttpServer::connections() const {
  return parts_->open;
}

void HttpServer::start(HttpHandlers handlers) {
  parts_->handlers = std::move(handlers);
  parts_->threads.reserve(static_cast<std::size_t>(parts_->thread_count));
  parts_->accept();
  for (int i = 0; i < parts_->thread_count; ++i)
    parts_->threads.push_back(start_thread([parts = parts_.get()] { parts->io.run(); }));
}

void HttpServer::after(std::chrono::milliseconds delay, std::function<void()> work) {
  if (delay.count() <= 0) return asio::post(parts_->io, std::move(work));
  auto timer = std::make_shared<asio::steady_timer>(parts_->io, delay);
  timer->async_wait([timer, work = std::move(work)](const ErrorCode& error) {
    if (!error) work();
  });
}

void HttpServer::on_signal(std::function<void(int)> signalled) {
  parts_->signals.emplace(parts_->io, SIGTERM, SIGINT);
  parts_->wait_for_signal(signalled);
}

void HttpServer::stop(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  const auto answering = [&] {
    const auto living = parts_->living();
    return std::any_of(living.begin(), living.end(), [](const auto& c) { return c->answering(); });
  };
  while (answering() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  parts_->work.reset();
  parts_->io.stop();
  parts_->threads.clear();  // joins them
}

}  // namespace counterbeam::serve
