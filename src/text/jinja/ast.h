// A parsed template. Names are interned, so that a lookup compares integers; nodes carry their line
// number. Built by the parser, immutable afterwards, and shared by concurrent renderings.
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
  Compare,  // items: left operand, then one per op
  And,
  Or,
  Not,
  Negate,
  Plus,
  Binary,
  Conditional,  // items: condition, then, else (may be null)
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
  int height = 1;  // height of the tree below and including this node
  Value constant;
  NameId name = 0;
  std::string text;                  // attribute, filter or test name
  const Builtin* builtin = nullptr;  // the filter or test; null if the name is unknown
  std::vector<ExprPtr> items;        // operands; for calls, filters and tests the subject is first
  std::vector<Op> ops;
  std::vector<Keyword> keywords;
  ExprPtr star, star_star;  // *args and **kwargs of a call
};

enum class StmtKind : std::uint8_t {
  Data,
  Print,
  If,  // conditions in exprs, their bodies in bodies; an extra body is the else
  For,
  Set,
  SetBlock,
  With,
  Macro,
  CallBlock,
  FilterBlock,
  Scope,  // generation, block: opens a scope
  AutoEscape,
  Break,
  Continue,
  Unsupported,  // include, import, extends: an error if executed
};

struct MacroDef {
  std::string name;
  std::vector<NameId> params;
  std::vector<std::string> param_names;
  std::vector<ExprPtr> defaults;  // of the trailing params
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

// Throws an Error that names the template and the line.
std::unique_ptr<const Program> parse_template(std::string_view source, std::string name,
                                              const Limits& limits);

}  // namespace counterbeam::jinja
