// Counts nested evaluations and enforces the limit, so that a template cannot overflow the stack.
#pragma once

#include <fmt/format.h>

#include "text/jinja/interpreter.h"

namespace counterbeam::jinja {

class Interpreter::Depth {
 public:
  explicit Depth(Interpreter& in) : in_(in) {
    if (++in_.depth_ > in_.budget_.limits().depth) {
      --in_.depth_;
      throw Fault(
          fmt::format("maximum recursion depth of {} exceeded", in_.budget_.limits().depth));
    }
  }
  ~Depth() { --in_.depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  Interpreter& in_;
};

}  // namespace counterbeam::jinja
