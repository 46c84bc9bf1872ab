// A request of /v1/chat/completions.
#pragma once

#include "serve/generation_request.h"

namespace counterbeam::serve {

struct ChatRequest {
  GenerationRequest how;
  Question question;
  bool reasoning = true;  // thoughts are told apart from the answer; false: reasoning_format none
};

// ApiError 400 that names the field.
ChatRequest read_chat(const Json& body, const RequestContext& context);

// The messages of a request as a question. Also for /tokenize.
Question read_messages(const Fields& fields, const RequestContext& context);

}  // namespace counterbeam::serve
