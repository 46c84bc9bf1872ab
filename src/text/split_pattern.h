// The pattern of a splitting pre-tokenizer, and what is done with its matches.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/piece_scanner.h"
#include "text/regex.h"

namespace counterbeam {

enum class SplitBehavior { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

// Classes of single characters that pre-tokenizers split at.
enum class CharKind { Numeric, WhiteSpace, Punctuation };

class SplitPattern {
 public:
  explicit SplitPattern(std::string regex);  // throws RegexProblem
  explicit SplitPattern(CharKind kind) : matcher_(kind) {}
  static SplitPattern literal(std::string_view text);

  struct Scratch {
    Regex::Scratch regex;
    std::vector<TextSpan> matches;
    struct Part {
      TextSpan span;
      bool match;
    };
    std::vector<Part> parts;
  };

  // Splits the span of the text and appends the pieces. REQUIRES: valid UTF-8
  void split(std::string_view text, TextSpan span, SplitBehavior behavior, bool invert,
             std::vector<TextSpan>& pieces, Scratch& scratch) const;

  // The text with every match replaced.
  std::string replace(std::string_view text, std::string_view by, Scratch& scratch) const;

  // Finds the matches in `text` and stores them in scratch.matches.
  void find(std::string_view text, Scratch& scratch) const;

 private:
  SplitPattern(std::string source, Regex regex)
      : source_(std::move(source)), matcher_(std::move(regex)) {}
  std::string source_;  // for messages
  std::variant<Regex, CharKind> matcher_;
  std::optional<PieceScanner> scanner_;
};

}  // namespace counterbeam
