// One client connection: reads requests one after the other, gives each to the handlers, and writes
// what the responder is told. Everything runs on the connection's strand. While a request is being
// answered the socket is still read, so that a client that goes away is noticed; what it sends
// ahead waits in the buffer.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "serve/http_server.h"

namespace counterbeam::serve {

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  // REQUIRES that limits and handlers outlive it. `closed` is called once, when it ends.
  HttpConnection(Socket socket, const HttpLimits& limits, const HttpHandlers& handlers,
                 std::function<void()> closed);
  ~HttpConnection();

  void start();   // on the strand
  void refuse();  // answers 503 and closes
  void close();
  bool answering() const { return answering_; }  // any thread
  auto executor() { return socket_.get_executor(); }

  // For the responder of request `number`; on the strand. Calls for an earlier request do nothing.
  void send(std::uint64_t number, HttpResponse response);
  void begin(std::uint64_t number, HttpResponse head);
  void write(std::uint64_t number, std::string piece);
  void end(std::uint64_t number);
  void abandon(std::uint64_t number);
  void on_gone(std::uint64_t number, std::function<void()> gone);

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  enum class State { Idle, Reading, Answering, Closing, Closed };

  void wait_for_request();
  void read_request();
  void header_done();
  void read_body();
  void request_done();
  void watch();
  void fail_read(const boost::system::error_code& error);
  void problem(int status, const std::string& message);
  void queue(std::string bytes);
  void flush();
  void flushed();
  void answered();
  void linger();
  void lost();
  void limit_time(std::chrono::milliseconds most, int status);
  void unlimited();
  std::string head_of(const HttpResponse& response, bool stream) const;

  Socket socket_;
  boost::asio::steady_timer deadline_;
  std::uint64_t deadline_number_ = 0;
  const HttpLimits& limits_;
  const HttpHandlers& handlers_;
  std::function<void()> closed_;
  boost::beast::flat_buffer buffer_;  // bounded: extensions of chunks and trailers have no limit
  std::optional<Parser> parser_;
  std::shared_ptr<HttpRequest> request_;
  std::string peer_;
  State state_ = State::Idle;
  std::atomic<bool> answering_ = false;
  std::uint64_t number_ = 0;  // of the request being answered
  bool reading_ahead_ = false, client_gone_ = false;
  bool begun_ = false, chunked_ = false, finished_ = false;  // of the answer
  bool keep_alive_ = false, head_only_ = false;
  std::vector<std::function<void()>> gone_;
  std::deque<std::string> waiting_, writing_;
  std::size_t waiting_bytes_ = 0;
  std::vector<char> discarded_;  // what a client sends after the last answer
};

}  // namespace counterbeam::serve
