#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "text/jinja/chars.h"
#include "text/jinja/nesting.h"
#include "text/jinja/parser.h"

namespace counterbeam::jinja {
namespace {

// Sets a variable and restores it at the end of the scope.
template <typename T>
class Restore {
 public:
  Restore(T& variable, T value) : variable_(variable), old_(variable) { variable = value; }
  ~Restore() { variable_ = old_; }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  T& variable_;
  T old_;
};

std::unique_ptr<Stmt> make_stmt(StmtKind kind, const Token& tag) {
  auto stmt = std::make_unique<Stmt>();
  stmt->kind = kind;
  stmt->line = tag.line;
  stmt->text = tag.text;
  return stmt;
}

}  // namespace

// Of a token inside a tag.
std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::BlockEnd:
      return "end of statement block";
    case TokenKind::VariableEnd:
      return "end of print statement";
    case TokenKind::End:
      return "end of template";
    case TokenKind::String:
      return "string";
    default:
      return token.text;
  }
}

Parser::Parser(std::vector<Token> tokens, Program& program, const Limits& limits)
    : tokens_(std::move(tokens)), program_(program), limits_(limits) {
  program_.loop = name_id("loop");
  program_.caller = name_id("caller");
  program_.kwargs = name_id("kwargs");
  program_.varargs = name_id("varargs");
}

void Parser::run() {
  program_.body = parse_body({});  // up to the end of the template
  if (!unknown_.empty()) fail(unknown_[0].message, unknown_[0].line);
}

