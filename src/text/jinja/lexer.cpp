#include "text/jinja/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "text/jinja/chars.h"
#include "text/jinja/escapes.h"

namespace counterbeam::jinja {
namespace {

constexpr std::array<std::string_view, 6> kLongOperators = {"//", "**", "==", "!=", ">=", "<="};
constexpr std::string_view kShortOperators = "+-/*%~[](){}><=.:|,;";

std::string normalize_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

bool is_digit_char(char c) {
  return c >= '0' && c <= '9';
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)), text_(source_) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) lex_root();
    add(TokenKind::End, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(std::string message) const {
    throw SyntaxFault{std::move(message), line_};
  }

  void add(TokenKind kind, std::string_view text) {
    tokens_.push_back({kind, line_, std::string(text), 0, 0});
  }

  void advance(std::size_t to) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    line_starting_ = to > at_ && text_[to - 1] == '\n';
    at_ = to;
  }

  bool looking_at(std::string_view what, std::size_t at) const {
    return text_.substr(at, what.size()) == what;
  }

  // Adds the data before the tag at `tag`, without the white space that its sign or lstrip_blocks
  // removes.
  void add_data(std::size_t tag, char sign, bool lstrips) {
    std::string_view data = text_.substr(at_, tag - at_);
    if (sign == '-') {
      data = data.substr(0, trim_end(data));
    } else if (sign != '+' && lstrips) {
      const std::size_t newline = data.rfind('\n');
      const std::size_t start = newline == data.npos ? 0 : newline + 1;
      if ((start > 0 || line_starting_) && skip_space(data, start) == data.size())
        data = data.substr(0, start);
    }
    if (!data.empty()) add(TokenKind::Data, data);
    advance(tag);
  }

  char sign_at(std::size_t at) const {
    return at < text_.size() && (text_[at] == '-' || text_[at] == '+') ? text_[at] : 0;
  }

  // The offset after the end of a tag at `at`: "+%}", "-%}" and the white space after it, or "%}"
  // and one newline. Zero if there is none.
  std::size_t tag_end(std::size_t at, std::string_view closer) const {
    const char sign = sign_at(at);
    const std::size_t body = at + (sign ? 1 : 0);
    if (!looking_at(closer, body)) return 0;
    const std::size_t end = body + closer.size();
    if (sign == '-') return skip_space(text_, end);
    if (sign == 0 && end < text_.size() && text_[end] == '\n') return end + 1;
    return end;
  }

  void lex_root() {
    std::size_t tag = at_;
    while ((tag = text_.find('{', tag)) != text_.npos) {
      const char next = tag + 1 < text_.size() ? text_[tag + 1] : 0;
      if (next == '%' || next == '#' || next == '{') break;
      ++tag;
    }
    if (tag == text_.npos) {
      add(TokenKind::Data, text_.substr(at_));
      return advance(text_.size());
    }
    const char kind = text_[tag + 1];
    const char sign = sign_at(tag + 2);
    add_data(tag, sign, kind != '{');
    const std::size_t body = tag + 2 + (sign ? 1 : 0);
    if (kind == '#') return lex_comment(body);
    if (kind == '%') {
      if (const auto raw = raw_begin(body)) return lex_raw(*raw);
    }
    add(kind == '%' ? TokenKind::BlockBegin : TokenKind::VariableBegin, "");
    advance(body);
    lex_tag(kind == '%');
  }

  void lex_comment(std::size_t at) {
    for (std::size_t close = at; (close = text_.find("#}", close)) != text_.npos; ++close) {
      const bool signed_end = close > at && sign_at(close - 1);
      return advance(tag_end(signed_end ? close - 1 : close, "#}"));
    }
    if (at < text_.size()) fail("Missing end of comment tag");
    advance(at);  // Jinja allows a template to end with "{#"
  }

  // The offset after "{% raw %}" if the tag whose content starts at `at` is one.
  std::optional<std::size_t> raw_begin(std::size_t at) const {
    at = skip_space(text_, at);
    if (!looking_at("raw", at)) return std::nullopt;
    at = skip_space(text_, at + 3);
    if (looking_at("-%}", at)) return skip_space(text_, at + 3);
    if (looking_at("%}", at)) return at + 2;
    return std::nullopt;
  }

  void lex_raw(std::size_t start) {
    advance(start);
    for (std::size_t tag = at_; (tag = text_.find("{%", tag)) != text_.npos; ++tag) {
      const char sign = sign_at(tag + 2);
      std::size_t at = skip_space(text_, tag + 2 + (sign ? 1 : 0));
      if (!looking_at("endraw", at)) continue;
      at = skip_space(text_, at + 6);
      const std::size_t end = tag_end(at, "%}");
      if (!end) continue;
      add_data(tag, sign, true);
      return advance(end);
    }
    if (at_ < text_.size()) fail("Missing end of raw directive");
  }

  void lex_tag(bool block) {
    std::string balance;
    while (at_ < text_.size()) {
      if (balance.empty()) {
        const std::size_t end = block ? tag_end(at_, "%}") : variable_end();
        if (end) {
          add(block ? TokenKind::BlockEnd : TokenKind::VariableEnd, "");
          return advance(end);
        }
      }
      lex_inside(balance);
    }
  }

  std::size_t variable_end() const {
    if (looking_at("-}}", at_)) return skip_space(text_, at_ + 3);
    return looking_at("}}", at_) ? at_ + 2 : 0;
  }

  void lex_inside(std::string& balance) {
    const char c = text_[at_];
    const CodePoint point = decode(text_, at_);
    if (is_space(point.value)) return advance(skip_space(text_, at_));
    if (is_digit_char(c)) return lex_number();
    if (is_word(point.value)) return lex_name();
    if (c == '"' || c == '\'') return lex_string();
    lex_operator(balance);
  }

  void lex_name() {
    std::size_t end = at_;
    bool first = true;
    while (end < text_.size()) {
      const CodePoint point = decode(text_, end);
      if (!is_word(point.value) && !is_name_part(point.value)) break;
      if (first ? !is_name_start(point.value) : !is_name_part(point.value))
        fail("Invalid character in identifier");
      first = false;
      end += point.size;
    }
    add(TokenKind::Name, text_.substr(at_, end - at_));
    advance(end);
  }

  // The end of digits with single underscores between them; the start if there are none.
  template <typename Accept>
  std::size_t digits(std::size_t at, Accept accept) const {
    while (at < text_.size()) {
      const bool gap = text_[at] == '_';
      const std::size_t digit = at + (gap ? 1 : 0);
      if (digit >= text_.size() || !accept(text_[digit])) break;
      at = digit + 1;
    }
    return at;
  }

  void lex_number() {
    if (const std::size_t end = float_end()) {
      std::string spelled(text_.substr(at_, end - at_));
      std::erase(spelled, '_');
      add(TokenKind::Float, spelled);
      tokens_.back().real = std::strtod(spelled.c_str(), nullptr);
      return advance(end);
    }
    const char base = at_ + 1 < text_.size() ? static_cast<char>(text_[at_ + 1] | 0x20) : 0;
    if (text_[at_] == '0' && (base == 'x' || base == 'o' || base == 'b')) {
      const int radix = base == 'x' ? 16 : base == 'o' ? 8 : 2;
      const std::size_t end = digits(at_ + 2, [&](char c) {
        const char low = static_cast<char>(c | 0x20);
        return is_digit_char(c) ? c - '0' < radix : radix == 16 && low >= 'a' && low <= 'f';
      });
      if (end > at_ + 2) return add_integer(at_ + 2, end, radix);
    }
    const bool zero = text_[at_] == '0';
    add_integer(at_, digits(at_, [&](char c) { return zero ? c == '0' : is_digit_char(c); }), 10);
  }

  // The end of a float literal at at_, or zero.
  std::size_t float_end() const {
    if (at_ > 0 && text_[at_ - 1] == '.') return 0;
    const std::size_t whole = digits(at_, is_digit_char);
    std::size_t end = whole;
    if (end + 1 < text_.size() && text_[end] == '.' && is_digit_char(text_[end + 1]))
      end = digits(end + 1, is_digit_char);
    if (end < text_.size() && (text_[end] | 0x20) == 'e') {
      std::size_t exponent = end + 1;
      if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
      if (exponent < text_.size() && is_digit_char(text_[exponent]))
        return digits(exponent, is_digit_char);
    }
    return end > whole ? end : 0;
  }

  void add_integer(std::size_t from, std::size_t end, int radix) {
    std::string spelled(text_.substr(from, end - from));
    std::erase(spelled, '_');
    std::int64_t number = 0;
    const auto read =
        std::from_chars(spelled.data(), spelled.data() + spelled.size(), number, radix);
    if (read.ec != std::errc())
      fail(fmt::format("the integer {} does not fit in 64 bits", spelled));
    add(TokenKind::Integer, spelled);
    tokens_.back().integer = number;
    advance(end);
  }

  void lex_string() {
    const char quote = text_[at_];
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) fail(fmt::format("the string that opens with {} has no end", quote));
    std::string problem;
    std::string unescaped = unescape(text_.substr(at_ + 1, end - at_ - 1), problem);
    if (!problem.empty()) fail(problem);
    add(TokenKind::String, unescaped);
    advance(end + 1);
  }

  void lex_operator(std::string& balance) {
    std::string_view op = text_.substr(at_, 2);
    if (std::find(kLongOperators.begin(), kLongOperators.end(), op) == kLongOperators.end())
      op = text_.substr(at_, 1);
    if (op.size() == 1 && kShortOperators.find(op[0]) == kShortOperators.npos)
      fail(fmt::format("unexpected char '{}'", text_.substr(at_, decode(text_, at_).size)));
    if (op == "{") balance += '}';
    if (op == "(") balance += ')';
    if (op == "[") balance += ']';
    if (op == "}" || op == ")" || op == "]") {
      if (balance.empty()) fail(fmt::format("unexpected '{}'", op));
      if (balance.back() != op[0])
        fail(fmt::format("unexpected '{}', expected '{}'", op, balance.back()));
      balance.pop_back();
    }
    add(TokenKind::Operator, op);
    advance(at_ + op.size());
  }

  std::string source_;
  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  return Lexer(normalize_newlines(source)).run();
}

}  // namespace counterbeam::jinja
