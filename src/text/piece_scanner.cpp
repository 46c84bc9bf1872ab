#include "text/piece_scanner.h"

#include <array>

#include "base/unicode.h"
#include "base/utf8.h"

namespace counterbeam {
namespace {

enum Class : std::uint8_t { kLetter, kNumber, kSpace, kNewline, kOther };

constexpr std::array<Class, 128> kAsciiClasses = [] {
  std::array<Class, 128> classes{};
  for (int c = 0; c < 128; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    classes[static_cast<std::size_t>(c)] = letter                            ? kLetter
                                           : c >= '0' && c <= '9'            ? kNumber
                                           : c == '\r' || c == '\n'          ? kNewline
                                           : c == ' ' || (c >= 9 && c <= 13) ? kSpace
                                                                             : kOther;
  }
  return classes;
}();

}  // namespace

// Scans a text one piece at a time.
class PieceWalk {
 public:
  PieceWalk(std::string_view text, std::size_t end, PieceScanner::Shape shape)
      : text_(text.substr(0, end)),
        letters_(shape.marks ? kLetters | kMarks : kLetters),
        shape_(shape) {}

  std::size_t piece_end(std::size_t at) { return shape_.gpt2 ? gpt2_piece(at) : modern_piece(at); }

 private:
  Class class_at(std::size_t at, unsigned& length) const {
    const unsigned char byte = static_cast<unsigned char>(text_[at]);
    if (byte < 0x80) {
      length = 1;
      return kAsciiClasses[byte];
    }
    const char32_t point = char_at(text_, at, length);
    const CategorySet bit = category_bit(category(point));
    if (bit & letters_) return kLetter;
    if (bit & kNumbers) return kNumber;
    return is_white_space(point) ? kSpace : kOther;
  }

  std::size_t run_of(std::size_t at, Class wanted,
                     std::size_t most = static_cast<std::size_t>(-1)) {
    unsigned length;
    for (; at < text_.size() && most > 0 && class_at(at, length) == wanted; --most) at += length;
    return at;
  }

  // The end of the contraction 's, 't, 're, 've, 'm, 'll or 'd at `at`; `at` if there is none.
  std::size_t contraction(std::size_t at, bool any_case) const {
    if (text_[at] != '\'' || at + 1 >= text_.size()) return at;
    const auto letter = [&](std::size_t i) -> char {
      if (i >= text_.size()) return '\0';
      const char c = text_[i];
      return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    };
    const char first = letter(at + 1), second = letter(at + 2);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
    if ((first == 'r' || first == 'v') && second == 'e') return at + 3;
    if (first == 'l' && second == 'l') return at + 3;
    if (any_case && text_.substr(at + 1, 2) == "\u017F") return at + 3;  // a long s folds to s
    return at;
  }

  std::size_t modern_piece(std::size_t at) {
    if (const std::size_t end = contraction(at, true); end > at) return end;
    unsigned length, next_length;
    const Class first = class_at(at, length);
    if (first == kLetter) return run_of(at + length, kLetter);
    const std::size_t next = at + length;
    const bool more = next < text_.size();
    const Class second = more ? class_at(next, next_length) : kNewline;
    if (first != kNewline && first != kNumber && second == kLetter && more)
      return run_of(next + next_length, kLetter);
    if (first == kNumber) return run_of(next, kNumber, shape_.most_digits - 1);
    if (first == kOther || (text_[at] == ' ' && more && second == kOther))
      return run_of(run_of(next, kOther), kNewline);
    return spaces(at, true);
  }

  std::size_t gpt2_piece(std::size_t at) {
    if (const std::size_t end = contraction(at, false); end > at) return end;
    unsigned length;
    Class first = class_at(at, length);
    std::size_t next = at + length;
    if (text_[at] == ' ' && next < text_.size()) {
      first = class_at(next, length);
      next += length;
    }
    if (first == kLetter || first == kNumber || first == kOther) return run_of(next, first);
    return spaces(at, false);
  }

  // The end of a run of white space: after its last line break if `stop_at_newline`; otherwise its
  // last character is left to the next piece, unless the text ends there.
  std::size_t spaces(std::size_t at, bool stop_at_newline) {
    std::size_t end = at, last = at, after_newline = at;
    unsigned length;
    while (end < text_.size()) {
      const Class found = class_at(end, length);
      if (found != kSpace && found != kNewline) break;
      last = end;
      end += length;
      if (found == kNewline) after_newline = end;
    }
    if (stop_at_newline && after_newline > at) return after_newline;
    return end == text_.size() || last == at ? end : last;
  }

  std::string_view text_;
  CategorySet letters_;
  PieceScanner::Shape shape_;
};

PieceScanner PieceScanner::gpt2() {
  return PieceScanner({.gpt2 = true});
}

std::optional<PieceScanner> PieceScanner::for_pattern(std::string_view pattern) {
  struct Known {
    std::string_view pattern;
    Shape shape;
  };
  static constexpr Known kKnown[] = {
      {kGpt2Pattern, {.gpt2 = true}},
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       {}},
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       {.marks = true}},
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       {.most_digits = 3}},
  };
  for (const Known& known : kKnown)
    if (pattern == known.pattern) return PieceScanner(known.shape);
  return std::nullopt;
}

void PieceScanner::scan(std::string_view text, std::uint32_t from, std::uint32_t to,
                        std::vector<TextSpan>& pieces) const {
  PieceWalk walk(text, to, shape_);
  for (std::size_t at = from; at < to;) {
    const std::size_t end = walk.piece_end(at);
    pieces.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end)});
    at = end;
  }
}

}  // namespace counterbeam
