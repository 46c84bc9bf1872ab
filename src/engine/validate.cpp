#include "engine/validate.h"

#include <cmath>

#include "base/error.h"

namespace counterbeam {

void validate_ids(std::span<const TokenId> ids, const EngineInfo& info, const std::string& what) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= info.vocab_size) {
      bad_input("{}: token {} is id {}; ids of this model are 0 to {}", what, i, ids[i],
                info.vocab_size - 1);
    }
  }
}

void validate_prompt(std::span<const TokenId> prompt, const EngineInfo& info, std::size_t index) {
  if (prompt.empty()) bad_input("prompt {} is empty; a prompt needs at least one token", index);
  if (static_cast<std::int64_t>(prompt.size()) >= info.max_length) {
    check_cache_holds(static_cast<std::int64_t>(prompt.size()) + 1, info,
                      fmt::format("prompt {}, with an answer,", index));
    bad_input(
        "prompt {} has {} tokens; at most {} fit, since prompt and answer together are "
        "limited to {}",
        index, prompt.size(), info.max_length - 1, info.max_length);
  }
  validate_ids(prompt, info, fmt::format("prompt {}", index));
}

void check_cache_holds(std::int64_t length, const EngineInfo& info, const std::string& what) {
  if (length <= info.max_length || length > info.model_length) return;
  failed("{} takes {} tokens, and the cache holds {}: give it more memory (--cache-memory)", what,
         length, info.max_length);
}

void refuse_cut_answer(const EngineInfo& info) {
  failed(
      "an answer does not fit: with its prompt it has reached {} tokens, all that the cache "
      "holds; give it more memory (--cache-memory), or ask for shorter answers (--max-tokens)",
      info.max_length);
}

void validate_extension(const ExtendRequest& request, std::size_t index) {
  const auto [temperature, top_p, top_k, min_p] = request.sampling;
  if (request.max_tokens < 1) {
    bad_input("request {}: max_tokens is {}; it must be at least 1", index, request.max_tokens);
  }
  if (!std::isfinite(temperature) || temperature < 0) {
    bad_input("request {}: temperature is {}; it must be 0 or a positive number", index,
              temperature);
  }
  if (!(top_p > 0 && top_p <= 1)) {
    bad_input("request {}: top_p is {}; it must be above 0 and at most 1", index, top_p);
  }
  if (top_k < 0) {
    bad_input("request {}: top_k is {}; it must be 0 (all) or positive", index, top_k);
  }
  if (!(min_p >= 0 && min_p <= 1)) {
    bad_input("request {}: min_p is {}; it must be between 0 (all) and 1", index, min_p);
  }
  if (request.top < 0)
    bad_input("request {}: top is {}; it must be 0 or positive", index, request.top);
  if (!request.mix.empty() && request.mix.size() != request.followers.size() + 1) {
    bad_input("request {}: {} weights to mix, but the sequence and its followers are {}", index,
              request.mix.size(), request.followers.size() + 1);
  }
  for (const float weight : request.mix) {
    if (!std::isfinite(weight)) bad_input("request {}: a weight to mix is {}", index, weight);
  }
  if (!(request.plausibility >= 0 && request.plausibility <= 1)) {
    bad_input("request {}: plausibility is {}; it must be between 0 and 1", index,
              request.plausibility);
  }
}

SequenceRecord& record_of(const Sequence* sequence, const EngineState& engine, const char* what,
                          std::size_t index) {
  if (sequence == nullptr || !*sequence) bad_input("request {}: no {}", index, what);
  auto* local = dynamic_cast<LocalSequence*>(sequence->state());
  if (local == nullptr || &local->engine() != &engine) {
    bad_input("request {}: the {} belongs to another engine", index, what);
  }
  return local->record();
}

}  // namespace counterbeam
