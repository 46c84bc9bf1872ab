// What ends an answer: end tokens and stop texts. A stop text ends an answer where it is complete,
// even if it spans several tokens or blocks; the answer's text is what comes before it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace counterbeam {

class Tokenizer;

class Stops {
 public:
  // `ids` are all tokens that end an answer. Throws where a text is empty or not UTF-8. REQUIRES
  // that the tokenizer outlives this.
  Stops(const Tokenizer& tokenizer, std::vector<TokenId> ids, std::vector<std::string> texts);

  const std::vector<TokenId>& ids() const { return ids_; }

  // How many tokens there are up to the one that completes the first stop text, that one included;
  // nothing where none is complete. The first `checked` tokens are known to complete none.
  std::optional<std::size_t> end_of(std::span<const TokenId> tokens, std::size_t checked = 0) const;

  // The text of an answer: before the first stop text, without control tokens and without the token
  // that ended it. Of two stop texts the one that is complete first counts; of two that are
  // complete at the same place, the longer one.
  std::string text(std::span<const TokenId> tokens) const;

  // How many bytes of text() each of the tokens writes; the token that ended the answer is left
  // out. A character that several tokens make up belongs to the last of them.
  std::vector<std::size_t> token_bytes(std::span<const TokenId> tokens) const;

  // The part of text() that no later token can take back: without a beginning of a stop text at its
  // end.
  std::string settled_text(std::span<const TokenId> tokens) const;

  // The same of a text that was decoded already: before the first stop text, and without a
  // beginning of one at its end.
  std::string settled(std::string text) const;
  // Whether the text holds a whole stop text.
  bool complete(std::string_view text) const { return first_stop(text).has_value(); }

 private:
  std::optional<std::size_t> first_stop(std::string_view text) const;
  std::span<const TokenId> without_end(std::span<const TokenId> tokens) const;

  const Tokenizer* tokenizer_;
  std::vector<TokenId> ids_;
  std::vector<std::string> texts_;
  std::size_t longest_ = 0;  // bytes of the longest text
};

// BadInput where a stop text is empty or not UTF-8. `origin` ("--stop") opens the error.
void check_stop_text(std::string_view text, std::string_view origin);

}  // namespace counterbeam
