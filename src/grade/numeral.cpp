// Parses numbers: decimals, mixed numbers, repeating decimals, digits in a base.
#include "grade/parser_detail.h"

namespace counterbeam::grade {

bool plain_integer(const Token& token) {
  return token.kind == TokenKind::Number &&
         token.text.find_first_not_of("0123456789") == std::string::npos;
}

namespace {

int base_word(const std::string& word) {
  static const char* const kWords[] = {"two",    "three",    "four",     "five",    "six",
                                       "seven",  "eight",    "nine",     "ten",     "eleven",
                                       "twelve", "thirteen", "fourteen", "fifteen", "sixteen"};
  for (int i = 0; i < 15; ++i)
    if (word == kWords[i]) return i + 2;
  return 0;
}

// The value of the decimal `start` followed by `period` repeated forever:
// 0.a(b) = 0.a + b / (10^|a| (10^|b| - 1)). The limit on the text keeps every power small enough.
Tree repeating_decimal(const std::string& start, const std::string& period) {
  const auto power = [](std::size_t n) { return integer_power(10, static_cast<long>(n)).value(); };
  const std::size_t decimals = start.size() - start.find('.') - 1;
  return make_number(parse_decimal(start).value() +
                     parse_decimal(period).value() /
                         (power(decimals) * (power(period.size()) - 1)));
}

}  // namespace

Tree Parser::number() {
  const Token token = in_.next();
  const bool word = in_.is(TokenKind::Word) && in_.peek().text == "base";
  if (in_.is("_") || word) return based(token);
  if (const Tree value = repeating(token)) return value;
  const auto value = parse_decimal(token.text);
  if (!value) refuse("too many digits");
  const bool decimal = token.text.find('.') != std::string::npos;
  Tree whole = make_number(*value, decimal ? token.text : "");
  if (decimal) return whole;
  // A mixed number: 1\frac45, or 1 4/5 with a space.
  if (in_.is("frac")) {
    const std::size_t start = in_.position();
    in_.next();
    const Tree top = argument(), bottom = argument();
    const bool plain = top->kind == Kind::Number && bottom->kind == Kind::Number &&
                       is_integer(top->number) && is_integer(bottom->number) && top->number > 0 &&
                       bottom->number > top->number;
    if (plain) return make_number(*value + top->number / bottom->number);
    in_.rewind(start);
  } else if (plain_integer(in_.peek()) && in_.peek().spaced && in_.is("/", 1) &&
             plain_integer(in_.peek(2))) {
    const Rational top = *parse_decimal(in_.next().text);
    in_.next();
    const Rational bottom = *parse_decimal(in_.next().text);
    if (bottom <= top) refuse("two numbers side by side");
    return make_number(*value + top / bottom);
  }
  return whole;
}

// 0.\overline{3}, or 0.1666... if the repeated digits are written often enough; null for any other
// number.
Tree Parser::repeating(const Token& start) {
  if (start.text.find('.') == std::string::npos) return nullptr;
  if (in_.accept("overline")) {
    in_.expect("{");
    const Token digits = in_.next();
    in_.expect("}");
    const bool exponent = start.text.find_first_of("eE") != std::string::npos;
    if (exponent || !plain_integer(digits)) refuse("a strange repeating decimal");
    return repeating_decimal(start.text, digits.text);
  }
  if (!in_.is(TokenKind::Junk) || in_.peek().text != "...") return nullptr;
  in_.next();
  const std::size_t decimals = start.text.size() - start.text.find('.') - 1;
  for (std::size_t length = 1; 2 * length <= decimals; ++length) {
    const std::size_t times = length == 1 ? 3 : 2;
    if (times * length > decimals) continue;
    const std::string period = start.text.substr(start.text.size() - length);
    bool repeats = true;
    for (std::size_t i = 2; i <= times; ++i)
      repeats &= start.text.compare(start.text.size() - i * length, length, period) == 0;
    if (repeats) return repeating_decimal(start.text, period);
  }
  refuse("digits that do not repeat");
}

// "_8", "_{8}", "_{\text{eight}}", "base 8".
int Parser::base() {
  const bool group = in_.accept("_") && in_.accept("{");
  in_.accept_word("base");
  const Token token = in_.next();
  if (group) in_.expect("}");
  if (token.kind == TokenKind::Word) return base_word(token.text);
  return plain_integer(token) && token.text.size() <= 2 ? std::stoi(token.text) : 0;
}

Tree Parser::based(const Token& digits) {
  const int radix = base();
  if (radix < 2 || radix > 36 || !plain_integer(digits)) refuse("a strange base");
  if (digits.text.size() > 1000) refuse("too many digits");
  for (const char d : digits.text)
    if (d - '0' >= radix) refuse("a digit outside its base");
  const Integer value(digits.text, radix);
  return std::make_shared<const Node>(
      Node{Kind::Based, value, digits.text + "_" + std::to_string(radix), {}, 0});
}

}  // namespace counterbeam::grade
