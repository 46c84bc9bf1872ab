// Limits on the time and memory of one rendering. Every loop iteration, evaluated node and copied
// block of bytes counts as a step; every string, list and dict that a template builds is charged
// while it lives. Exceeding a limit is an error, so a hostile template costs at most a fraction of
// a second and some megabytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace counterbeam::jinja {

struct Limits {
  std::size_t template_bytes = std::size_t{2} << 20;
  std::uint64_t steps = 5'000'000;
  std::size_t memory_bytes = std::size_t{32} << 20;  // live values built by the template
  std::size_t output_bytes = std::size_t{16} << 20;  // one string, and the whole output
  int depth = 600;       // nesting of expressions, blocks and macro calls together
  int value_depth = 64;  // nesting of lists and dicts
  int parse_depth = 200;

  // The same limits, raised for a conversation of this many bytes.
  Limits widened(std::size_t input_bytes) const {
    Limits wide = *this;
    wide.steps += 16 * input_bytes;
    wide.memory_bytes += 16 * input_bytes;
    wide.output_bytes += 4 * input_bytes;
    return wide;
  }
};

// An error inside a template; the interpreter adds the template's name and the line.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}

  const Limits& limits() const { return limits_; }
  void step(std::uint64_t count = 1) {
    steps_ += count;
    if (steps_ > limits_.steps) fail_steps();
  }
  // Charges the work of copying or scanning bytes.
  void scan(std::size_t bytes) { step(1 + bytes / 64); }
  void take(std::size_t bytes) {
    used_ += bytes;
    if (used_ > limits_.memory_bytes) {
      used_ -= bytes;
      fail_memory();
    }
  }
  void give_back(std::size_t bytes) { used_ -= bytes; }
  // To be called before a string of this many bytes is built.
  void check_text(std::size_t bytes) const {
    if (bytes > limits_.output_bytes) fail_text(bytes);
  }
  // To be called before a list of this many items is built.
  void check_items(std::size_t count) const {
    if (count > limits_.memory_bytes / 16) fail_memory();
  }
  std::uint64_t steps() const { return steps_; }

 private:
  [[noreturn]] void fail_steps() const;
  [[noreturn]] void fail_memory() const;
  [[noreturn]] void fail_text(std::size_t bytes) const;

  const Limits limits_;
  std::uint64_t steps_ = 0;
  std::size_t used_ = 0;
};

}  // namespace counterbeam::jinja