Token Parser::next() {
  Token token = tokens_[at_];
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool Parser::skip_name(std::string_view name) {
  if (!current().is_name(name)) return false;
  next();
  return true;
}

bool Parser::skip_operator(std::string_view op) {
  if (!current().is_operator(op)) return false;
  next();
  return true;
}

void Parser::expect_operator(std::string_view op) {
  if (skip_operator(op)) return;
  if (current().is(TokenKind::End))
    fail(fmt::format("unexpected end of template, expected '{}'.", op));
  fail(fmt::format("expected token '{}', got '{}'", op, describe(current())));
}

void Parser::expect(TokenKind kind) {
  if (current().is(kind)) {
    next();
    return;
  }
  const std::string wanted = describe({kind, 0, "name", 0, 0});
  if (current().is(TokenKind::End))
    fail(fmt::format("unexpected end of template, expected '{}'.", wanted));
  fail(fmt::format("expected token '{}', got '{}'", wanted, describe(current())));
}

std::string Parser::expect_name() {
  if (!current().is(TokenKind::Name)) expect(TokenKind::Name);
  return next().text;
}

void Parser::fail(std::string message, int line) const {
  throw SyntaxFault{std::move(message), line ? line : current().line};
}

NameId Parser::name_id(std::string_view name) {
  const auto [at, fresh] =
      ids_.emplace(std::string(name), static_cast<NameId>(program_.names.size()));
  if (fresh) program_.names.emplace_back(name);
  return at->second;
}

void Parser::note_use(std::string_view name) {
  if (name == "loop")
    for (Stmt* loop : for_loops_) loop->uses_loop = true;
  if (name == "caller")
    for (MacroDef* macro : macros_) macro->uses_caller = true;
  if (name == "kwargs")
    for (MacroDef* macro : macros_) macro->uses_kwargs = true;
  if (name == "varargs")
    for (MacroDef* macro : macros_) macro->uses_varargs = true;
}

Body Parser::parse_body(std::initializer_list<std::string_view> ends) {
  const Nesting nesting(*this);
  Body body;
  while (!current().is(TokenKind::End)) {
    const Token token = next();
    if (token.is(TokenKind::Data)) {
      auto stmt = make_stmt(StmtKind::Data, token);
      stmt->data = Text(token.text);
      body.push_back(std::move(stmt));
    } else if (token.is(TokenKind::VariableBegin)) {
      auto stmt = make_stmt(StmtKind::Print, token);
      stmt->exprs.push_back(parse_tuple());
      expect(TokenKind::VariableEnd);
      body.push_back(std::move(stmt));
    } else {
      if (current().is(TokenKind::Name) &&
          std::find(ends.begin(), ends.end(), current().text) != ends.end())
        return body;
      parse_statement(body);
      expect(TokenKind::BlockEnd);
    }
  }
  if (ends.size() > 0)
    fail(fmt::format("Unexpected end of template. '{}' of the tag '{}' is missing.",
                     fmt::join(ends, "' or '"), tags_.back()));
  return body;
}

Body Parser::parse_tag_body(std::initializer_list<std::string_view> ends) {
  skip_operator(":");
  expect(TokenKind::BlockEnd);
  return parse_body(ends);
}

Body Parser::parse_block(std::string_view end) {
  Body body = parse_tag_body({end});
  next();
  return body;
}

void Parser::parse_statement(Body& body) {
  if (!current().is(TokenKind::Name)) fail("tag name expected");
  using Method = std::unique_ptr<Stmt> (Parser::*)();
  static const std::unordered_map<std::string_view, Method> kTags = {
      {"if", &Parser::parse_if},
      {"for", &Parser::parse_for},
      {"set", &Parser::parse_set},
      {"with", &Parser::parse_with},
      {"macro", &Parser::parse_macro},
      {"call", &Parser::parse_call_block},
      {"filter", &Parser::parse_filter_block},
      {"generation", &Parser::parse_generation},
      {"block", &Parser::parse_named_block},
      {"autoescape", &Parser::parse_autoescape},
      {"print", &Parser::parse_print},
      {"break", &Parser::parse_loop_control},
      {"continue", &Parser::parse_loop_control},
      {"include", &Parser::parse_unsupported},
      {"import", &Parser::parse_unsupported},
      {"from", &Parser::parse_unsupported},
      {"extends", &Parser::parse_unsupported},
  };
  const std::string tag = current().text;
  const auto method = kTags.find(tag);
  if (method == kTags.end())
    fail(tags_.empty()
             ? fmt::format("Encountered unknown tag '{}'.", tag)
             : fmt::format("Encountered unknown tag '{}'. The innermost block that needs to be "
                           "closed is '{}'.",
                           tag, tags_.back()));
  tags_.push_back(tag);
  body.push_back((this->*method->second)());
  tags_.pop_back();
}

std::unique_ptr<Stmt> Parser::parse_if() {
  auto stmt = make_stmt(StmtKind::If, next());
  const Restore<bool> soft(soft_, true);
  while (true) {
    stmt->exprs.push_back(parse_tuple(false));
    stmt->bodies.push_back(parse_tag_body({"elif", "else", "endif"}));
    const Token end = next();
    if (end.text == "elif") continue;
    if (end.text == "else") stmt->bodies.push_back(parse_block("endif"));
    return stmt;
  }
}

std::unique_ptr<Stmt> Parser::parse_for() {
  auto stmt = make_stmt(StmtKind::For, next());
  stmt->exprs.push_back(parse_target("in", false));
  if (!skip_name("in")) fail(fmt::format("expected token 'in', got '{}'", describe(current())));
  stmt->exprs.push_back(parse_tuple(false, "recursive"));
  stmt->exprs.push_back(nullptr);
  const Restore<bool> soft(soft_, false);
  if (skip_name("if")) stmt->exprs[2] = parse_expression();
  stmt->recursive = skip_name("recursive");
  stmt->uses_loop = stmt->recursive;
  const auto refuse_loop = [&](const Expr& target, const auto& self) -> void {
    if (target.kind == ExprKind::Name && target.name == program_.loop)
      fail("Can't assign to special loop variable in for-loop target", target.line);
    for (const ExprPtr& item : target.items) self(*item, self);
  };
  refuse_loop(*stmt->exprs[0], refuse_loop);
  for_loops_.push_back(stmt.get());
  ++loops_;
  stmt->bodies.push_back(parse_tag_body({"endfor", "else"}));
  --loops_;
  for_loops_.pop_back();
  stmt->bodies.emplace_back();
  if (next().text == "else") stmt->bodies[1] = parse_block("endfor");
  return stmt;
}

std::unique_ptr<Stmt> Parser::parse_set() {
  auto stmt = make_stmt(StmtKind::Set, next());
  stmt->exprs.push_back(parse_target({}, true));
  if (skip_operator("=")) {
    stmt->exprs.push_back(parse_tuple());
    return stmt;
  }
  stmt->kind = StmtKind::SetBlock;
  const Restore<bool> soft(soft_, false);
  stmt->exprs.push_back(parse_filters(nullptr, false));
  stmt->bodies.push_back(parse_block("endset"));
  return stmt;
}

// The target of for or set: names, tuples of names and, for set, ns.attribute.
ExprPtr Parser::parse_target(std::string_view end, bool with_namespace) {
  ExprPtr target = parse_items(end, false, [&] { return parse_primary(with_namespace); });
  check_target(*target);
  return target;
}

void Parser::check_target(Expr& target) {
  if (target.kind == ExprKind::Tuple) {
    for (ExprPtr& item : target.items) check_target(*item);
    return;
  }
  if (target.kind == ExprKind::NamespaceTarget) return;
  if (target.kind != ExprKind::Name) fail("can't assign to this expression", target.line);
  if (target.name == program_.loop && !for_loops_.empty())
    fail("Can't assign to special loop variable in for-loop target", target.line);
}

std::unique_ptr<Stmt> Parser::parse_with() {
  auto stmt = make_stmt(StmtKind::With, next());
  const Restore<bool> soft(soft_, false);
  while (!current().is(TokenKind::BlockEnd) && !current().is(TokenKind::End)) {
    if (!stmt->exprs.empty()) expect_operator(",");
    stmt->exprs.push_back(parse_target({}, false));
    expect_operator("=");
    stmt->exprs.push_back(parse_expression());
  }
  stmt->bodies.push_back(parse_block("endwith"));
  return stmt;
}

void Parser::parse_signature(MacroDef& macro) {
  expect_operator("(");
  while (!current().is_operator(")")) {
    if (!macro.params.empty()) expect_operator(",");
    const int line = current().line;
    const std::string name = expect_name();
    if (std::find(macro.param_names.begin(), macro.param_names.end(), name) !=
        macro.param_names.end())
      fail(fmt::format("the argument '{}' occurs twice", name), line);
    macro.params.push_back(name_id(name));
    macro.param_names.push_back(name);
    if (name == "caller") macro.explicit_caller = true;
    if (skip_operator("="))
      macro.defaults.push_back(parse_expression());
    else if (!macro.defaults.empty())
      fail("non-default argument follows default argument", line);
  }
  expect_operator(")");
}

void Parser::parse_macro_body(MacroDef& macro, std::string_view end) {
  const Restore<bool> soft(soft_, false);
  const Restore<int> loops(loops_, 0);
  macros_.push_back(&macro);
  macro.body = parse_block(end);
  macros_.pop_back();
  const auto named = [&](std::string_view name) {
    return std::find(macro.param_names.begin(), macro.param_names.end(), name) !=
           macro.param_names.end();
  };
  if (named("kwargs")) macro.uses_kwargs = false;
  if (named("varargs")) macro.uses_varargs = false;
}

std::unique_ptr<Stmt> Parser::parse_macro() {
  auto stmt = make_stmt(StmtKind::Macro, next());
  stmt->macro = std::make_unique<MacroDef>();
  stmt->macro->name = expect_name();
  stmt->name = name_id(stmt->macro->name);
  parse_signature(*stmt->macro);
  parse_macro_body(*stmt->macro, "endmacro");
  return stmt;
}

std::unique_ptr<Stmt> Parser::parse_call_block() {
  auto stmt = make_stmt(StmtKind::CallBlock, next());
  stmt->macro = std::make_unique<MacroDef>();
  stmt->macro->name = "caller";
  if (current().is_operator("(")) parse_signature(*stmt->macro);
  stmt->exprs.push_back(parse_expression());
  if (stmt->exprs[0]->kind != ExprKind::Call) fail("expected call", stmt->line);
  parse_macro_body(*stmt->macro, "endcall");
  return stmt;
}

std::unique_ptr<Stmt> Parser::parse_filter_block() {
  auto stmt = make_stmt(StmtKind::FilterBlock, next());
  const Restore<bool> soft(soft_, false);
  stmt->exprs.push_back(parse_filters(nullptr, true));
  stmt->bodies.push_back(parse_block("endfilter"));
  return stmt;
}

std::unique_ptr<Stmt> Parser::parse_generation() {
  auto stmt = make_stmt(StmtKind::Scope, next());
  const Restore<bool> soft(soft_, false);
  const Restore<int> loops(loops_, 0);
  stmt->bodies.push_back(parse_block("endgeneration"));
  return stmt;
}

std::unique_ptr<Stmt> Parser::parse_named_block() {
  auto stmt = make_stmt(StmtKind::Scope, next());
  const std::string name = expect_name();
  const bool scoped = skip_name("scoped");
  if (skip_name("required")) fail("a required block has no child template to fill it");
  const Restore<bool> soft(soft_, false);
  const Restore<int> loops(loops_, 0);
  stmt->from_root = !scoped;
  stmt->bodies.push_back(parse_block("endblock"));
  skip_name(name);
  return stmt;
}

std::unique_ptr<Stmt> Parser::parse_autoescape() {
  auto stmt = make_stmt(StmtKind::AutoEscape, next());
  stmt->exprs.push_back(parse_expression());
  const Restore<bool> soft(soft_, false);
  stmt->bodies.push_back(parse_block("endautoescape"));
  return stmt;
}

std::unique_ptr<Stmt> Parser::parse_print() {
  auto stmt = make_stmt(StmtKind::Print, next());
  while (!current().is(TokenKind::BlockEnd) && !current().is(TokenKind::End)) {
    if (!stmt->exprs.empty()) expect_operator(",");
    stmt->exprs.push_back(parse_expression());
  }
  return stmt;
}

std::unique_ptr<Stmt> Parser::parse_loop_control() {
  const Token tag = next();
  if (loops_ == 0) fail(fmt::format("'{}' outside loop", tag.text), tag.line);
  return make_stmt(tag.text == "break" ? StmtKind::Break : StmtKind::Continue, tag);
}

std::unique_ptr<Stmt> Parser::parse_unsupported() {
  auto stmt = make_stmt(StmtKind::Unsupported, next());
  while (!current().is(TokenKind::BlockEnd) && !current().is(TokenKind::End)) next();
  return stmt;
}

std::unique_ptr<const Program> parse_template(std::string_view source, std::string name,
                                              const Limits& limits) {
  if (source.size() > limits.template_bytes)
    bad_input("{}: the template has {} bytes, more than the limit of {}", name, source.size(),
              limits.template_bytes);
  if (!is_valid_utf8(source)) bad_input("{}: the template is not valid UTF-8", name);
  auto program = std::make_unique<Program>();
  program->name = std::move(name);
  try {
    Parser(tokenize(source), *program, limits).run();
  } catch (const SyntaxFault& fault) {
    bad_input("{}, line {}: {}", program->name, fault.line, fault.message);
  }
  return program;
}

}  // namespace counterbeam::jinja
