// A parsed template. Names are numbered once, so that a lookup compares integers; nodes carry the
// line they came from. Built by the parser, never changed afterwards, shared by any number of
// renderings.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace counterbeam::jinja {

using NameId = std::uint32_t;

struct Expr;
struct Stmt;
struct Builtin;
using ExprPtr = std::unique_ptr<Expr>;
using Body = std::vector<std::unique_ptr<Stmt>>;

enum class ExprKind : std::uint8_t {
  Const,
  Name,
  List,
  Tuple,
  Dict,  // items: key, value, key, value, ...
  Attribute,
  Subscript,
  Slice,
  Call,
  Filter,
  Test,
  Concat,
  Compare,  // items: left, then one per op
  And,
  Or,
  Not,
  Negate,
  Plus,
  Binary,
  Conditional,  // items: test, then, else (may be null)
  NamespaceTarget,
};

enum class Op : std::uint8_t {
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,
  Power,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  In,
  NotIn,
};

struct Keyword {
  std::string name;
  ExprPtr value;
};

struct Expr {
  ExprKind kind = ExprKind::Const;
  int line = 0;
  int height = 1;  // levels of nodes below and including this one
  Value constant;
  NameId name = 0;
  std::string text;                  // attribute, filter or test name
  const Builtin* builtin = nullptr;  // the filter or test; null when there is none of that name
  std::vector<ExprPtr> items;        // operands; for calls, filters and tests the subject is first
  std::vector<Op> ops;
  std::vector<Keyword> keywords;
  ExprPtr star, star_star;  // *args and **kwargs of a call
};

enum class StmtKind : std::uint8_t {
  Data,
  Print,
  If,  // branches: tests in exprs, bodies in bodies; one body more than tests is the else
  For,
  Set,
  SetBlock,
  With,
  Macro,
  CallBlock,
  FilterBlock,
  Scope,  // generation, block: a scope of its own
  AutoEscape,
  Break,
  Continue,
  Unsupported,  // include, import, extends: an error when reached
};

struct MacroDef {
  std::string name;
  std::vector<NameId> params;
  std::vector<std::string> param_names;
  std::vector<ExprPtr> defaults;  // of the last params
  bool uses_caller = false, uses_kwargs = false, uses_varargs = false;
  bool explicit_caller = false;
  Body body;
};

struct Stmt {
  StmtKind kind = StmtKind::Data;
  int line = 0;
  Text data;
  std::string text;            // the tag, for messages
  std::vector<ExprPtr> exprs;  // see StmtKind; For: target, iterable, filter (may be null)
  std::vector<Body> bodies;    // For: body and else
  NameId name = 0;
  bool recursive = false, uses_loop = false, from_root = false;
  std::unique_ptr<MacroDef> macro;
};

struct Program {
  std::string name;  // of the template, for messages
  std::vector<std::string> names;
  Body body;
  NameId loop = 0, caller = 0, kwargs = 0, varargs = 0;
};

// Throws Error with the template's name and line.
std::unique_ptr<const Program> parse_template(std::string_view source, std::string name,
                                              const Limits& limits);

}  // namespace counterbeam::jinja
