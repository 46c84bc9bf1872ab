// Enough of Python's grammar to find code in prose: logical lines (brackets and strings may span
// lines), their names, and whether they can be Python. It is not a parser: code that it accepts may
// still be invalid, which the sandbox will report.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace counterbeam {

struct LogicalLine {
  std::size_t first = 0, last = 0;  // physical lines, both included
  int indent = 0;
  bool plausible = true;                // could be Python
  std::string keyword;                  // its first word
  std::vector<std::string> names;       // identifiers in order, keywords left out
  std::vector<std::string> bases;       // those outside brackets and not after a dot
  std::vector<std::string> parameters;  // of the function that the line defines
  std::size_t targets = 0;              // how many of the bases come before the last =
  bool opens_block = false;             // ends with a colon
  bool returns = false;                 // contains return or yield
  bool assigns = false;                 // has = or := or += outside brackets
  bool in_string = false;               // ends inside a triple-quoted string
};

std::vector<std::string> split_lines(std::string_view text);  // CRLF and CR too

// Blank lines and comments are not logical lines.
std::vector<LogicalLine> logical_lines(const std::vector<std::string>& lines);

// A top-level statement with its body, decorators, else and except.
struct Statement {
  enum class Kind { Import, Definition, Assignment, Other };
  Kind kind = Kind::Other;
  std::string text;
  std::vector<std::string> defines;
  std::set<std::string> uses;
  std::set<std::string> changes;  // what lines that are no definition may bind or change, or call
  bool in_place = false;          // an assignment that needs the value before: x.y = z, x = f(x)
  bool aside = false;             // comes from another block than the function
  bool returns = true;            // false for a function that neither returns nor yields a value
};

std::vector<Statement> statements(const std::vector<std::string>& lines);

}  // namespace counterbeam
