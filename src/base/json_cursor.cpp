#include "base/json_cursor.h"

#include <algorithm>

#include "base/quote.h"
#include "base/utf8.h"

namespace counterbeam {
namespace {

constexpr int kMaxCursorDepth = 256;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

void JsonCursor::fail(std::string_view problem) const {
  const std::string place = place_.empty() ? "" : fmt::format(", in {}", in_quotes(place_));
  bad_input("{}: byte {}{}: {}; {}", name_, at_, place, problem, advice_);
}

std::string JsonCursor::found() const {
  if (at_ >= text_.size()) return "the end";
  const std::string_view rest = text_.substr(at_, 80);
  const std::size_t word = std::min(rest.find_first_of(" \t\r\n,:{}[]", 1), rest.size());
  return in_quotes(rest.substr(0, std::min<std::size_t>(word, 20)));
}

void JsonCursor::space() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
    ++at_;
}

void JsonCursor::open(char bracket, std::string_view what, std::string_view kind) {
  space();
  if (at_ >= text_.size() || text_[at_] != bracket)
    fail(fmt::format("{} must be {}, found {}", what, kind, found()));
  if (++depth_ > kMaxCursorDepth)
    fail(fmt::format("nested deeper than {} levels", kMaxCursorDepth));
  ++at_;
}

bool JsonCursor::close(char bracket) {
  space();
  if (at_ >= text_.size() || text_[at_] != bracket) return false;
  ++at_;
  return true;
}

bool JsonCursor::closed_or_comma(char bracket) {
  if (close(bracket)) return true;
  if (at_ >= text_.size() || text_[at_] != ',')
    fail(fmt::format("expected ',' or '{}', found {}", bracket, found()));
  ++at_;
  return false;
}

void JsonCursor::expect(char character) {
  if (!close(character)) fail(fmt::format("expected '{}', found {}", character, found()));
}

std::string JsonCursor::string(std::string_view what) {
  space();
  if (at_ >= text_.size() || text_[at_] != '"')
    fail(fmt::format("{} must be a string, found {}", what, found()));
  const std::size_t begin = ++at_;
  bool escaped = false;
  std::size_t end = begin;
  for (; end < text_.size() && text_[end] != '"'; ++end) {
    if (static_cast<unsigned char>(text_[end]) < 0x20) fail("a control character in a string");
    if (text_[end] == '\\') {
      escaped = true;
      ++end;
    }
  }
  if (end >= text_.size()) fail("a string has no closing quote");
  if (!is_valid_utf8(text_.substr(begin, end - begin))) fail("a string is not valid UTF-8");
  std::string value;
  value.reserve(end - begin);
  if (!escaped) value = text_.substr(begin, end - begin);
  while (escaped && at_ < end) {
    if (text_[at_] == '\\')
      append_escape(value);
    else
      value += text_[at_++];
  }
  at_ = end + 1;
  return value;
}

unsigned JsonCursor::hex4() {
  unsigned code = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (is_digit(c))
      code = code * 16 + static_cast<unsigned>(c - '0');
    else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
      code = code * 16 + static_cast<unsigned>((c | 0x20) - 'a') + 10;
    else
      fail("\\u must be followed by four hexadecimal digits");
  }
  return code;
}

void JsonCursor::append_escape(std::string& to) {
  static constexpr std::string_view kNames = "\"\\/bfnrt", kValues = "\"\\/\b\f\n\r\t";
  const char kind = text_[at_ + 1];
  at_ += 2;
  if (const std::size_t index = kNames.find(kind); index != kNames.npos) {
    to += kValues[index];
    return;
  }
  if (kind != 'u') fail(fmt::format("unknown escape \\{}", printable({&kind, 1})));
  unsigned code = hex4();
  if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_, 2) == "\\u") {
    at_ += 2;
    const unsigned low = hex4();
    if (low < 0xdc00 || low > 0xdfff) fail("half of a surrogate pair");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  } else if (code >= 0xd800 && code < 0xe000) {
    fail("half of a surrogate pair");
  }
  append_utf8(to, code);
}

std::uint64_t JsonCursor::unsigned_integer(std::string_view what) {
  space();
  const std::size_t begin = at_;
  std::uint64_t value = 0;
  bool fits = true;
  for (; at_ < text_.size() && is_digit(text_[at_]); ++at_)
    fits = fits && !__builtin_mul_overflow(value, std::uint64_t{10}, &value) &&
           !__builtin_add_overflow(value, static_cast<std::uint64_t>(text_[at_] - '0'), &value);
  const bool leading_zero = at_ - begin > 1 && text_[begin] == '0';
  const bool goes_on = at_ < text_.size() && std::string_view(".eE").find(text_[at_]) < 3;
  if (at_ == begin || leading_zero || goes_on || !fits) {
    at_ = begin;
    fail(fmt::format("{} must be a whole number from 0 to 2^64 - 1, found {}", what, found()));
  }
  return value;
}

void JsonCursor::skip_literal(std::string_view word) {
  if (text_.substr(at_, word.size()) != word)
    fail(fmt::format("expected a value, found {}", found()));
  at_ += word.size();
}

void JsonCursor::skip_number() {
  const auto digits = [&] {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    if (at_ == begin) fail(fmt::format("expected a value, found {}", found()));
    return at_ - begin;
  };
  const auto take = [&](std::string_view any) {
    if (at_ >= text_.size() || any.find(text_[at_]) == any.npos) return false;
    ++at_;
    return true;
  };
  take("-");
  const bool zero = at_ < text_.size() && text_[at_] == '0';
  if (digits() > 1 && zero) fail("a number starts with 0");
  if (take(".")) digits();
  if (take("eE")) {
    take("+-");
    digits();
  }
}

void JsonCursor::skip() {
  space();
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  switch (c) {
    case '{':
      return object("a value", [&](const std::string&) { skip(); });
    case '[':
      return array("a value", [&] { skip(); });
    case '"':
      return static_cast<void>(string("a value"));
    case 't':
      return skip_literal("true");
    case 'f':
      return skip_literal("false");
    case 'n':
      return skip_literal("null");
    default:
      return skip_number();
  }
}

std::string_view JsonCursor::raw() {
  space();
  const std::size_t begin = at_;
  skip();
  return text_.substr(begin, at_ - begin);
}

char JsonCursor::peek() {
  space();
  return at_ < text_.size() ? text_[at_] : '\0';
}

void JsonCursor::end() {
  space();
  if (at_ < text_.size()) fail(fmt::format("nothing may follow the value, found {}", found()));
}

}  // namespace counterbeam
