#include "serve/http_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>

namespace counterbeam::serve {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Code = boost::system::error_code;

constexpr std::size_t kReadAhead = 64 << 10;
constexpr std::chrono::milliseconds kLinger{2000};
constexpr int kSendBuffer = 256 << 10;  // so that a reader that takes nothing is noticed
constexpr int kDropped = 0;             // a deadline that ends the connection without an answer

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return result;
}

// "http://host:1/path", as proxies ask, becomes "/path"; gives "host:1".
std::string take_authority(std::string_view& target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!lower(target.substr(0, scheme.size())).starts_with(scheme)) continue;
    const auto slash = std::min(target.find_first_of("/?", scheme.size()), target.size());
    const std::string authority(target.substr(scheme.size(), slash - scheme.size()));
    target = slash == target.size() ? "/" : target.substr(slash);
    return authority;
  }
  return "";
}

// The handlers' side of a request. It keeps the connection alive as long as somebody may answer.
class SocketResponder : public Responder {
 public:
  SocketResponder(std::shared_ptr<HttpConnection> connection, std::uint64_t number)
      : connection_(std::move(connection)), number_(number) {}
  ~SocketResponder() override {
    on_strand([](HttpConnection& to, std::uint64_t number) { to.abandon(number); });
  }

  void send(HttpResponse response) override {
    on_strand([response = std::move(response)](HttpConnection& to, std::uint64_t number) mutable {
      to.send(number, std::move(response));
    });
  }
  void begin(HttpResponse head) override {
    on_strand([head = std::move(head)](HttpConnection& to, std::uint64_t number) mutable {
      to.begin(number, std::move(head));
    });
  }
  void write(std::string piece) override {
    on_strand([piece = std::move(piece)](HttpConnection& to, std::uint64_t number) mutable {
      to.write(number, std::move(piece));
    });
  }
  void end() override {
    on_strand([](HttpConnection& to, std::uint64_t number) { to.end(number); });
  }
  void drop() override {
    on_strand([](HttpConnection& to, std::uint64_t number) { to.abandon(number); });
  }
  void on_gone(std::function<void()> gone) override {
    on_strand([gone = std::move(gone)](HttpConnection& to, std::uint64_t number) mutable {
      to.on_gone(number, std::move(gone));
    });
  }

 private:
  template <typename Work>
  void on_strand(Work work) {
    asio::post(connection_->executor(), [to = connection_, number = number_,
                                         work = std::move(work)]() mutable { work(*to, number); });
  }

  std::shared_ptr<HttpConnection> connection_;
  std::uint64_t number_;
};

}  // namespace

HttpConnection::HttpConnection(Socket socket, const HttpLimits& limits,
                               const HttpHandlers& handlers, std::function<void()> closed)
    : socket_(std::move(socket)),
      deadline_(socket_.get_executor()),
      limits_(limits),
      handlers_(handlers),
      closed_(std::move(closed)),
      buffer_(limits.header_bytes + 2 * kReadAhead) {
  Code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::send_buffer_size(kSendBuffer), ignored);
  const auto remote = socket_.remote_endpoint(ignored);
  if (!ignored) peer_ = remote.address().to_string();
}

HttpConnection::~HttpConnection() {
  closed_();
}

void HttpConnection::start() {
  wait_for_request();
}

void HttpConnection::refuse() {
  problem(503, "too many connections; try again later");
}

void HttpConnection::close() {
  if (state_ == State::Closed) return;
  state_ = State::Closed;
  answering_ = false;
  unlimited();
  Code ignored;
  socket_.shutdown(Socket::shutdown_both, ignored);
  socket_.close(ignored);
  lost();
}

// Tells those who answer that nobody listens any more.
void HttpConnection::lost() {
  client_gone_ = true;
  for (auto& gone : std::exchange(gone_, {})) gone();
}

// `status`: what the client is told when the time is over; kDropped: nothing.
void HttpConnection::limit_time(std::chrono::milliseconds most, int status) {
  const std::uint64_t number = ++deadline_number_;
  deadline_.expires_after(most);
  deadline_.async_wait([self = shared_from_this(), number, status](const Code& error) {
    if (error || number != self->deadline_number_) return;
    if (status == kDropped || self->buffer_.size() == 0) return self->close();
    Code ignored;
    self->socket_.cancel(ignored);  // the reading that is under way
    self->problem(status, "the request did not arrive in time");
  });
}

void HttpConnection::unlimited() {
  ++deadline_number_;
  deadline_.cancel();
}

