#include "grade/extract_spans.h"

#include <algorithm>
#include <cctype>

#include "base/trim.h"
#include "grade/lexer.h"
#include "grade/parser.h"
#include "grade/words.h"

namespace counterbeam {
namespace {

using grade::is_digit;
using grade::is_letter;

int count_words(std::string_view s) {
  int words = 0;
  std::size_t foreign = 0;  // bytes of the current word in another script
  for (std::size_t i = 0; i < s.size(); ++i) {
    foreign = static_cast<unsigned char>(s[i]) >= 0x80 ? foreign + 1 : 0;
    if (foreign == 4) ++words;
    if (s[i] == '\\') {
      while (i + 1 < s.size() && is_letter(s[i + 1])) ++i;
      continue;
    }
    if (!is_letter(s[i]) || (i > 0 && is_letter(s[i - 1]))) continue;
    std::size_t end = i;
    while (end < s.size() && is_letter(s[end])) ++end;
    if (end - i >= 2) ++words;
  }
  return words;
}

struct Span {
  std::size_t begin, end;  // including its delimiters
  std::string_view inner;
};

constexpr std::size_t kMaxSpan = 2000;

struct Delimiters {
  std::string_view open, close;
};
constexpr Delimiters kDelimiters[] = {{"$$", "$$"}, {"$", "$"}, {"\\(", "\\)"}, {"\\[", "\\]"}};

std::size_t find_close(std::string_view text, std::size_t from, std::string_view close) {
  text = text.substr(0, from + kMaxSpan);
  for (std::size_t i = from; (i = text.find(close, i)) != text.npos; ++i)
    if (close[0] != '$' || text[i - 1] != '\\') return i;
  return text.npos;
}

// The formula at `i`, if there is one. A dollar sign before prose is a currency.
std::optional<Span> span_at(std::string_view text, std::size_t i) {
  for (const auto& [open, close] : kDelimiters) {
    if (text.substr(i, open.size()) != open) continue;
    const std::size_t from = i + open.size();
    const std::size_t end = find_close(text, from, close);
    if (end == text.npos) continue;
    const std::string_view inner = text.substr(from, end - from);
    const bool mathematics =
        !trim(inner).empty() && (close[0] == '\\' || count_words(inner) <= 1 || is_formula(inner));
    if (mathematics) return Span{i, end + close.size(), inner};
  }
  return std::nullopt;
}

// The end of the number at `i`, with its sign, separators, fraction bar and percent sign.
std::size_t number_end(std::string_view s, std::size_t i) {
  std::size_t end = i;
  if (s[end] == '-' || s[end] == '+') ++end;
  const std::size_t digits = end;
  while (end < s.size()) {
    const bool inner =
        (s[end] == ',' || s[end] == '.') && end + 1 < s.size() && is_digit(s[end + 1]);
    if (!is_digit(s[end]) && !inner) break;
    ++end;
  }
  if (end == digits) return i;
  if (end + 1 < s.size() && s[end] == '/' && is_digit(s[end + 1])) {
    ++end;
    while (end < s.size() && is_digit(s[end])) ++end;
  }
  if (end < s.size() && s[end] == '%')
    ++end;
  else if (s.substr(end, 2) == "\\%")
    end += 2;
  return end;
}

bool starts_number(std::string_view s, std::size_t i) {
  const char before = i > 0 ? s[i - 1] : ' ';
  const bool fresh = !is_digit(before) && !is_letter(before) && before != '^' && before != '_' &&
                     !(before == '{' && i > 1 && (s[i - 2] == '^' || s[i - 2] == '_')) &&
                     !(before == '.' && i > 1 && is_digit(s[i - 2]));
  if (is_digit(s[i])) return fresh;
  const bool point = s[i] == '.' && i + 1 < s.size() && is_digit(s[i + 1]);
  const bool sign = s[i] == '-' && i + 1 < s.size() && (is_digit(s[i + 1]) || s[i + 1] == '.') &&
                    before != ')' && before != '-';
  return fresh && (point || sign);
}

// The end of "\frac{1}{2}" outside of a formula; `i` if there is none.
std::size_t fraction_end(std::string_view s, std::size_t i) {
  const std::string_view rest = s.substr(i, 400);
  if (!rest.starts_with("\\frac{") && !rest.starts_with("\\dfrac{")) return i;
  std::size_t end = rest.find('{');
  for (int group = 0; group < 2; ++group) {
    if (end >= rest.size() || rest[end] != '{') return i;
    int depth = 0;
    for (; end < rest.size(); ++end) {
      if (rest[end] == '{') ++depth;
      if (rest[end] == '}' && --depth == 0) break;
    }
    ++end;
  }
  return end <= rest.size() ? i + end : i;
}

struct Value {
  std::size_t end = 0;  // not after the start if there is no value
  std::string text;
};

// The formula, fraction or number that starts at `i`.
Value value_at(std::string_view text, std::size_t i) {
  if (const auto span = span_at(text, i)) return {span->end, std::string(trim(span->inner))};
  std::size_t end = fraction_end(text, i);
  if (end == i && starts_number(text, i)) end = number_end(text, i);
  return {end, std::string(text.substr(i, end - i))};
}

// The first value that contains a digit.
std::optional<std::string> first_number(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const Value found = value_at(text, i);
    if (found.end > i && found.text.find_first_of("0123456789") != std::string::npos)
      return found.text;
    i = std::max(found.end, i + 1);
  }
  return std::nullopt;
}

// Up to the end of the sentence or line.
std::string_view first_sentence(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (const auto span = span_at(text, i)) {
      i = span->end - 1;
      continue;
    }
    if (text[i] == '\n') return text.substr(0, i);
    const bool stop =
        text[i] == '.' && (i + 1 == text.size() || text[i + 1] == ' ' || text[i + 1] == '\n' ||
                           text[i + 1] == '"' || text[i + 1] == '*');
    if (stop) return text.substr(0, i);
  }
  return text;
}

