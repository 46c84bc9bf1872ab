// The decoders of tokenizer.json, which turn the texts of tokens into one text. They work as a
// stream: tokens are pushed one at a time, and text is emitted as soon as no later token can change
// it. The concatenated output does not depend on when it is taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "text/split_pattern.h"

namespace counterbeam {

// The steps of a decoder. Immutable.
class Detokenizer {
 public:
  struct ByteLevel {};
  struct ByteFallback {};  // <0xNN> tokens become bytes
  struct Fuse {};
  struct Spaces {};  // the file has no decoder: tokens are joined by spaces
  struct Strip {
    std::string content;  // one character
    std::size_t start, stop;
  };
  struct Metaspace {
    std::string mark;
    bool drop_first;  // in the first token, marks are dropped instead of becoming spaces
  };
  struct Replace {
    SplitPattern pattern;
    std::string by;
    bool one_char;  // the pattern is a single literal character
  };
  struct Suffix {  // BPEDecoder
    std::string suffix;
  };
  using Step =
      std::variant<ByteLevel, ByteFallback, Fuse, Spaces, Strip, Metaspace, Replace, Suffix>;

  void add(Step step) { steps_.push_back(std::move(step)); }
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
};

// The byte of a token "<0xNN>"; empty for any other token.
std::optional<unsigned char> fallback_byte(std::string_view token);

class DetokenizerStream {
 public:
  // REQUIRES: the detokenizer outlives the stream
  explicit DetokenizerStream(const Detokenizer& detokenizer);

  void push(std::string_view token) { feed(0, token); }
  // Ends the text: emits what was held back.
  void finish();
  // Returns the output since the last call.
  std::string take() { return std::exchange(out_, {}); }

 private:
  struct State {
    std::string held;      // an incomplete character or run of bytes, or the text collected so far
    std::size_t seen = 0;  // tokens; for Strip on a joined text, characters stripped
    bool fused = false;  // earlier steps have joined the tokens: the input is fragments of one text
    bool cutting = true;  // Strip on a joined text is still at the beginning of the text
  };

  void feed(std::size_t step, std::string_view text);
  void close(std::size_t step);
  void flush_fallback(std::size_t step);
  friend struct FeedStep;

  const Detokenizer* detokenizer_;
  std::vector<State> states_;
  SplitPattern::Scratch scratch_;
  std::string out_;
};

}  // namespace counterbeam