void HttpConnection::wait_for_request() {
  state_ = State::Idle;
  if (client_gone_) return close();
  if (reading_ahead_) {
    limit_time(limits_.idle, kDropped);
    Code ignored;
    if (buffer_.size() > 0) socket_.cancel(ignored);  // the reading that is under way ends, then
    return;                                           // watch() goes on
  }
  if (buffer_.size() > 0) return read_request();
  limit_time(limits_.idle, kDropped);
  watch();
}

// Reads whatever the client sends next: the next request, or its end.
void HttpConnection::watch() {
  if (reading_ahead_ || client_gone_ || buffer_.size() >= kReadAhead) return;
  reading_ahead_ = true;
  socket_.async_read_some(buffer_.prepare(4096),
                          [self = shared_from_this()](const Code& error, std::size_t bytes) {
                            self->reading_ahead_ = false;
                            if (self->state_ == State::Closed) return;
                            self->buffer_.commit(bytes);
                            if (self->state_ == State::Closing)
                              return error ? self->close() : self->linger();
                            const bool idle = self->state_ == State::Idle;
                            if (error == asio::error::operation_aborted && idle)
                              return self->read_request();
                            if (error && idle) return self->close();
                            if (error) return self->lost();
                            idle ? self->read_request() : self->watch();
                          });
}

void HttpConnection::read_request() {
  state_ = State::Reading;
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
  parser_->body_limit(limits_.body_bytes);
  limit_time(limits_.header, 408);
  http::async_read_header(socket_, buffer_, *parser_,
                          [self = shared_from_this()](const Code& error, std::size_t) {
                            if (self->state_ != State::Reading) return;
                            error ? self->fail_read(error) : self->header_done();
                          });
}

void HttpConnection::fail_read(const Code& error) {
  if (error == http::error::header_limit)
    return problem(431, fmt::format("the header is larger than {} bytes", limits_.header_bytes));
  if (error == http::error::buffer_overflow)
    return problem(431, "the extension of a chunk or the trailer is too long");
  if (error == http::error::body_limit)
    return problem(413, fmt::format("the body is larger than {} bytes", limits_.body_bytes));
  if (error == http::error::end_of_stream || error == http::error::partial_message ||
      error.category() != http::make_error_code(http::error::bad_version).category())
    return close();
  problem(400, "this is not an HTTP request: " + error.message());
}

void HttpConnection::header_done() {
  const auto& message = parser_->get();
  std::string_view target(message.target().data(), message.target().size());
  const std::string authority = take_authority(target);
  const std::size_t mark = target.find('?');
  bool valid = true;
  request_ = std::make_shared<HttpRequest>();
  request_->method = std::string(message.method_string());
  request_->path = percent_decoded(target.substr(0, mark), valid);
  if (mark != target.npos) request_->query = target.substr(mark + 1);
  request_->peer = peer_;
  for (const auto& field : message)
    request_->headers.emplace_back(lower({field.name_string().data(), field.name_string().size()}),
                                   field.name() == http::field::host && !authority.empty()
                                       ? authority
                                       : std::string(field.value().data(), field.value().size()));
  keep_alive_ = message.keep_alive();
  chunked_ = message.version() >= 11;
  head_only_ = message.method() == http::verb::head;
  if (!valid || !request_->path.starts_with('/'))
    return problem(400, "the path of the request is not valid");
  const auto hosts = message.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && message.version() >= 11))
    return problem(400, "the request must have one Host header");
  for (const auto& [name, value] : request_->headers)
    if (name == "transfer-encoding" && lower(value) != "chunked")
      return problem(501, "Transfer-Encoding may only be chunked");
  if (std::optional<HttpResponse> refused = handlers_.admit(*request_)) {
    refused->close = refused->close || !parser_->is_done();
    state_ = State::Answering;
    answering_ = true;
    return send(++number_, std::move(*refused));
  }
  if (!parser_->is_done() && lower(request_->header("expect")) == "100-continue")
    queue("HTTP/1.1 100 Continue\r\n\r\n");
  read_body();
}

void HttpConnection::read_body() {
  limit_time(limits_.body, 408);
  http::async_read(socket_, buffer_, *parser_,
                   [self = shared_from_this()](const Code& error, std::size_t) {
                     if (self->state_ != State::Reading) return;
                     error ? self->fail_read(error) : self->request_done();
                   });
}

void HttpConnection::request_done() {
  unlimited();
  request_->body = std::move(parser_->get().body());
  parser_.reset();
  state_ = State::Answering;
  answering_ = true;
  begun_ = finished_ = false;
  ++number_;
  watch();
  handlers_.handle(std::move(request_),
                   std::make_shared<SocketResponder>(shared_from_this(), number_));
}

