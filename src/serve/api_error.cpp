#include "serve/api_error.h"

#include "base/json.h"

namespace counterbeam::serve {

Json ApiError::object() const {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  return {
      {"error",
       {{"message", what()}, {"type", type}, {"param", or_null(param)}, {"code", or_null(code)}}}};
}

HttpResponse ApiError::response() const {
  HttpResponse response;
  response.status = status;
  response.body = to_line(object());
  if (retry_after > 0) response.headers.emplace_back("Retry-After", std::to_string(retry_after));
  if (!may_retry) response.headers.emplace_back("x-should-retry", "false");
  if (!allow.empty()) response.headers.emplace_back("Allow", allow);
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

ApiError unavailable(const std::string& message, const std::string& code, int retry_after) {
  ApiError error(503, "unavailable_error", "", code, message);
  error.retry_after = retry_after;
  return error;
}

}  // namespace counterbeam::serve
