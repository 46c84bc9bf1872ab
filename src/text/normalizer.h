// The normalizers of tokenizer.json, which rewrite a text before the pre-tokenizers split it.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/unicode_normalize.h"
#include "text/split_pattern.h"

namespace counterbeam {

// A text between two steps, and how many of its first bytes derive from the first character of the
// caller's text (0: none of them do). Metaspace's prepend_scheme "first" needs this.
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

  // A cheap test that avoids a copy: true only if apply() would not change the text.
  bool keeps(std::string_view text) const;

  // REQUIRES: valid UTF-8
  void apply(StagedText& staged, SplitPattern::Scratch& scratch) const;

 private:
  std::vector<Step> steps_;
};

}  // namespace counterbeam
