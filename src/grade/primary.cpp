// Parses operands: symbols, functions, groups, matrices.
#include <algorithm>

#include "grade/parser_detail.h"

namespace counterbeam::grade {
namespace {

// AB: two adjacent capital letters.
bool is_segment(const Tree& tree) {
  return tree->kind == Kind::Mul && tree->args.size() == 2 &&
         std::all_of(tree->args.begin(), tree->args.end(), [](const Tree& end) {
           return end->kind == Kind::Symbol && end->name[0] >= 'A' && end->name[0] <= 'Z';
         });
}

}  // namespace

Tree Parser::primary() {
  const Token& t = in_.peek();
  switch (t.kind) {
    case TokenKind::Number:
      return number();
    case TokenKind::Symbol:
      return symbol();
    case TokenKind::Function:
      return function();
    case TokenKind::Command:
      return command();
    case TokenKind::Operator:
      break;
    default:
      refuse("an operand is missing");
  }
  if (t.text == "(" && plain_integer(in_.peek(1)) && in_.is(")", 2) && in_.is("_", 3)) {
    in_.next();
    const Token digits = in_.next();
    in_.next();
    return based(digits);
  }
  if (t.text == "(" || t.text == "[") return parenthesised();
  if (t.text == "{") return braces();
  if (t.text == "\\{") return set_braces();
  if (t.text == "|") return absolute();
  if (in_.accept("dollar")) return make(Kind::Quantity, {factor()}, "dollars");
  if (in_.accept("lfloor")) {
    Tree inner = sum();
    in_.expect("rfloor");
    return make(Kind::Call, {inner}, "floor");
  }
  if (in_.accept("lceil")) {
    Tree inner = sum();
    in_.expect("rceil");
    return make(Kind::Call, {inner}, "ceil");
  }
  refuse("an operand is missing");
}

Tree Parser::symbol() {
  std::string name = in_.next().text;
  while (in_.is("_") || in_.is("'")) {
    if (in_.accept("'")) {
      name += "'";
      continue;
    }
    in_.next();
    name += "_" + canonical(script());
  }
  return application(name);
}

// f(x): a letter used as a function. Only the usual names of functions count; x(x+1) is a product.
Tree Parser::application(const std::string& name) {
  static const std::string kAlways = "fghFGH", kOfOneSymbol = "pqyPQSTWLNV";
  const bool plain = name.size() == 1 || name[1] == '_' || name[1] == '\'';
  const bool always = plain && kAlways.find(name[0]) != std::string::npos;
  const bool of_symbol = plain && kOfOneSymbol.find(name[0]) != std::string::npos &&
                         in_.is(TokenKind::Symbol, 1) && in_.is(")", 2);
  if (in_.is("(") && (always || of_symbol)) {
    const Tree group = parenthesised();
    return make(Kind::Call, group->kind == Kind::Tuple ? group->args : std::vector<Tree>{group},
                name);
  }
  return make_symbol(name);
}

Tree Parser::function_argument() {
  if (in_.is("(") || in_.is("{") || in_.is("[")) {
    const Tree group = in_.is("{") ? braces() : parenthesised();
    return group;
  }
  // \sin 2x \cos y: the argument extends to the next function or operator.
  std::vector<Tree> factors{factor()};
  while (starts_factor() && !in_.is(TokenKind::Function) && !in_.is("(") && !in_.is("|"))
    factors.push_back(factor());
  return factors.size() == 1 ? factors[0] : make(Kind::Mul, factors);
}

Tree Parser::function() {
  std::string name = in_.next().text;
  Tree power, base;
  for (int i = 0; i < 2; ++i) {
    if (in_.is("^")) {
      in_.next();
      power = script();
    } else if (in_.is("_")) {
      in_.next();
      base = script();
    }
  }
  if (power && is_number(power, -1) && (name == "sin" || name == "cos" || name == "tan")) {
    name = "arc" + name;
    power = nullptr;
  }
  Tree inner = function_argument();
  std::vector<Tree> args = inner->kind == Kind::Tuple || inner->kind == Kind::List
                               ? inner->args
                               : std::vector<Tree>{inner};
  if (name == "ln")
    name = "log";
  else if (name == "lg" || (name == "log" && !base))
    base = base ? base : make_number(10);
  if (name == "lg") name = "log";
  if (base) args.push_back(base);
  Tree result = make(Kind::Call, args, name);
  if (name == "cis")
    result = make(Kind::Pow, {make_symbol("e"), make(Kind::Mul, {make_symbol("i"), args[0]})});
  if (name == "exp") result = make(Kind::Pow, {make_symbol("e"), args[0]});
  return power ? make(Kind::Pow, {result, power}) : result;
}

// A macro's argument: a group or a single token; in \frac12 each digit is an argument.
Tree Parser::argument() {
  if (in_.accept("{")) {
    Tree inner = list();
    in_.expect("}");
    return inner;
  }
  return script();
}

Tree Parser::script() {
  enter();
  Tree result;
  if (in_.accept("{")) {
    result = list();
    in_.expect("}");
  } else if (in_.accept("-")) {
    result = negated(script());
  } else if (in_.accept("+")) {
    result = script();
  } else if (in_.is(TokenKind::Symbol)) {
    result = make_symbol(in_.next().text);
  } else if (in_.is(TokenKind::Word)) {
    result = make_symbol(in_.next().text);
  } else if (in_.is(TokenKind::Number)) {
    const auto value = parse_decimal(in_.next().text);
    if (!value) refuse("too many digits");
    result = make_number(*value);
  } else if (in_.accept("'") || in_.accept("*")) {
    result = make_symbol("'");
  } else {
    result = primary();
  }
  leave();
  return result;
}

Tree Parser::fraction() {
  const Tree top = argument();
  const Tree bottom = argument();
  return quotient(top, bottom);
}

Tree Parser::root() {
  Tree degree = make_number(2);
  if (in_.accept("[")) {
    degree = sum();
    in_.expect("]");
    if (is_number(degree, 0)) refuse("a strange root");
  }
  const Tree radicand = argument();
  return make(Kind::Pow, {radicand, quotient(make_number(1), degree)});
}

Tree Parser::command() {
  const std::string name = in_.next().text;
  if (name == "frac") return fraction();
  if (name == "sqrt") return root();
  if (name == "binom") {
    const Tree n = argument();
    return make(Kind::Call, {n, argument()}, "binom");
  }
  if (name == "begin") return matrix();
  if (name == "emptyset") return make(Kind::Set, {});
  if (name == "mathbb") {
    const Tree letter = argument();
    if (letter->kind == Kind::Symbol && letter->name == "R") return make(Kind::Reals, {});
    if (letter->kind == Kind::Symbol) return make_symbol("mathbb_" + letter->name);
    refuse("a strange set");
  }
  if (name == "sum" || name == "prod") return big_operator(name);
  if (name == "overline") {
    const Tree inner = argument();
    return is_segment(inner) ? inner : make(Kind::Call, {inner}, "overline");
  }
  refuse("an unknown command");
}

Tree Parser::big_operator(const std::string& name) {
  Tree lower, upper;
  for (int i = 0; i < 2; ++i) {
    if (in_.accept("_"))
      lower = argument();
    else if (in_.accept("^"))
      upper = script();
  }
  if (!lower || !upper || lower->kind != Kind::Relation || lower->name != "=" ||
      lower->args[0]->kind != Kind::Symbol)
    refuse("a strange sum");
  return make(Kind::Call, {lower->args[0], lower->args[1], upper, term()}, name);
}

Tree Parser::absolute() {
  in_.next();
  ++bars_;
  const Tree inner = list();
  --bars_;
  in_.expect("|");
  return make(Kind::Call, {inner}, "abs");
}

Tree Parser::parenthesised() {
  const std::string open = in_.next().text;
  const int bars = bars_;
  bars_ = 0;
  const Tree inner = list();
  bars_ = bars;
  const std::string close = in_.next().text;
  if (close != ")" && close != "]") refuse("a delimiter is missing");
  if (inner->kind == Kind::List) return make(Kind::Tuple, inner->args, open + close);
  if (open + close != "()" && open + close != "[]") refuse("brackets do not match");
  // Keeps a group separate, so that 2(3) and (2)(3) are products.
  return inner->kind == Kind::Number ? make(Kind::Mul, {inner}) : inner;
}

Tree Parser::braces() {
  in_.next();
  const int bars = bars_;
  bars_ = 0;
  const Tree inner = list();
  bars_ = bars;
  if (in_.accept("choose")) {
    const Tree lower = list();
    in_.expect("}");
    return make(Kind::Call, {inner, lower}, "binom");
  }
  in_.expect("}");
  return inner->kind == Kind::List ? make(Kind::Set, inner->args) : inner;
}

Tree Parser::set_braces() {
  in_.next();
  if (in_.accept("\\}")) return make(Kind::Set, {});
  const int bars = bars_;
  bars_ = 1;  // here a bar means "such that"
  if (in_.is(TokenKind::Symbol) && (in_.is(":", 1) || in_.is("in", 1))) {
    in_.next();
    if (in_.accept("in") && set_expression()->kind != Kind::Reals)
      refuse("a condition on other than the reals");
    if (!in_.accept(":") && !in_.accept("mid")) in_.expect("|");
    bars_ = 0;
    const Tree condition = list();
    bars_ = bars;
    in_.expect("\\}");
    return condition;
  }
  Tree inner = list();
  if (in_.accept("|") || in_.accept("mid")) {
    bars_ = 0;
    inner = list();
    bars_ = bars;
    in_.expect("\\}");
    return inner;
  }
  bars_ = bars;
  in_.expect("\\}");
  return make(Kind::Set, inner->kind == Kind::List ? inner->args : std::vector<Tree>{inner});
}

Tree Parser::matrix() {
  const auto environment = [&] {
    in_.expect("{");
    std::string name;
    while (!in_.is("}")) {
      if (in_.is(TokenKind::End)) refuse("an environment is open");
      name += in_.next().text;
    }
    in_.next();
    return name;
  };
  const std::string name = environment();
  if (name == "array")
    environment();  // the column specification
  else if (name.find("matrix") == std::string::npos)
    refuse("an unknown environment");
  std::vector<Tree> entries;
  std::size_t columns = 0, column = 0;
  int rows = 0;
  const auto close_row = [&] {
    if (rows > 0 && column != columns) refuse("rows of different lengths");
    columns = column;
    column = 0;
    ++rows;
  };
  const int bars = bars_;
  bars_ = 0;
  while (!in_.is("end")) {
    entries.push_back(relation());
    ++column;
    if (in_.accept("&")) continue;
    if (!in_.accept("\\\\") && !in_.is("end")) refuse("a matrix is open");
    close_row();
  }
  bars_ = bars;
  in_.next();
  environment();
  if (entries.empty()) refuse("an empty matrix");
  return make_matrix(std::move(entries), rows);
}

}  // namespace counterbeam::grade
