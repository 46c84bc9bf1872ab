#include "cli/http_client.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/lower_case.h"
#include "base/quote.h"

namespace counterbeam::cli {
namespace {

constexpr std::size_t kMostHeaderBytes = 1 << 20;
constexpr int kPollMilliseconds = 100;

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<std::size_t> size_of_digits(std::string_view text, int base) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

}  // namespace

ServerAddress ServerAddress::parse(std::string_view text) {
  const std::string shown = in_quotes(text);
  if (text.starts_with("https://"))
    bad_input("--server {}: only http is supported; for https, put a proxy in between", shown);
  if (text.starts_with("http://")) text.remove_prefix(7);
  while (text.ends_with('/')) text.remove_suffix(1);
  if (text.ends_with("/v1")) text.remove_suffix(3);
  ServerAddress address;
  std::size_t colon = text.rfind(':');
  if (text.starts_with('[')) {
    const std::size_t bracket = text.find(']');
    if (bracket == text.npos) bad_input("--server {}: the ] is missing", shown);
    address.host = text.substr(1, bracket - 1);
    colon = bracket + 1 < text.size() ? bracket + 1 : text.npos;
  } else {
    address.host = text.substr(0, colon);
  }
  address.port = colon == text.npos ? "8080" : std::string(text.substr(colon + 1));
  const auto port = size_of_digits(address.port, 10);
  const bool digits = address.port.find_first_not_of("0123456789") == std::string::npos;
  if (address.host.empty() || address.host.find_first_of("/ \r\n") != std::string::npos || !port ||
      !digits || *port == 0 || *port > 65535)
    bad_input("--server {}: is not an address; write it as http://127.0.0.1:8080", shown);
  return address;
}

std::string ServerAddress::name() const {
  const bool six = host.find(':') != host.npos;
  return fmt::format("http://{}{}{}:{}", six ? "[" : "", host, six ? "]" : "", port);
}

HttpAnswer::HttpAnswer(const ServerAddress& address, const HttpCall& call,
                       std::function<void()> waiting)
    : address_(address), waiting_(std::move(waiting)) {
  try {
    connect();
    std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n",
                                   call.method, call.path, address.name().substr(7));
    if (!call.key.empty()) head += fmt::format("Authorization: Bearer {}\r\n", call.key);
    if (!call.body.empty()) head += "Content-Type: application/json\r\n";
    send(fmt::format("{}Content-Length: {}\r\n\r\n{}", head, call.body.size(), call.body));
    read_header();
  } catch (...) {
    if (socket_ >= 0) ::close(socket_);
    throw;
  }
}

HttpAnswer::~HttpAnswer() {
  ::close(socket_);
}

void HttpAnswer::connect() {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(address_.host.c_str(), address_.port.c_str(), &hints, &found))
    failed("{}: {}", address_.name(), ::gai_strerror(error));
  int reason = 0;
  for (const addrinfo* one = found; one && socket_ < 0; one = one->ai_next) {
    socket_ = ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
    if (socket_ >= 0 && ::connect(socket_, one->ai_addr, one->ai_addrlen) == 0) break;
    reason = errno;
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  ::freeaddrinfo(found);
  if (socket_ < 0)
    failed("{}: no connection ({}); is `counterbeam serve` running there?", address_.name(),
           std::strerror(reason));
}

void HttpAnswer::send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return;  // the server may have answered before it read everything
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool HttpAnswer::receive() {
  pollfd waited{socket_, POLLIN, 0};
  while (::poll(&waited, 1, kPollMilliseconds) <= 0) waiting_();
  char bytes[16384];
  ssize_t count = 0;
  do count = ::recv(socket_, bytes, sizeof bytes, 0);
  while (count < 0 && errno == EINTR);
  if (count <= 0) return false;
  buffer_.append(bytes, static_cast<std::size_t>(count));
  return true;
}

std::string HttpAnswer::line() {
  std::size_t end = 0;
  while ((end = buffer_.find('\n')) == buffer_.npos) {
    if (buffer_.size() > kMostHeaderBytes || !receive())
      failed("{}: the answer ended too early, or is not HTTP", address_.name());
  }
  std::string text = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

void HttpAnswer::read_header() {
  const std::string first = line();
  const auto status = first.starts_with("HTTP/1.") && first.size() > 9
                          ? size_of_digits(first.substr(9, 3), 10)
                          : std::nullopt;
  if (!status) failed("{}: what answers there does not speak HTTP", address_.name());
  status_ = static_cast<int>(*status);
  for (std::string field = line(); !field.empty(); field = line()) {
    const std::size_t colon = field.find(':');
    const std::string name = to_lower_case(field.substr(0, colon));
    const std::string value(
        without_spaces(std::string_view(field).substr(std::min(colon + 1, field.size()))));
    if (name == "transfer-encoding" && to_lower_case(value) == "chunked")
      framing_ = Framing::Chunks;
    if (name == "content-length" && framing_ != Framing::Chunks) {
      framing_ = Framing::Length;
      left_ = size_of_digits(value, 10).value_or(0);
    }
  }
}

std::string HttpAnswer::take(std::size_t most) {
  std::string text = buffer_.substr(0, most);
  buffer_.erase(0, text.size());
  return text;
}

std::optional<std::string> HttpAnswer::more() {
  if (ended_) return std::nullopt;
  if (framing_ == Framing::Chunks && left_ == 0) {
    if (in_chunk_) line();  // the line end after a chunk
    const auto size = size_of_digits(line(), 16);
    if (!size) failed("{}: a chunk of the answer has no size", address_.name());
    left_ = *size;
    in_chunk_ = true;
    if (left_ == 0) ended_ = true;
  }
  if (framing_ == Framing::Length && left_ == 0) ended_ = true;
  if (ended_) return std::nullopt;
  if (buffer_.empty() && !receive()) {
    ended_ = true;
    if (framing_ == Framing::Closed) return std::nullopt;
    failed("{}: the connection broke within the answer", address_.name());
  }
  const std::string text = take(framing_ == Framing::Closed ? buffer_.size() : left_);
  if (framing_ != Framing::Closed) left_ -= text.size();
  return text;
}

std::string HttpAnswer::rest() {
  std::string text;
  while (const auto piece = more()) text += *piece;
  return text;
}

}  // namespace counterbeam::cli
