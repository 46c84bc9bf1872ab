// The pre-tokenizers of tokenizer.json: they cut a normalized text into the pieces that BPE works
// on, and may rewrite it (a byte-level alphabet, a mark in place of spaces).
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/normalizer.h"
#include "text/split_pattern.h"

namespace counterbeam {

// Spans of `text`, which is the caller's or lies in `own`.
struct Pieces {
  std::string_view text;
  std::vector<TextSpan> spans;
  std::size_t first_bytes = 0;  // see StagedText
  std::string own;
};

class PreTokenizer {
 public:
  enum class Prepend { Never, First, Always };
  struct Split {
    SplitPattern pattern;
    SplitBehavior behavior;
    bool invert;
  };
  struct PrefixSpace {};  // ByteLevel's: before every piece that does not start with a space
  struct ByteChars {};    // ByteLevel's alphabet
  struct Metaspace {
    std::string mark;
    Prepend prepend;
    bool split;
    SplitPattern marks;
  };
  struct FixedLength {
    std::size_t length;
  };
  using Step = std::variant<Split, PrefixSpace, ByteChars, Metaspace, FixedLength>;

  void add(Step step) { steps_.push_back(std::move(step)); }

  // True when the last step is the byte-level alphabet: then BPE reads the bytes themselves and the
  // step is left out.
  bool ends_in_bytes() const;

  struct Scratch {
    SplitPattern::Scratch split;
    std::vector<TextSpan> spans;
    std::string text;
  };

  // On entry `pieces` holds one span; on return the pieces, none of them empty.
  void apply(Pieces& pieces, Scratch& scratch) const;

 private:
  std::vector<Step> steps_;
};

}  // namespace counterbeam
