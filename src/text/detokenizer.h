// The decoders of tokenizer.json: the texts of tokens become one text. Works as a stream: tokens
// are pushed one by one and text comes out as soon as nothing that follows can change it. What
// comes out in all is the same however the tokens arrive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "text/split_pattern.h"

namespace counterbeam {

// The steps of a decoder, immutable.
class Detokenizer {
 public:
  struct ByteLevel {};
  struct ByteFallback {};  // <0xNN> tokens become bytes
  struct Fuse {};
  struct Spaces {};  // no decoder: a space between tokens
  struct Strip {
    std::string content;  // one character
    std::size_t start, stop;
  };
  struct Metaspace {
    std::string mark;
    bool drop_first;  // the marks of the first token are not spaces
  };
  struct Replace {
    SplitPattern pattern;
    std::string by;
    bool one_char;  // the pattern is one literal character
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

class DetokenizerStream {
 public:
  // REQUIRES: the detokenizer outlives the stream
  explicit DetokenizerStream(const Detokenizer& detokenizer);

  void push(std::string_view token) { feed(0, token); }
  // No token follows; gives out what was held back.
  void finish();
  // What has come out since the last call.
  std::string take() { return std::exchange(out_, {}); }

 private:
  struct State {
    std::string held;      // bytes of a character or of a run, or a whole text to come
    std::size_t seen = 0;  // tokens; for Strip on a joined text, characters cut
    bool fused = false;    // earlier steps have joined the tokens: fragments of one text come
    bool cutting = true;   // Strip on a joined text is still at its beginning
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
