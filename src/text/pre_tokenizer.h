// The pre-tokenizers of tokenizer.json, which split a normalized text into the pieces that BPE
// encodes, and may rewrite it (byte-level alphabet, Metaspace).
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/normalizer.h"
#include "text/split_pattern.h"

namespace counterbeam {

// Spans of `text`, which points to the caller's text or to `own`.
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
  struct PrefixSpace {};  // of ByteLevel: a space before every piece that does not start with one
  struct ByteChars {};    // of ByteLevel: its alphabet
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

  // Constructed in place: gcc 12 warns of uninitialized memory where a Step is moved.
  template <typename AnyStep>
  void add(AnyStep step) {
    steps_.emplace_back(std::move(step));
  }

  // Whether the last step is the byte-level alphabet. That step is then skipped and BPE reads the
  // raw bytes.
  bool ends_in_bytes() const;

  struct Scratch {
    SplitPattern::Scratch split;
    std::vector<TextSpan> spans;
    std::string text;
  };

  // Splits the single span in `pieces`. No resulting piece is empty.
  void apply(Pieces& pieces, Scratch& scratch) const;

 private:
  std::vector<Step> steps_;
};

}  // namespace counterbeam
