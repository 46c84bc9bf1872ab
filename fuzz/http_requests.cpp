// Reads any bytes as the body of a request: refused with an ApiError that names its status, or read
// into a request whose limits hold. The first byte chooses the endpoint.
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "serve/api_error.h"
#include "serve/chat_request.h"
#include "serve/completion_request.h"
#include "serve/http.h"
#include "serve/live_text.h"

using namespace counterbeam;

namespace {

const LoadedModel& model() {
  static const LoadedModel kModel = LoadedModel::load(COUNTERBEAM_SOURCE_DIR "/models/tiny-dense",
                                                      {.device = "cpu", .threads = 1});
  return kModel;
}

void check(const serve::GenerationRequest& how, const serve::RequestLimits& limits) {
  CB_CHECK(how.n >= 1 && how.n <= limits.choices && how.stop.size() <= limits.stops);
  CB_CHECK(how.top_logprobs.value_or(0) <= limits.top_logprobs);
  validate(how.settings);
}

void read(std::uint8_t endpoint, std::string_view body) {
  static const serve::ModelNames kNames("m", {{"strong", "cbs:steer=0.7"}}, {});
  const serve::RequestContext context{model(), kNames};
  if (endpoint % 4 == 0) {
    check(serve::read_chat(serve::parse_body(body), context).how, context.limits);
  } else if (endpoint % 4 == 1) {
    const auto request = serve::read_completion(serve::parse_body(body), context);
    check(request.how, context.limits);
    CB_CHECK(request.prompts.size() <= static_cast<std::size_t>(context.limits.prompts));
  } else if (endpoint % 4 == 2) {
    bool valid = false;
    serve::percent_decoded(body, valid);
    kNames.at(body);
  } else {
    const serve::Thoughts part = serve::split_thoughts(body, false, false);
    const serve::Thoughts whole = serve::split_thoughts(body, false, true);
    CB_CHECK(whole.reasoning.starts_with(part.reasoning));
    CB_CHECK(whole.content.starts_with(part.content));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    read(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  } catch (const serve::ApiError& error) {
    CB_CHECK(error.status >= 400 && error.status < 500);
  }
  return 0;
}
