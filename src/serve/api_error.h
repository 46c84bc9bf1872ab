// What a client is told when a request fails: the error object of the OpenAI API with its status.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "base/json_fwd.h"
#include "serve/http.h"

namespace counterbeam::serve {

class ApiError : public std::runtime_error {
 public:
  ApiError(int the_status, std::string the_type, std::string the_param, std::string the_code,
           const std::string& message)
      : std::runtime_error(message),
        status(the_status),
        type(std::move(the_type)),
        param(std::move(the_param)),
        code(std::move(the_code)) {}

  int status;
  std::string type, param, code;  // an empty param or code is null in the object
  int retry_after = 0;            // seconds; 0: the header is left out
  bool may_retry = true;          // false: the client is told not to send it again
  std::string allow{};            // of a 405: the methods that the path has

  Json object() const;  // {"error": {...}}
  HttpResponse response() const;
};

// 400 that names a field of the request.
template <typename... Args>
[[noreturn]] void invalid(std::string param, fmt::format_string<Args...> format, Args&&... args) {
  throw ApiError(400, "invalid_request_error", std::move(param), "",
                 fmt::format(format, std::forward<Args>(args)...));
}

ApiError unavailable(const std::string& message, const std::string& code, int retry_after);

}  // namespace counterbeam::serve
