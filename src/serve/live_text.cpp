#include "serve/live_text.h"

#include <algorithm>

namespace counterbeam::serve {
namespace {

constexpr std::string_view kOpen = "<think>", kClose = "</think>", kBlank = " \t\r\n";

std::string_view without_blank_start(std::string_view text) {
  const auto first = text.find_first_not_of(kBlank);
  return first == text.npos ? std::string_view() : text.substr(first);
}

std::string_view without_blank_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

// Without a beginning of the tag at the end.
std::string_view without_partial(std::string_view text, std::string_view tag) {
  for (std::size_t n = std::min(text.size(), tag.size() - 1); n > 0; --n)
    if (text.ends_with(tag.substr(0, n))) return text.substr(0, text.size() - n);
  return text;
}

}  // namespace

bool LiveText::push(TokenId token) {
  if (ended_) return false;
  const std::vector<TokenId>& ends = stops_.ids();
  if (std::find(ends.begin(), ends.end(), token) != ends.end()) {
    ended_ = true;
    return true;
  }
  text_ += decoder_.push(token);
  ended_ = stops_.complete(text_);
  return true;
}

Thoughts split_thoughts(std::string_view text, bool open, bool final) {
  if (!open) {
    const std::string_view begun = without_blank_start(text);
    if (begun.starts_with(kOpen)) {
      text = begun.substr(kOpen.size());
    } else {
      // It may still become the tag.
      const bool undecided = !final && kOpen.starts_with(begun);
      return {"", undecided ? "" : std::string(text)};
    }
  }
  const auto close = text.find(kClose);
  const std::string_view inside = without_blank_start(text.substr(0, close));
  if (close != text.npos)
    return {std::string(without_blank_end(inside)),
            std::string(without_blank_start(text.substr(close + kClose.size())))};
  if (final) return {std::string(without_blank_end(inside)), ""};
  return {std::string(without_blank_end(without_partial(inside, kClose))), ""};
}

}  // namespace counterbeam::serve
