// Log-probabilities in the two shapes of the OpenAI API: arrays of the completions API, and objects
// per token of the chat API. The number of the chosen token is the same wherever it stands.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/top_tokens.h"
#include "base/json_fwd.h"
#include "text/tokenizer.h"

namespace counterbeam::serve {

// A token of a prompt or an answer with what is known of it.
struct ShownToken {
  TokenId token = -1;
  bool scored = true;  // false: the first token of a prompt, which nothing predicts
  float logprob = 0;
  TopTokens top{};
};

// The text of a token; "bytes:\xe2\x82" where its bytes are no text by themselves.
std::string token_label(const Tokenizer& tokenizer, TokenId token);

// {"text_offset", "token_logprobs", "tokens", "top_logprobs"}. Offsets count characters, from
// `first_offset`. With `top` 0, top_logprobs holds the chosen tokens alone.
Json legacy_logprobs(const Tokenizer& tokenizer, std::span<const ShownToken> tokens,
                     std::size_t first_offset, bool specials);

// [{"token", "logprob", "bytes", "top_logprobs"}]
Json chat_logprobs(const Tokenizer& tokenizer, std::span<const ShownToken> tokens, int top);

// [null, {"ID": {"logprob", "rank", "decoded_token"}}], as vLLM gives them.
Json prompt_logprobs(const Tokenizer& tokenizer, std::span<const ShownToken> tokens);

}  // namespace counterbeam::serve
