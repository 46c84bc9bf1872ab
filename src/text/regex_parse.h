// A regular expression as a tree. The syntax is the one Hugging Face's tokenizers read (Oniguruma,
// Ruby flavour) as far as tokenizers use it; what is left out is refused with a reason.
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
    Set,     // one point of `set`
    Concat,  // children in order
    Either,  // children, the first that matches
    Repeat,  // child, min to max times
    Atomic,  // child, without a way back into it
    Look,    // child, ahead or behind, matched or not, takes nothing
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
  unsigned min = 0, max = 0;  // Repeat; max kNoLimit: any number
  Greed greed = Greed::Greedy;
  bool behind = false, negated = false;  // Look

  static constexpr unsigned kNoLimit = ~0u;
};

// Thrown by parse_regex; the caller adds where the pattern stands.
struct RegexProblem {
  std::string what;
};

// REQUIRES: pattern is valid UTF-8
RegexNode parse_regex(std::string_view pattern);

}  // namespace counterbeam
