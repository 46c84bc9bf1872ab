// Added tokens: control tokens and later additions to the vocabulary, which are matched in the text
// before BPE. Some are matched in the raw text, others in the normalized text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "text/regex.h"

namespace counterbeam {

struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool special = false;      // a control token; decoding can skip it
  bool normalized = false;   // matched after normalization
  bool single_word = false;  // does not match next to a word character
  bool lstrip = false;       // also matches the white space before it
  bool rstrip = false;       // also matches the white space after it
};

// A trie that finds the leftmost of a set of texts, and the longest at that place.
class TextFinder {
 public:
  // Returns false if the text was added before. REQUIRES: not empty
  bool add(std::string_view text, std::uint32_t value);
  bool empty() const { return edges_.empty(); }

  struct Found {
    TextSpan span;
    std::uint32_t value;
  };
  std::optional<Found> find(std::string_view text, std::size_t from) const;

 private:
  // The longest text that starts at `at`.
  std::optional<Found> longest_at(std::string_view text, std::size_t at) const;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint32_t child(std::uint32_t node, char byte) const;

  std::unordered_map<std::uint64_t, std::uint32_t> edges_;  // (node, byte) -> node
  std::vector<std::uint32_t> values_{kNone};                // by node; node 0 is the root
  bool starts_[256] = {};
};

class AddedTokens {
 public:
  // `pattern` is the text to match: for a normalized token, its normalized content. Returns false
  // if another token has the same pattern.
  bool add(AddedToken token, std::string pattern);

  const std::vector<AddedToken>& all() const { return tokens_; }
  const AddedToken* by_id(TokenId id) const;
  const AddedToken* by_content(std::string_view content) const;
  // The text that the token decodes to, which is its pattern; empty if the id is not an added
  // token.
  std::optional<std::string_view> text(TokenId id) const;
  bool is_special(std::string_view text) const { return special_.contains(std::string(text)); }

  struct Part {
    TextSpan span;
    std::optional<TokenId> id;  // empty for plain text
  };

  // Splits the text at the tokens found. A special token is recognised only if it does not overlap
  // any of the `untrusted` spans. REQUIRES: the spans are sorted and disjoint.
  void cut(std::string_view text, bool normalized, const std::vector<TextSpan>& untrusted,
           std::vector<Part>& parts) const;

 private:
  std::vector<AddedToken> tokens_;
  std::vector<std::string> patterns_;
  std::unordered_map<TokenId, std::uint32_t> by_id_;
  std::unordered_map<std::string, std::uint32_t> by_content_;
  std::unordered_set<std::string> special_;
  TextFinder raw_, normal_;
};

}  // namespace counterbeam
