// parse_plain: the expressions that the strict grader's simplifier accepts: Python operators, ** as
// ^, implicit products, single letters, sqrt and pi. A letter before a bracket is a function, and i
// and e are ordinary letters.
#include <cctype>

#include "grade/strict.h"

namespace counterbeam::grade {
namespace {

constexpr std::size_t kMaxStrictText = 600;

class PlainParser {
 public:
  explicit PlainParser(std::string_view text) : s_(text) {}

  std::optional<Tree> whole() {
    Tree tree = sum();
    return ok_ && i_ == s_.size() ? std::optional(tree) : std::nullopt;
  }

 private:
  Tree fail() {
    ok_ = false;
    i_ = s_.size();
    return make_number(0);
  }
  char peek() const { return i_ < s_.size() ? s_[i_] : '\0'; }
  bool accept(char c) {
    if (peek() != c) return false;
    ++i_;
    return true;
  }

  Tree sum() {
    if (++depth_ > 100) return fail();
    Tree left = product();
    while (peek() == '+' || peek() == '-') {
      const bool minus = s_[i_++] == '-';
      const Tree right = product();
      left = minus ? difference(left, right) : make(Kind::Add, {left, right});
    }
    --depth_;
    return left;
  }

  bool starts_operand() const {
    const char c = peek();
    return std::isalnum(static_cast<unsigned char>(c)) || c == '(' || c == '.';
  }

  Tree product() {
    Tree left = signed_power();
    for (;;) {
      if (accept('*')) {
        left = make(Kind::Mul, {left, signed_power()});
      } else if (accept('/')) {
        left = make(Kind::Mul, {left, make(Kind::Pow, {signed_power(), make_number(-1)})});
      } else if (starts_operand() && ok_) {
        left = make(Kind::Mul, {left, signed_power()});
      } else {
        return left;
      }
    }
  }

  Tree signed_power() {
    if (++depth_ > 100) return fail();
    Tree result;
    if (accept('-'))
      result = negated(signed_power());
    else if (accept('+'))
      result = signed_power();
    else
      result = power();
    --depth_;
    return result;
  }

  Tree power() {
    Tree base = operand();
    while (accept('!')) base = make(Kind::Call, {base}, "factorial");
    if (accept('^')) return make(Kind::Pow, {base, signed_power()});
    return base;
  }

  Tree operand() {
    if (accept('(')) {
      Tree inner = sum();
      return accept(')') ? inner : fail();
    }
    const std::size_t start = i_;
    while (std::isdigit(static_cast<unsigned char>(peek())) || peek() == '.') ++i_;
    if (i_ > start) {
      const auto value = parse_decimal(s_.substr(start, i_ - start));
      return value ? make_number(*value) : fail();
    }
    if (s_.substr(i_).starts_with("sqrt")) {
      i_ += 4;
      if (!accept('(')) return fail();
      Tree inner = sum();
      if (!accept(')')) return fail();
      return make(Kind::Pow, {inner, make_number(Rational(1, 2))});
    }
    if (s_.substr(i_).starts_with("pi") &&
        !std::isalpha(static_cast<unsigned char>(i_ + 2 < s_.size() ? s_[i_ + 2] : ' '))) {
      i_ += 2;
      return make_symbol("pi");
    }
    if (!std::isalpha(static_cast<unsigned char>(peek()))) return fail();
    const std::string letter = std::string("letter ") + s_[i_++];
    if (!accept('(')) return make_symbol(letter);
    Tree inner = sum();
    return accept(')') ? make(Kind::Call, {inner}, letter) : fail();
  }

  std::string_view s_;
  std::size_t i_ = 0;
  int depth_ = 0;
  bool ok_ = true;
};

}  // namespace

std::optional<Tree> parse_plain(std::string_view text) {
  if (text.empty() || text.size() > kMaxStrictText) return std::nullopt;
  return PlainParser(text).whole();
}

}  // namespace counterbeam::grade
