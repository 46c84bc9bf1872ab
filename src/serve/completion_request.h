// A request of /v1/completions.
#pragma once

#include "serve/generation_request.h"

namespace counterbeam::serve {

struct CompletionPrompt {
  std::string text{};  // as it is echoed
  std::vector<TokenId> ids;
  Question question;
};

struct CompletionRequest {
  GenerationRequest how;
  std::vector<CompletionPrompt> prompts;
  bool echo = false;
  bool generate = true;  // false: max_tokens is 0, the prompt alone is echoed
};

// ApiError 400 that names the field.
CompletionRequest read_completion(const Json& body, const RequestContext& context);

}  // namespace counterbeam::serve
