// A small HTTP server for tests: one thread per connection, keep-alive, bodies by Content-Length.
// What it answers is the test's function, which may also break the connection in any way it likes.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace counterbeam::testing {

struct HeardRequest {
  std::string method, path, head, body;
};

struct SpokenReply {
  int status = 200;
  std::string body{};
  std::string headers{};  // "Name: value\r\n"
  // Sent in place of all of the above: raw bytes on the socket, which is then closed.
  std::function<void(int socket)> raw{};
};

class HttpListener {
 public:
  using Answer = std::function<SpokenReply(const HeardRequest&)>;

  explicit HttpListener(Answer answer, int port = 0) : answer_(std::move(answer)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 256) != 0)
      std::abort();
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~HttpListener() { stop(); }

  // Breaks all connections; nothing listens afterwards.
  void stop() {
    if (stopping_.exchange(true)) return;
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    {
      const std::lock_guard lock(mutex_);
      for (Connection& one : connections_)
        if (one.socket >= 0) ::shutdown(one.socket, SHUT_RDWR);
    }
    for (Connection& one : connections_) one.thread.join();
  }

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  static bool send_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

 private:
  struct Connection {
    int socket = -1;
    std::thread thread{};
  };

  void accept_all() {
    while (!stopping_) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) continue;
      const int on = 1;
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      const std::lock_guard lock(mutex_);
      Connection& one = connections_.emplace_back();
      one.socket = socket;
      one.thread = std::thread([this, &one, socket] {
        serve(socket);
        const std::lock_guard closing(mutex_);
        ::close(socket);
        one.socket = -1;
      });
    }
  }

  bool receive(int socket, std::string& buffer) {
    char bytes[65536];
    const ssize_t count = ::recv(socket, bytes, sizeof bytes, 0);
    if (count <= 0) return false;
    buffer.append(bytes, static_cast<std::size_t>(count));
    return true;
  }

  void serve(int socket) {
    std::string buffer;
    while (!stopping_) {
      std::size_t end = 0;
      while ((end = buffer.find("\r\n\r\n")) == buffer.npos)
        if (!receive(socket, buffer)) return;
      HeardRequest request;
      request.head = buffer.substr(0, end + 2);
      buffer.erase(0, end + 4);
      const std::size_t space = request.head.find(' ');
      request.method = request.head.substr(0, space);
      request.path = request.head.substr(space + 1, request.head.find(' ', space + 1) - space - 1);
      std::size_t length = 0;
      if (const auto at = request.head.find("Content-Length: "); at != request.head.npos)
        length = std::stoul(request.head.substr(at + 16));
      while (buffer.size() < length)
        if (!receive(socket, buffer)) return;
      request.body = buffer.substr(0, length);
      buffer.erase(0, length);
      const SpokenReply reply = answer_(request);
      if (reply.raw) return reply.raw(socket);
      if (!send_all(socket, "HTTP/1.1 " + std::to_string(reply.status) +
                                " X\r\nContent-Type: application/json\r\n" + reply.headers +
                                "Content-Length: " + std::to_string(reply.body.size()) +
                                "\r\n\r\n" + reply.body))
        return;
    }
  }

  const Answer answer_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::list<Connection> connections_;
  std::thread acceptor_;
};

}  // namespace counterbeam::testing
