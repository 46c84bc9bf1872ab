// Parses tokens into a Program by recursive descent, following Jinja's own grammar. Expressions are
// in parse_expressions.cpp, statements in parse_statements.cpp.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"

namespace counterbeam::jinja {

class Parser {
 public:
  Parser(std::vector<Token> tokens, Program& program, const Limits& limits);
  void run();  // throws SyntaxFault

 private:
  class Nesting;
  struct Unknown {  // a filter or test with an unknown name
    std::string message;
    int line;
  };

  // statements
  Body parse_body(std::initializer_list<std::string_view> ends);
  // Parses the body of a tag; its closing tag becomes the current token.
  Body parse_tag_body(std::initializer_list<std::string_view> ends);
  Body parse_block(std::string_view end);  // also consumes the end tag
  void parse_statement(Body& body);
  std::unique_ptr<Stmt> parse_if();
  std::unique_ptr<Stmt> parse_for();
  std::unique_ptr<Stmt> parse_set();
  std::unique_ptr<Stmt> parse_with();
  std::unique_ptr<Stmt> parse_macro();
  std::unique_ptr<Stmt> parse_call_block();
  std::unique_ptr<Stmt> parse_filter_block();
  std::unique_ptr<Stmt> parse_generation();
  std::unique_ptr<Stmt> parse_named_block();
  std::unique_ptr<Stmt> parse_autoescape();
  std::unique_ptr<Stmt> parse_print();
  std::unique_ptr<Stmt> parse_loop_control();
  std::unique_ptr<Stmt> parse_unsupported();
  void parse_signature(MacroDef& macro);
  void parse_macro_body(MacroDef& macro, std::string_view end);
  ExprPtr parse_target(std::string_view end, bool with_namespace);
  void check_target(Expr& target);

  // expressions
  // Parses items separated by commas, up to the end of a tag, ")" or the name `end`: the item
  // itself where there is one without a comma, else a tuple.
  ExprPtr parse_items(std::string_view end, bool may_be_empty,
                      const std::function<ExprPtr()>& parse_item);
  ExprPtr parse_tuple(bool conditional = true, std::string_view end = {}, bool parens = false);
  ExprPtr parse_expression(bool conditional = true);
  ExprPtr parse_conditional();
  ExprPtr parse_or();
  ExprPtr parse_and();
  ExprPtr parse_not();
  ExprPtr parse_compare();
  ExprPtr parse_sum();
  ExprPtr parse_concat();
  ExprPtr parse_product();
  ExprPtr parse_power();
  ExprPtr parse_unary(bool with_filter = true);
  ExprPtr parse_primary(bool with_namespace = false);
  ExprPtr parse_name(bool with_namespace);
  ExprPtr parse_list();
  ExprPtr parse_dict();
  ExprPtr parse_postfix(ExprPtr node);
  ExprPtr parse_filter_chain(ExprPtr node);
  ExprPtr parse_subscript(ExprPtr node);
  ExprPtr parse_subscribed();
  ExprPtr parse_call(ExprPtr node);
  void parse_call_args(Expr& call);
  // Parses a chain of filters. The current token is "|", or with `inline_first` the first filter's
  // name. `node` is the subject, null for filter blocks.
  ExprPtr parse_filters(ExprPtr node, bool inline_first);
  ExprPtr parse_test(ExprPtr node);
  std::string parse_dotted_name();
  ExprPtr make(ExprKind kind, int line) const;
  ExprPtr make_binary(Op op, ExprPtr left, ExprPtr right, int line);
  // Sets the height of a complete node and checks its limit.
  ExprPtr finish(ExprPtr node) const;

  // tokens
  const Token& current() const { return tokens_[at_]; }
  const Token& look() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token next();
  bool skip_name(std::string_view name);
  bool skip_operator(std::string_view op);
  void expect_operator(std::string_view op);
  void expect(TokenKind kind);
  std::string expect_name();
  [[noreturn]] void fail(std::string message, int line = 0) const;

  NameId name_id(std::string_view name);
  void note_use(std::string_view name);
  bool at_tuple_end(std::string_view end) const;

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  Program& program_;
  const Limits& limits_;
  int depth_ = 0;
  int loops_ = 0;      // enclosing loops that break may leave
  bool soft_ = false;  // an unknown filter or test is an error only if it is evaluated
  std::vector<Unknown> unknown_;
  std::vector<MacroDef*> macros_;
  std::vector<Stmt*> for_loops_;
  std::vector<std::string> tags_;
  std::unordered_map<std::string, NameId> ids_;
};

std::string describe(const Token& token);

}  // namespace counterbeam::jinja
