// The text of an answer while its tokens arrive one by one: only what no later token can change.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "search/stops.h"
#include "text/tokenizer.h"

namespace counterbeam::serve {

class LiveText {
 public:
  // REQUIRES that both outlive it.
  LiveText(const Tokenizer& tokenizer, const Stops& stops)
      : stops_(stops), decoder_(tokenizer, {.skip_special = true}) {}

  // False: the answer has ended before this token, which does not belong to it.
  bool push(TokenId token);
  // Grows and is never taken back: without incomplete characters, stop texts and beginnings of stop
  // texts.
  std::string settled() const { return stops_.settled(text_); }

 private:
  const Stops& stops_;
  IncrementalDecoder decoder_;
  std::string text_;
  bool ended_ = false;
};

// An answer as chat clients show it: the thoughts between <think> and </think>, and the rest.
struct Thoughts {
  std::string reasoning, content;
};

// Splits a text that begins inside the thoughts (`open`), or with <think>. Both parts only grow as
// the text grows; with `final` what was held back, such as a beginning of a tag, is given too.
Thoughts split_thoughts(std::string_view text, bool open, bool final);

}  // namespace counterbeam::serve
