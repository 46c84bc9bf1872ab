// Hand-written equivalents of the pre-tokenizer regexes that most checkpoints use. Other patterns
// use Regex. Both give the same pieces (tests/text/regex_test.cpp).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "text/regex.h"

namespace counterbeam {

class PieceScanner {
 public:
  // Empty if there is no equivalent of the pattern.
  static std::optional<PieceScanner> for_pattern(std::string_view pattern);
  static PieceScanner gpt2();

  // Appends the pieces of text[from, to), which cover it without gaps. REQUIRES: valid UTF-8
  void scan(std::string_view text, std::uint32_t from, std::uint32_t to,
            std::vector<TextSpan>& pieces) const;

 private:
  struct Shape {
    bool gpt2 = false;         // GPT-2's grammar: lower-case contractions, " ?" before letters
    bool marks = false;        // marks count as letters
    unsigned most_digits = 1;  // per piece
    bool operator==(const Shape&) const = default;
  };
  explicit PieceScanner(Shape shape) : shape_(shape) {}

  friend class PieceWalk;
  Shape shape_;
};

inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace counterbeam