std::string unwrapped(std::string_view value) {
  value = trim(value);
  if (!value.empty())
    if (const auto span = span_at(value, 0); span && span->end == value.size())
      return std::string(trim(span->inner));
  return std::string(value);
}

}  // namespace

std::vector<Box> find_boxes(std::string_view text, std::string_view command, bool to_the_end) {
  std::vector<Box> boxes;
  for (std::size_t at = 0; (at = text.find(command, at)) != text.npos;) {
    std::size_t i = at + command.size();
    if (i < text.size() && is_letter(text[i])) {
      at = i;
      continue;
    }
    while (i < text.size() && text[i] == ' ') ++i;
    if (i < text.size() && text[i] == '{') {
      int depth = 0;
      std::size_t end = i;
      for (; end < text.size(); ++end) {
        if (text[end] == '\\' && end + 1 < text.size()) {
          ++end;
          continue;
        }
        if (text[end] == '{') ++depth;
        if (text[end] == '}' && --depth == 0) break;
      }
      const bool closed = end < text.size();
      boxes.push_back({at, closed ? end + 1 : text.size(),
                       std::string(text.substr(i + 1, end - i - 1)), closed || to_the_end});
      at = boxes.back().end;
    } else {
      const std::size_t end = std::min(text.find('$', i), text.find('\n', i));
      if (end != text.npos && end > i)
        boxes.push_back({at, end, std::string(text.substr(i, end - i)), true});
      at = std::min(end, text.size());
    }
  }
  return boxes;
}

bool is_formula(std::string_view text) {
  return grade::parse(grade::plain_spelling(text), grade::Commas::Thousands).has_value();
}

bool is_prose(std::string_view text) {
  const int words = count_words(text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) >= 0xE3 && static_cast<unsigned char>(text[i]) <= 0xE9)
      return true;
    if (words > 0)
      if (const auto span = span_at(text, i))
        if (span->begin > 0 || span->end < text.size()) return true;
  }
  if (words >= 3 && text.find("'s ") != text.npos) return true;
  const bool sentence =
      words > 0 && text.find(' ') != text.npos &&
      (text.ends_with('.') || text.find("? ") != text.npos || text.find("! ") != text.npos);
  return words >= 6 || sentence || (words > 0 && text.find('\n') != text.npos);
}

std::optional<std::string> delimited_value(std::string_view text) {
  text = trim(text, " \t\r\n:*\"", " \t\r\n:*\"\\");
  if (text.substr(0, 3) == "\\\"$") text.remove_prefix(2);  // an escaped quote
  if (text.empty()) return std::nullopt;
  const std::string_view sentence = first_sentence(text);
  if (span_at(text, 0)) {
    if (is_formula(sentence)) return unwrapped(sentence);
    const auto span = *span_at(text, 0);
    return std::string(trim(span.inner));
  }
  if (!starts_number(text, 0)) return std::nullopt;
  if (is_formula(sentence)) return std::string(trim(sentence));
  const std::size_t end = number_end(text, 0);
  return end > 0 ? std::optional(std::string(text.substr(0, end))) : std::nullopt;
}

std::optional<std::string> stated_value(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n:*\"");
  if (start == text.npos) return std::nullopt;
  const std::string_view sentence =
      trim(first_sentence(text.substr(start)), " \t*\"", " \t\r*\"\\");
  if (sentence.empty() || sentence.starts_with("not ")) return std::nullopt;
  if (is_formula(sentence)) return unwrapped(sentence);
  if (const std::size_t is = sentence.rfind(" is "); is != sentence.npos)
    if (is_formula(sentence.substr(is + 4))) return unwrapped(sentence.substr(is + 4));
  if (auto value = delimited_value(sentence)) return value;
  if (auto value = first_number(sentence)) return value;
  if (count_words(sentence) <= 6) return std::string(sentence);
  return std::nullopt;
}

std::optional<std::string> last_value(std::string_view text) {
  std::optional<std::string> value;
  for (std::size_t i = 0; i < text.size();) {
    const Value found = value_at(text, i);
    if (found.end > i) value = found.text;
    i = std::max(found.end, i + 1);
  }
  return value;
}

}  // namespace counterbeam
