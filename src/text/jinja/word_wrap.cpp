#include "text/jinja/word_wrap.h"

#include <deque>

#include "text/jinja/chars.h"
#include "text/jinja/text_ops.h"

namespace counterbeam::jinja {
namespace {

bool is_letter(char32_t code) {
  return is_word(code) && !is_decimal(code);
}

// textwrap splits at ASCII white space only.
bool is_gap(char32_t code) {
  return (code >= 9 && code <= 13) || code == ' ';
}

// Splits the text into chunks: white space, words, and parts of hyphenated words.
std::deque<Text> chunks_of(const Text& text, bool hyphens) {
  const std::vector<std::size_t> at = borders(text.view());
  const auto code = [&](std::size_t i) { return decode(text.view(), at[i]).value; };
  const std::size_t count = at.size() - 1;
  std::deque<Text> chunks;
  std::size_t from = 0;
  const auto cut = [&](std::size_t to) {
    if (to > from) chunks.push_back(text.substr(at[from], at[to]));
    from = to;
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && is_gap(code(i)) != is_gap(code(i - 1))) cut(i);
    // Split after a hyphen with two letters on each side.
    if (hyphens && code(i) == '-' && i >= from + 2 && i + 2 < count && is_letter(code(i - 1)) &&
        is_word(code(i - 2)) && is_letter(code(i + 1)) && is_word(code(i + 2)) &&
        (is_letter(code(i + 2)) || is_word(code(i + 1))))
      cut(i + 1);
  }
  cut(count);
  return chunks;
}

std::int64_t size_of(const Text& text) {
  return static_cast<std::int64_t>(count_points(text.view()));
}

bool is_blank(const Text& text) {
  return skip_space(text.view(), 0) == text.size();
}

}  // namespace

std::vector<Text> wrap(const Text& text, const WrapStyle& style) {
  std::deque<Text> chunks = chunks_of(text, style.break_on_hyphens);
  std::vector<Text> lines;
  while (!chunks.empty()) {
    if (!lines.empty() && is_blank(chunks.front())) {
      chunks.pop_front();
      continue;
    }
    std::vector<Text> line;
    std::int64_t used = 0;
    while (!chunks.empty() && used + size_of(chunks.front()) <= style.width) {
      used += size_of(chunks.front());
      line.push_back(std::move(chunks.front()));
      chunks.pop_front();
    }
    if (!chunks.empty() && size_of(chunks.front()) > style.width) {
      const std::int64_t room = style.width - used;
      if (style.break_long_words && room > 0) {
        Text& word = chunks.front();
        const std::size_t end = offset_of(word.view(), static_cast<std::size_t>(room));
        line.push_back(word.substr(0, end));
        word = word.substr(end, word.size());
      } else if (line.empty()) {
        line.push_back(std::move(chunks.front()));
        chunks.pop_front();
      }
    }
    if (!line.empty() && is_blank(line.back())) line.pop_back();
    if (line.empty()) continue;
    Text whole;
    for (const Text& chunk : line) whole.append(chunk);
    lines.push_back(std::move(whole));
  }
  return lines;
}

}  // namespace counterbeam::jinja
