// Functions that a template can call by name: filters, tests, globals and methods. A signature is a
// string of parameter names such as "old new ?count *rest **named": "?" marks an optional
// parameter, "_" a positional-only one, and "*rest" and "**named" take the remaining arguments.
// Arguments are bound to parameters before the call.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace counterbeam::jinja {

class Interpreter;
struct Builtin;

struct Args {
  std::vector<Value> positional;
  // Names are Text because those passed by ** may come from the conversation and stay untrusted.
  std::vector<std::pair<Text, Value>> named;
};

struct Call {
  Interpreter& in;
  const Heap& heap;
  Budget& budget;
  const Builtin& builtin;
  Value self;               // of a method
  std::vector<Value> args;  // one per parameter; Missing if not given
  std::vector<Value> rest;
  std::vector<std::pair<Text, Value>> named;

  const Value& operator[](std::size_t i) const { return args[i]; }
  bool has(std::size_t i) const { return !args[i].missing(); }
  // Each throws a Fault that names the function if the argument has another type.
  std::int64_t integer(std::size_t i, std::int64_t otherwise = 0) const;
  bool flag(std::size_t i, bool otherwise = false) const;
  const Text& text(std::size_t i) const;
  // str() of the argument.
  Text string(std::size_t i) const;
  [[noreturn]] void fail(std::string_view message) const;
};

using Run = Value (*)(Call&);

struct Builtin {
  std::string_view name;
  Run run = nullptr;
  std::string_view signature;
};

struct FunctionObject : Object {
  const Builtin* builtin = nullptr;
  Value self;
};

using BuiltinTable = std::unordered_map<std::string_view, Builtin>;

// Null if there is none of that name.
const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
const Builtin* find_global(std::string_view name);
// Methods of str, list, tuple, dict, int, float and so on; null if the type has no such method.
const Builtin* find_method(const Value& self, std::string_view name);

// The parts of the tables, one per file.
BuiltinTable make_table(std::initializer_list<std::vector<Builtin>> parts);
std::vector<Builtin> text_filters();
std::vector<Builtin> markup_filters();
std::vector<Builtin> sequence_filters();
std::vector<Builtin> selection_filters();
std::vector<Builtin> value_filters();
std::vector<Builtin> str_methods();
std::vector<Builtin> str_class_methods();
std::vector<Builtin> str_format_methods();

Value call_builtin(Interpreter& in, const Builtin& builtin, Value self, Args args);

}  // namespace counterbeam::jinja
