#include "grade/parser.h"

#include <algorithm>

#include "grade/parser_detail.h"

namespace counterbeam::grade {
namespace {

constexpr std::size_t kMaxText = 4000;

char relation_code(const Token& token) {
  if (token.kind != TokenKind::Operator) return 0;
  const std::string& t = token.text;
  if (t == "=" || t == "<" || t == ">") return t[0];
  if (t == "<=") return 'l';
  if (t == ">=") return 'g';
  if (t == "!=") return 'n';
  if (t == "~=") return '~';
  if (t == "in") return 'e';
  return 0;
}

Tree joined(Kind kind, std::vector<Tree> parts, std::string name = "") {
  return parts.size() == 1 ? parts[0] : make(kind, std::move(parts), std::move(name));
}

}  // namespace

Tree Parser::statement() {
  if (!in_.accept("=")) in_.accept("~=");  // "= 42": the left side was omitted
  Tree tree = list();
  if (!in_.is(TokenKind::End)) refuse("something is left over");
  return tree;
}

Tree Parser::list() {
  enter();
  std::vector<Tree> parts{comma_list()};
  while (in_.accept(";")) parts.push_back(comma_list());
  leave();
  return joined(Kind::List, std::move(parts), ",");
}

// "3, 5, and 7": the word follows a comma; "a or b" without commas is also a list.
Tree Parser::comma_list() {
  std::vector<Tree> parts{item()};
  std::string name = ",";
  while (in_.is(",") || in_.is("and") || in_.is("or")) {
    const bool comma = in_.accept(",");
    if (comma && (in_.is(TokenKind::End) || in_.is(";"))) break;  // a trailing comma
    if (in_.is("and") || in_.is("or")) name = in_.next().text;
    parts.push_back(item());
  }
  return joined(Kind::List, std::move(parts), name);
}

Tree Parser::item() {
  return relation();
}

Tree Parser::relation() {
  std::vector<Tree> sides{ratio()};
  std::string codes;
  while (const char code = relation_code(in_.peek())) {
    in_.next();
    codes += code;
    sides.push_back(ratio());
  }
  return codes.empty() ? sides[0] : make(Kind::Relation, std::move(sides), codes);
}

Tree Parser::ratio() {
  std::vector<Tree> parts{set_expression()};
  while (in_.accept(":") || in_.accept_word("to")) parts.push_back(set_expression());
  return with_unit(joined(Kind::Ratio, std::move(parts)));
}

Tree Parser::set_expression() {
  Tree left = sum();
  while (in_.is("cup") || in_.is("cap") || in_.is("setminus")) {
    const std::string op = in_.next().text;
    Tree right = sum();
    const Kind kind = op == "cup"   ? Kind::Union
                      : op == "cap" ? Kind::Intersection
                                    : Kind::Difference;
    left = make(kind, {left, right});
  }
  return left;
}

Tree Parser::sum() {
  enter();
  std::vector<Tree> parts;
  do {
    if (in_.is("+") || in_.is("-")) {
      const bool minus = in_.next().text == "-";
      const Tree value = term();
      parts.push_back(minus ? negated(value) : value);
    } else if (in_.is("pm") || in_.is("mp")) {
      const std::string sign = in_.next().text;
      parts.push_back(make(Kind::PlusMinus, {term()}, sign));
    } else {
      parts.push_back(term());
    }
  } while (in_.is("+") || in_.is("-") || in_.is("pm") || in_.is("mp"));
  leave();
  return joined(Kind::Add, std::move(parts));
}

bool Parser::starts_factor() const {
  const Token& t = in_.peek();
  switch (t.kind) {
    case TokenKind::Number:
    case TokenKind::Symbol:
    case TokenKind::Function:
      return true;
    case TokenKind::Command:
      return t.text != "end" && t.text != "choose";
    case TokenKind::Operator:
      if (t.text == "|") return bars_ == 0;
      return t.text == "(" || t.text == "[" || t.text == "{" || t.text == "\\{" ||
             t.text == "lfloor" || t.text == "lceil";
    default:
      return false;
  }
}

Tree Parser::term() {
  std::vector<Tree> factors{factor()};
  bool literal = factors[0]->kind == Kind::Number;
  for (;;) {
    if (in_.accept("*")) {
      const bool minus = in_.accept("-");
      const Tree f = factor();
      factors.push_back(minus ? negated(f) : f);
    } else if (in_.accept("/")) {
      const bool minus = in_.accept("-");
      const Tree f = factor();
      const Tree divisor = minus ? negated(f) : f;
      factors.back() = quotient(factors.back(), divisor);
    } else if (in_.accept("bmod")) {
      const Tree left = joined(Kind::Mul, std::move(factors));
      factors = {make(Kind::Call, {left, factor()}, "mod")};
    } else if (starts_factor()) {
      if (in_.is(TokenKind::Number) && literal) refuse("two numbers side by side");
      factors.push_back(factor());
    } else {
      break;
    }
    literal = factors.back()->kind == Kind::Number;
  }
  return joined(Kind::Mul, std::move(factors));
}

Tree Parser::factor() {
  enter();
  Tree result;
  if (in_.accept("+")) {
    result = factor();
  } else if (in_.is("-")) {
    in_.next();
    result = negated(factor());
  } else {
    result = postfix(primary());
  }
  leave();
  return result;
}

Tree Parser::postfix(Tree base) {
  for (;;) {
    if (in_.is("!") && !in_.is("=", 1)) {
      in_.next();
      base = make(Kind::Call, {base}, in_.accept("!") ? "doublefactorial" : "factorial");
    } else if (in_.accept("%")) {
      base = make(Kind::Percent, {base});
    } else if (in_.accept("deg")) {
      base = make(Kind::Degree, {base});
    } else if (in_.is("^") && (in_.is("deg", 1) || (in_.is("{", 1) && in_.is("deg", 2)))) {
      in_.next();
      if (in_.accept("{")) {
        in_.next();
        in_.expect("}");
      } else {
        in_.next();
      }
      base = make(Kind::Degree, {base});
    } else if (in_.is("^") && in_.peek(1).kind == TokenKind::Symbol && in_.peek(1).text == "o") {
      in_.next();
      in_.next();
      base = make(Kind::Degree, {base});
    } else if (in_.accept("^")) {
      base = make(Kind::Pow, {base, script()});
    } else {
      break;
    }
  }
  return base;
}

std::string Parser::unit_words() {
  std::string words;
  const auto add = [&](const std::string& word) { words += (words.empty() ? "" : " ") + word; };
  while (in_.is(TokenKind::Word) || (!words.empty() && (in_.is("/") || in_.is("*")))) {
    add(in_.next().text);
    if (words.ends_with("/") || words.ends_with("*")) {
      if (!in_.is(TokenKind::Word) && !in_.is(TokenKind::Symbol)) refuse("half a unit");
      add(in_.next().text);
    }
    if (in_.accept("^")) {
      const Tree power = script();
      if (power->kind != Kind::Number || !is_integer(power->number) || abs(power->number) > 9)
        refuse("a strange unit");
      add("^" + power->number.get_str());
    }
  }
  return words;
}

Tree Parser::with_unit(Tree value) {
  const std::string words = in_.accept("dollar") ? "dollars" : unit_words();
  return words.empty() ? value : make(Kind::Quantity, {value}, words);
}

std::optional<Tree> parse(std::string_view text, Commas commas) {
  if (text.size() > kMaxText) return std::nullopt;
  try {
    return Parser(tokenize(text, commas)).statement();
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace counterbeam::grade
