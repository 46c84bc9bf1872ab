// The names under which a server may be asked. A page of another site can point a name of its own
// at 127.0.0.1 and then counts as the server's own site for the browser (DNS rebinding); its
// requests still carry that name in Host, and are refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace counterbeam::serve {

// "name:8080" -> "name", "[::1]:8080" -> "::1", in lower case and without a final dot.
std::string host_without_port(std::string_view host);

// localhost and its subdomains, 127.0.0.0/8, ::1.
bool is_loopback_name(std::string_view host);

class HostNames {
 public:
  HostNames() = default;
  // `bound` is the host that the server listens on, `given` the names it is reached by beside it.
  // Hosts are checked if the server listens on a loopback address, or if names are given.
  HostNames(std::string_view bound, const std::vector<std::string>& given, bool on_loopback);

  // The value of a Host header, with or without a port.
  bool allows(std::string_view host) const;
  // One of the names given, by which a proxy is reached.
  bool is_given(std::string_view host) const;

 private:
  bool checked_ = false;
  std::string bound_;
  std::vector<std::string> given_;
};

}  // namespace counterbeam::serve
