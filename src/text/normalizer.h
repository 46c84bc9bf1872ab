// The normalizers of tokenizer.json: what happens to a text before it is cut into pieces.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/unicode_normalize.h"
#include "text/split_pattern.h"

namespace counterbeam {

// A text on its way, and how many of its first bytes come from the first character of what the
// user gave (0: from a later one). Metaspace's "first" asks for that.
struct StagedText {
  std::string text;
  std::size_t first_bytes = 0;
};

class Normalizer {
 public:
  struct Lowercase {};
  struct Strip {
    bool left, right;
  };
  struct StripAccents {};
  struct Nmt {};
  struct ByteLevel {};
  struct Prepend {
    std::string text;
  };
  struct Replace {
    SplitPattern pattern;
    std::string by;
  };
  struct Bert {
    bool clean, chinese, strip_accents, lowercase;
  };
  using Step = std::variant<NormalForm, Lowercase, Strip, StripAccents, Nmt, ByteLevel, Prepend,
                            Replace, Bert>;

  void add(Step step) { steps_.push_back(std::move(step)); }
  bool empty() const { return steps_.empty(); }

  // True when the text surely stays as it is, which spares a copy.
  bool keeps(std::string_view text) const;

  // REQUIRES: valid UTF-8
  void apply(StagedText& staged, SplitPattern::Scratch& scratch) const;

 private:
  std::vector<Step> steps_;
};

}  // namespace counterbeam
