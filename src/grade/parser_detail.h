// The parser class, implemented in parser.cpp (statements to terms), primary.cpp (operands) and
// numeral.cpp (numbers).
#pragma once

#include "grade/token_stream.h"

namespace counterbeam::grade {

bool plain_integer(const Token& token);  // digits only

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : in_(std::move(tokens)) {}

  Tree statement();  // the whole input
  Tree list();       // up to a closing delimiter or the end
  Tree sum();
  Tree script();  // the argument of ^ or _: a group or one token

 private:
  Tree comma_list();
  Tree item();
  Tree relation();
  Tree ratio();
  Tree set_expression();
  Tree term();
  Tree factor();
  Tree postfix(Tree base);
  Tree with_unit(Tree value);
  std::string unit_words();
  bool starts_factor() const;

  Tree primary();
  Tree number();
  Tree symbol();
  Tree application(const std::string& name);
  Tree function();
  Tree function_argument();
  Tree command();
  Tree fraction();
  Tree root();
  Tree matrix();
  Tree big_operator(const std::string& name);
  Tree absolute();
  Tree parenthesised();
  Tree braces();
  Tree set_braces();
  Tree argument();
  Tree repeating(const Token& start);
  Tree based(const Token& digits);
  int base();

  void enter() {
    if (++depth_ > 60) refuse("nested too deeply");
    if (++nodes_ > 4000) refuse("too long");
  }
  void leave() { --depth_; }

  TokenStream in_;
  int depth_ = 0;
  int nodes_ = 0;
  int bars_ = 0;  // number of open |
};

}  // namespace counterbeam::grade
