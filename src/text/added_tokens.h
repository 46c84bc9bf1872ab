// Tokens that are found in the text itself, before BPE: control tokens and words added later.
// Two sets are kept: those looked for in the raw text and those looked for in the normalized one.
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
  bool special = false;      // a control token; decode can leave it out
  bool normalized = false;   // looked for after normalisation
  bool single_word = false;  // not next to a word character
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // and after it
};

// Texts to find, leftmost first and longest among those.
class TextFinder {
 public:
  // False when the text is there already. REQUIRES: not empty
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

  std::unordered_map<std::uint64_t, std::uint32_t> edges_;  // node and byte to node
  std::vector<std::uint32_t> values_{kNone};                // by node; node 0 is the root
  bool starts_[256] = {};
};

class AddedTokens {
 public:
  // `pattern`: the text to look for, which for a normalized token is its normalized content.
  // False when another token already has that pattern.
  bool add(AddedToken token, std::string pattern);

  const std::vector<AddedToken>& all() const { return tokens_; }
  const AddedToken* by_id(TokenId id) const;
  const AddedToken* by_content(std::string_view content) const;
  // What decoding gives for the token: its pattern. Nothing when the id is not an added token's.
  std::optional<std::string_view> text(TokenId id) const;
  bool is_special(std::string_view text) const { return special_.contains(std::string(text)); }

  struct Part {
    TextSpan span;
    std::optional<TokenId> id;  // nothing: plain text
  };

  // Cuts the text at the tokens found. A special token counts only when no byte of it lies in one
  // of the `untrusted` spans, which are sorted and disjoint.
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
