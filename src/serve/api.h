// The endpoints: what each answers, given a model that is loaded. Errors are thrown as ApiError.
#pragma once

#include <memory>
#include <string>

#include "serve/http.h"
#include "serve/services.h"

namespace counterbeam::serve {

// A request with its responder, and what the router has found out about it.
struct Call {
  std::shared_ptr<const HttpRequest> request;
  std::shared_ptr<Responder> responder;
  std::string client;   // whom it counts for: a key or an address
  std::string subject;  // of the path: the id of a model or search
};

void chat_completions(Services& services, const Call& call);
void completions(Services& services, const Call& call);
void generate_tokens(Services& services, const Call& call);

HttpResponse list_models(const Services& services, std::int64_t created);
HttpResponse show_model(const Services& services, const std::string& id, std::int64_t created);
HttpResponse list_methods(const Services& services);

HttpResponse tokenize(const Services& services, const HttpRequest& request);
HttpResponse detokenize(const Services& services, const HttpRequest& request);
HttpResponse tokenizer_info(const Services& services);

}  // namespace counterbeam::serve
