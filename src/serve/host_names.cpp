#include "serve/host_names.h"

#include <arpa/inet.h>

#include <algorithm>

namespace counterbeam::serve {

std::string host_without_port(std::string_view host) {
  if (host.starts_with('[')) {
    host = host.substr(1, host.find(']') - 1);
  } else if (const auto colon = host.find(':'); colon == host.rfind(':')) {
    host = host.substr(0, colon);
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  std::string name(host);
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return name;
}

bool is_loopback_name(std::string_view host) {
  const std::string name = host_without_port(host);
  if (name == "localhost" || name.ends_with(".localhost")) return true;
  in_addr four{};
  if (::inet_pton(AF_INET, name.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  in6_addr six{};
  if (::inet_pton(AF_INET6, name.c_str(), &six) != 1) return false;
  return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
}

HostNames::HostNames(std::string_view bound, const std::vector<std::string>& given,
                     bool on_loopback)
    : checked_(on_loopback || !given.empty()), bound_(host_without_port(bound)) {
  for (const std::string& name : given) given_.push_back(host_without_port(name));
}

bool HostNames::is_given(std::string_view host) const {
  return std::find(given_.begin(), given_.end(), host_without_port(host)) != given_.end();
}

bool HostNames::allows(std::string_view host) const {
  return !checked_ || is_loopback_name(host) || host_without_port(host) == bound_ || is_given(host);
}

}  // namespace counterbeam::serve
