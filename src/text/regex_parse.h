// Parses a regular expression into a tree. The syntax is that of Hugging Face's tokenizers
// (Oniguruma, Ruby flavour) as far as tokenizers use it; anything else is rejected with a reason.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/regex_set.h"

namespace counterbeam {

struct RegexNode {
  enum class Kind {
    Empty,
    Set,     // one code point of `set`
    Concat,  // children in order
    Either,  // the first child that matches
    Repeat,  // the child, min to max times
    Atomic,  // the child, without backtracking into it
    Look,    // look-around: tests the child ahead or behind, consumes nothing
    LineStart,
    LineEnd,
    TextStart,
    TextEnd,
    TextEndOrNewline,
    WordBorder,
    NotWordBorder,
  };
  enum class Greed { Greedy, Lazy, Possessive };

  Kind kind = Kind::Empty;
  PointSet set;
  std::vector<RegexNode> children;
  unsigned min = 0, max = 0;  // of Repeat; max is kNoLimit if unbounded
  Greed greed = Greed::Greedy;
  bool behind = false, negated = false;  // Look

  static constexpr unsigned kNoLimit = ~0u;
};

// Thrown by parse_regex; the caller adds where the pattern comes from.
struct RegexProblem {
  std::string what;
};

// REQUIRES: pattern is valid UTF-8
RegexNode parse_regex(std::string_view pattern);

}  // namespace counterbeam
