// Counts the parser's recursion depth and enforces the limit.
#pragma once

#include <fmt/format.h>

#include "text/jinja/parser.h"

namespace counterbeam::jinja {

class Parser::Nesting {
 public:
  explicit Nesting(Parser& parser) : parser_(parser) {
    if (++parser_.depth_ > parser_.limits_.parse_depth)
      parser_.fail(fmt::format("nested deeper than {} levels", parser_.limits_.parse_depth));
  }
  ~Nesting() { --parser_.depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  Parser& parser_;
};

}  // namespace counterbeam::jinja