// An answer to what could not be read as a request; the connection ends with it.
void HttpConnection::problem(int status, const std::string& message) {
  unlimited();
  HttpResponse response = handlers_.problem(status, message);
  response.close = true;
  state_ = State::Answering;
  answering_ = true;
  chunked_ = true;
  send(++number_, std::move(response));
}

std::string HttpConnection::head_of(const HttpResponse& response, bool stream) const {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\n", response.status, status_text(response.status));
  if (!response.type.empty() && response.status != 204 && response.status != 304)
    head += fmt::format("Content-Type: {}\r\n", response.type);
  for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, value);
  if (stream && chunked_)
    head += "Transfer-Encoding: chunked\r\n";
  else if (!stream && response.status != 204 && response.status != 304)
    head += fmt::format("Content-Length: {}\r\n", response.body.size());
  head += keep_alive_ ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return head;
}

void HttpConnection::send(std::uint64_t number, HttpResponse response) {
  if (number != number_ || state_ != State::Answering || finished_ || begun_) return;
  begun_ = finished_ = true;
  keep_alive_ = keep_alive_ && !response.close;
  std::string bytes = head_of(response, false);
  if (!head_only_ && response.status != 204 && response.status != 304) bytes += response.body;
  queue(std::move(bytes));
}

void HttpConnection::begin(std::uint64_t number, HttpResponse head) {
  if (number != number_ || state_ != State::Answering || begun_) return;
  begun_ = true;
  keep_alive_ = keep_alive_ && chunked_ && !head.close;
  queue(head_of(head, true));
}

void HttpConnection::write(std::uint64_t number, std::string piece) {
  if (number != number_ || state_ != State::Answering || !begun_ || finished_ || piece.empty())
    return;
  queue(chunked_ ? fmt::format("{:x}\r\n{}\r\n", piece.size(), piece) : std::move(piece));
}

void HttpConnection::end(std::uint64_t number) {
  if (number != number_ || state_ != State::Answering || !begun_ || finished_) return;
  finished_ = true;
  if (chunked_)
    queue("0\r\n\r\n");
  else if (writing_.empty() && waiting_.empty())
    answered();
}

void HttpConnection::abandon(std::uint64_t number) {
  if (number != number_ || state_ != State::Answering || finished_) return;
  close();
}

void HttpConnection::on_gone(std::uint64_t number, std::function<void()> gone) {
  if (number != number_ || state_ == State::Closed || client_gone_) return gone();
  if (!finished_) gone_.push_back(std::move(gone));
}

void HttpConnection::queue(std::string bytes) {
  waiting_bytes_ += bytes.size();
  waiting_.push_back(std::move(bytes));
  // A whole answer may be larger; only what a reader leaves unread of a stream is bounded.
  if (!finished_ && waiting_bytes_ > limits_.backlog_bytes) return close();
  if (writing_.empty()) flush();
}

void HttpConnection::flush() {
  std::swap(writing_, waiting_);
  waiting_bytes_ = 0;
  std::vector<asio::const_buffer> buffers;
  for (const std::string& bytes : writing_) buffers.push_back(asio::buffer(bytes));
  if (state_ == State::Answering) limit_time(limits_.stall, kDropped);
  asio::async_write(socket_, buffers, [self = shared_from_this()](const Code& error, std::size_t) {
    self->writing_.clear();
    if (self->state_ == State::Closed) return;
    error ? self->close() : self->flushed();
  });
}

void HttpConnection::flushed() {
  if (!waiting_.empty()) return flush();
  if (state_ != State::Answering) return;
  unlimited();
  if (finished_) answered();
}

void HttpConnection::answered() {
  gone_.clear();
  answering_ = false;
  if (!keep_alive_) return linger();
  begun_ = finished_ = false;
  wait_for_request();
}

// Says that nothing more comes, and takes what the client still sends: closing at once could reset
// the connection before the client has read the answer.
void HttpConnection::linger() {
  if (client_gone_) return close();
  if (state_ != State::Closing) {
    state_ = State::Closing;
    Code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    limit_time(kLinger, kDropped);
  }
  if (reading_ahead_) return;  // watch() goes on with this
  reading_ahead_ = true;
  discarded_.resize(kReadAhead);
  socket_.async_read_some(asio::buffer(discarded_),
                          [self = shared_from_this()](const Code& error, std::size_t) {
                            self->reading_ahead_ = false;
                            if (self->state_ == State::Closed) return;
                            error ? self->close() : self->linger();
                          });
}

}  // namespace counterbeam::serve
