#include "search/stops.h"

#include <algorithm>

#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "text/tokenizer.h"

namespace counterbeam {

void check_stop_text(std::string_view text, std::string_view origin) {
  if (text.empty())
    bad_input("{}: an empty text would end every answer before its first token; give a text",
              origin);
  if (!is_valid_utf8(text)) bad_input("{}: {} is not valid UTF-8", origin, in_quotes(text));
}

Stops::Stops(const Tokenizer& tokenizer, std::vector<TokenId> ids, std::vector<std::string> texts)
    : tokenizer_(&tokenizer), ids_(std::move(ids)), texts_(std::move(texts)) {
  for (const std::string& text : texts_) {
    check_stop_text(text, "stop");
    longest_ = std::max(longest_, text.size());
  }
}

// Where the stop text begins that is complete first.
std::optional<std::size_t> Stops::first_stop(std::string_view text) const {
  std::optional<std::size_t> begin;
  std::size_t end = 0;
  for (const std::string& stop : texts_) {
    const std::size_t place = text.find(stop);
    if (place == text.npos) continue;
    const std::size_t complete = place + stop.size();
    if (!begin || complete < end || (complete == end && place < *begin)) {
      begin = place;
      end = complete;
    }
  }
  return begin;
}

std::optional<std::size_t> Stops::end_of(std::span<const TokenId> tokens,
                                         std::size_t checked) const {
  if (texts_.empty()) return std::nullopt;
  // Decoded from the start: how a token reads depends on those before it.
  IncrementalDecoder decoder(*tokenizer_, {.skip_special = true});
  std::string text;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::size_t window = text.size() - std::min(text.size(), longest_ - 1);
    const std::string fresh = decoder.push(tokens[i]);
    text += fresh;
    if (i >= checked && !fresh.empty() && first_stop(std::string_view(text).substr(window)))
      return i + 1;
  }
  return std::nullopt;
}

std::span<const TokenId> Stops::without_end(std::span<const TokenId> tokens) const {
  const bool ended =
      !tokens.empty() && std::find(ids_.begin(), ids_.end(), tokens.back()) != ids_.end();
  return ended ? tokens.first(tokens.size() - 1) : tokens;
}

std::string Stops::text(std::span<const TokenId> tokens) const {
  std::string text = tokenizer_->decode(without_end(tokens), {.skip_special = true});
  if (const auto stop = first_stop(text)) text.resize(*stop);
  return text;
}

std::vector<std::size_t> Stops::token_bytes(std::span<const TokenId> tokens) const {
  std::size_t left = text(tokens).size();
  IncrementalDecoder decoder(*tokenizer_, {.skip_special = true});
  std::vector<std::size_t> bytes;
  for (const TokenId token : without_end(tokens)) {
    bytes.push_back(std::min(left, decoder.push(token).size()));
    left -= bytes.back();
  }
  if (!bytes.empty()) bytes.back() += left;  // an incomplete character at the end
  return bytes;
}

std::string Stops::settled_text(std::span<const TokenId> tokens) const {
  return settled(text(tokens));
}

std::string Stops::settled(std::string text) const {
  if (const auto stop = first_stop(text)) {
    text.resize(*stop);
    return text;
  }
  std::size_t held = 0;  // bytes at the end that may be the beginning of a stop text
  for (const std::string& stop : texts_)
    for (std::size_t n = std::min(text.size(), stop.size() - 1); n > held; --n)
      if (text.ends_with(std::string_view(stop).substr(0, n))) held = n;
  text.resize(text.size() - held);
  return text;
}

}  // namespace counterbeam
