#include "serve/logprobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/utf8.h"

namespace counterbeam::serve {
namespace {

constexpr double kLeast = -9999;  // JSON has no infinity

double shown_logprob(float logprob) {
  return std::isfinite(logprob) ? double{logprob} : kLeast;
}

Json bytes_of(const std::string& bytes) {
  Json list = Json::array();
  for (const char byte : bytes) list.push_back(static_cast<unsigned char>(byte));
  return list;
}

// The likeliest tokens, and the chosen one after them where it is not among them.
TopTokens with_chosen(const ShownToken& shown) {
  TopTokens all = shown.top;
  const bool there = std::any_of(all.begin(), all.end(),
                                 [&](const TokenLogprob& one) { return one.token == shown.token; });
  if (!there) all.push_back({shown.token, shown.logprob});
  return all;
}

}  // namespace

std::string token_label(const Tokenizer& tokenizer, TokenId token) {
  const std::string bytes = tokenizer.token_bytes(token);
  if (is_valid_utf8(bytes)) return bytes;
  std::string label = "bytes:";
  for (const char byte : bytes) label += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return label;
}

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::size_t TextOffsets::next(TokenId token) {
  const std::size_t place = at_;
  std::size_t characters = count_characters(decoder_.push(token));
  const std::size_t unseen = std::min(hidden_, characters);
  hidden_ -= unseen;
  at_ += characters - unseen;
  return place;
}

Json legacy_logprobs(const Tokenizer& tokenizer, std::span<const ShownToken> tokens,
                     TextOffsets& offsets) {
  Json places = Json::array(), logprobs = Json::array(), texts = Json::array(),
       tops = Json::array();
  for (const ShownToken& shown : tokens) {
    places.push_back(offsets.next(shown.token));
    texts.push_back(token_label(tokenizer, shown.token));
    logprobs.push_back(shown.scored ? Json(shown_logprob(shown.logprob)) : Json());
    Json top;
    if (shown.scored) {
      top = Json::object();
      // The likelier of two tokens with the same text is kept.
      for (const TokenLogprob& one : with_chosen(shown)) {
        const std::string label = token_label(tokenizer, one.token);
        if (!top.contains(label)) top[label] = shown_logprob(one.logprob);
      }
    }
    tops.push_back(std::move(top));
  }
  return {{"text_offset", std::move(places)},
          {"token_logprobs", std::move(logprobs)},
          {"tokens", std::move(texts)},
          {"top_logprobs", std::move(tops)}};
}

Json chat_logprobs(const Tokenizer& tokenizer, std::span<const ShownToken> tokens, int top) {
  const auto entry = [&](TokenId token, float logprob) {
    return Json{{"token", token_label(tokenizer, token)},
                {"logprob", shown_logprob(logprob)},
                {"bytes", bytes_of(tokenizer.token_bytes(token))}};
  };
  Json list = Json::array();
  for (const ShownToken& shown : tokens) {
    Json one = entry(shown.token, shown.logprob);
    Json others = Json::array();
    for (std::size_t i = 0; i < shown.top.size() && i < static_cast<std::size_t>(top); ++i)
      others.push_back(entry(shown.top[i].token, shown.top[i].logprob));
    one["top_logprobs"] = std::move(others);
    list.push_back(std::move(one));
  }
  return list;
}

Json prompt_logprobs(const Tokenizer& tokenizer, std::span<const ShownToken> tokens) {
  Json list = Json::array();
  for (const ShownToken& shown : tokens) {
    if (!shown.scored) {
      list.push_back(nullptr);
      continue;
    }
    Json one = Json::object();
    const TopTokens all = with_chosen(shown);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool ranked = i < shown.top.size();
      one[std::to_string(all[i].token)] = {{"logprob", shown_logprob(all[i].logprob)},
                                           {"rank", ranked ? Json(i + 1) : Json()},
                                           {"decoded_token", token_label(tokenizer, all[i].token)}};
    }
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace counterbeam::serve
