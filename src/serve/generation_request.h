// What chat and completion requests have in common, read from their JSON: the method with its
// settings, how the answer is to be returned, and limits on all of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "search/loaded_model.h"
#include "serve/fields.h"
#include "serve/model_names.h"

namespace counterbeam::serve {

struct RequestLimits {
  int choices = 128;      // n
  int all_choices = 512;  // n times prompts
  int prompts = 512;
  std::size_t stops = 16;
  int top_logprobs = 20;
};

// What requests are read against.
struct RequestContext {
  const LoadedModel& model;
  const ModelNames& names;
  RequestLimits limits{};
  bool system_as_user = false;
  bool ignore_tools = false;  // answered as if they were not there, instead of refused
};

struct GenerationRequest {
  std::string model;  // as the client named it
  Settings settings;
  bool plain = false;  // plain sampling: no method was named
  int n = 1;
  bool stream = false, include_usage = false;
  std::uint64_t seed = 0;
  std::optional<int> top_logprobs{};  // none: no log-probs; otherwise alternatives per token
  std::optional<int> prompt_logprobs{};
  bool return_token_ids = false;
  bool include_stop = false;  // the stop text stays in the answer
  std::vector<std::string> stop{};
  std::vector<TokenId> stop_ids{};
  std::string search_id{};  // chosen by the client; empty: the server makes one
  bool trace = false;       // the answer holds the trace

  // A method with one beam has one answer, so that n choices are n searches with seeds of their
  // own.
  bool one_answer() const { return settings.beams == 1; }
  // Searches that one prompt takes.
  int searches() const { return one_answer() ? n : 1; }
};

// Reads the common fields. `default_tokens`: max_tokens where the request names none; 0: the
// method's. ApiError names the field.
GenerationRequest read_generation(const Fields& fields, const RequestContext& context,
                                  int default_tokens);

}  // namespace counterbeam::serve
