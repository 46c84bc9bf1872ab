// Sends any bytes to the HTTP edge over a socket: the server answers or closes, and still answers
// afterwards. Handlers echo the request, so that every way through a connection is taken.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

#include "base/error.h"
#include "serve/http_server.h"

using namespace counterbeam;

namespace {

serve::HttpServer& server() {
  static serve::HttpServer kServer("127.0.0.1", 0, {.header_bytes = 4096, .body_bytes = 4096}, 1);
  static const bool kStarted = [] {
    kServer.start({.admit = [](serve::HttpRequest&) -> std::optional<serve::HttpResponse> {
                     return std::nullopt;
                   },
                   .handle =
                       [](std::shared_ptr<const serve::HttpRequest> request,
                          std::shared_ptr<serve::Responder> responder) {
                         CB_CHECK(request->path.starts_with('/') && request->body.size() <= 4096);
                         if (request->method == "PUT") return;  // dropped without an answer
                         if (request->method != "POST")
                           return responder->send({.body = request->path});
                         responder->begin({});
                         responder->write(request->body);
                         responder->end();
                       },
                   .problem =
                       [](int status, const std::string& message) {
                         return serve::HttpResponse{.status = status, .body = message};
                       }});
    return true;
  }();
  static_cast<void>(kStarted);
  return kServer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(server().port()));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
    ::usleep(100'000);  // the system is out of ports for a moment: closed ones rest for a minute
    ::close(socket);
    return 0;
  }
  ::send(socket, data, size, MSG_NOSIGNAL);
  ::shutdown(socket, SHUT_WR);
  char bytes[4096];
  while (::recv(socket, bytes, sizeof bytes, 0) > 0) {
  }
  ::close(socket);
  return 0;
}
