// The expression tree of an answer. Trees are immutable and shared. A node records what was
// written; values are computed by normal_form.h and evaluate.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "grade/number.h"

namespace counterbeam::grade {

enum class Kind {
  Number,     // number; name: its decimal literal, if it was written as one
  Symbol,     // name; "pi", "e", "i", "infty" are constants
  Add,        // args
  Mul,        // args
  Pow,        // base, exponent
  Call,       // name: a function; args
  PlusMinus,  // one arg; name "pm" or "mp"
  Percent,    // one arg
  Degree,     // one arg
  Quantity,   // one arg; name: the words of its unit
  Based,      // number: its value; name: "digits_base"
  Ratio,      // args, as in 1:2:3
  List,       // args; name: "," or "or" or "and"
  Tuple,      // args; name: its two delimiters, "()" "[)" ...
  Set,        // args
  Union,      // args
  Intersection,
  Difference,  // two args
  Reals,
  Matrix,    // rows * columns args
  Relation,  // args a0..an; name: n operators of "<lgn>=~e" (< <= >= != > = approx in)
};

struct Node;
using Tree = std::shared_ptr<const Node>;

struct Node {
  Kind kind;
  Rational number;
  std::string name;
  std::vector<Tree> args;
  int rows = 0;
};

Tree make(Kind kind, std::vector<Tree> args, std::string name = "");
Tree make_number(const Rational& value, std::string literal = "");
Tree make_symbol(std::string name);
Tree make_matrix(std::vector<Tree> entries, int rows);
Tree negated(const Tree& tree);
Tree difference(const Tree& a, const Tree& b);
Tree quotient(const Tree& a, const Tree& b);

bool is_number(const Tree& tree, long value);

// A text that does not depend on the order of terms, factors and set members.
std::string canonical(const Tree& tree);

bool contains(const Tree& tree, Kind kind);
bool mentions(const Tree& tree, const std::string& symbol);
std::size_t size_of(const Tree& tree);

// The free symbols, sorted, without constants.
std::vector<std::string> free_symbols(const Tree& tree);

bool is_constant_name(const std::string& name);

}  // namespace counterbeam::grade
