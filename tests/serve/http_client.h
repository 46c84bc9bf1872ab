// A client over a raw socket: sends any bytes, reads answers with Content-Length or in chunks.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace counterbeam::serve::testing {

struct Answer {
  int status = 0;                              // 0: the connection ended without one
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  Json json() const { return parse_json(body, "the answer"); }
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
  // The data of the events of a stream, in order; comments are left out.
  std::vector<std::string> events() const {
    std::vector<std::string> all;
    std::size_t at = 0;
    for (std::size_t end; (end = body.find("\n\n", at)) != body.npos; at = end + 2) {
      const std::string event = body.substr(at, end - at);
      const auto data = event.find("data: ");
      if (data == 0 || (data != event.npos && event[data - 1] == '\n'))
        all.push_back(event.substr(data + 6));
    }
    return all;
  }
};

class Client {
 public:
  explicit Client(int port) {
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  int socket() const { return socket_; }
  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  // Ends the connection with a reset.
  void abort() {
    const linger now{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  bool request(const std::string& method, const std::string& path, const std::string& body = "",
               const std::string& headers = "") {
    std::string text = method + " " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers;
    if (!body.empty() || method == "POST")
      text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
              "\r\n";
    return send(text + "\r\n" + body);
  }

  // Reads until `text` has arrived, or the end. False: it has not.
  bool wait_for(const std::string& text, int seconds = 60) {
    while (buffer_.find(text) == buffer_.npos)
      if (!more(seconds)) return false;
    return true;
  }
  const std::string& received() const { return buffer_; }

  Answer answer(int seconds = 60, bool head_only = false) {
    Answer answer;
    std::size_t end;
    while ((end = buffer_.find("\r\n\r\n")) == buffer_.npos)
      if (!more(seconds)) return answer;
    read_head(buffer_.substr(0, end), answer);
    buffer_.erase(0, end + 4);
    if (answer.status == 100) return this->answer(seconds);
    if (head_only) return answer;
    if (answer.header("transfer-encoding") == "chunked") {
      while (read_chunk(answer, seconds)) {
      }
    } else if (const std::string length = answer.header("content-length"); !length.empty()) {
      const std::size_t size = std::stoul(length);
      while (buffer_.size() < size && more(seconds)) {
      }
      answer.body = buffer_.substr(0, size);
      buffer_.erase(0, size);
    } else {
      if (answer.status != 204 && answer.status != 304)
        while (more(seconds)) {
        }
      answer.body = std::exchange(buffer_, "");
    }
    return answer;
  }

  // True: the server has closed the connection within the time.
  bool closed_by_server(int seconds = 10) {
    while (more(seconds)) {
    }
    return ended_;
  }

 private:
  bool more(int seconds) {
    pollfd ready{socket_, POLLIN, 0};
    if (ended_ || ::poll(&ready, 1, seconds * 1000) <= 0) return false;
    char bytes[65536];
    const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
    if (count <= 0) {
      ended_ = true;
      return false;
    }
    buffer_.append(bytes, static_cast<std::size_t>(count));
    return true;
  }

  static void read_head(const std::string& head, Answer& answer) {
    std::size_t at = head.find("\r\n");
    const std::string first = head.substr(0, at);
    if (first.starts_with("HTTP/1.1 ")) answer.status = std::stoi(first.substr(9, 3));
    while (at != head.npos) {
      const std::size_t next = head.find("\r\n", at + 2);
      const std::string line = head.substr(at + 2, next == head.npos ? next : next - at - 2);
      const auto colon = line.find(": ");
      std::string name = line.substr(0, colon);
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      if (colon != line.npos) answer.headers[name] = line.substr(colon + 2);
      at = next;
    }
  }

  bool read_chunk(Answer& answer, int seconds) {
    std::size_t line;
    while ((line = buffer_.find("\r\n")) == buffer_.npos)
      if (!more(seconds)) return false;
    const std::size_t size = std::stoul(buffer_.substr(0, line), nullptr, 16);
    while (buffer_.size() < line + 2 + size + 2)
      if (!more(seconds)) return false;
    answer.body += buffer_.substr(line + 2, size);
    buffer_.erase(0, line + 2 + size + 2);
    return size > 0;
  }

  int socket_ = -1;
  bool connected_ = false, ended_ = false;
  std::string buffer_;
};

inline Answer ask(int port, const std::string& method, const std::string& path,
                  const std::string& body = "", const std::string& headers = "") {
  Client client(port);
  client.request(method, path, body, headers);
  return client.answer(60, method == "HEAD");
}

inline Answer post(int port, const std::string& path, const Json& body,
                   const std::string& headers = "") {
  return ask(port, "POST", path, to_line(body), headers);
}

}  // namespace counterbeam::serve::testing
