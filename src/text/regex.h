// Regular expressions for pre-tokenizers, with the semantics of a backtracking engine (first
// alternative wins, atomic groups, look-around). Failed states are memoized, so the time stays near
// linear. Compile once; search on many threads, each with its own Scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/regex_parse.h"

namespace counterbeam {

struct TextSpan {
  std::uint32_t begin, end;  // bytes
  bool operator==(const TextSpan&) const = default;
};

class Regex {
 public:
  // Throws RegexProblem. REQUIRES: valid UTF-8
  explicit Regex(std::string_view pattern);
  static Regex literal(std::string_view text);

  class Scratch;

  // Finds all matches from left to right; an empty match directly after another is skipped. Throws
  // RegexProblem if the search needs too many steps.
  // REQUIRES: text is valid UTF-8 and below 2^31 bytes
  void find_all(std::string_view text, std::vector<TextSpan>& matches, Scratch& scratch) const;

 private:
  struct Instruction {
    enum class Op : std::uint8_t {
      Set,
      Run,            // any number of code points of the set, greedy
      RunPossessive,  // the same without backtracking
      Split,          // continue at x; if that fails, at y
      Jump,
      Assert,
      Look,    // runs the program from pc + 1 to its Accept, then continues at x
      Atomic,  // the same
      Accept,
    };
    Op op;
    RegexNode::Kind assertion{};
    bool behind = false, negated = false;
    std::uint32_t x = 0, y = 0;
    std::uint32_t set = 0;
    std::uint32_t least = 0, most = 0;  // for look-behind: code points to step back
    std::uint32_t memo = 0;             // row in the table of visited states
  };

  explicit Regex(const RegexNode& root);
  void compile(const RegexNode& node);
  void compile_repeat(const RegexNode& node);
  void compile_look(const RegexNode& node);
  std::uint32_t emit(Instruction instruction);
  std::uint32_t set_index(const PointSet& set);
  bool search(std::string_view text, std::size_t from, TextSpan& match, Scratch& scratch) const;
  bool run(std::string_view text, std::uint32_t pc, std::size_t& at, std::size_t must_end,
           Scratch& scratch) const;
  bool holds(const Instruction& instruction, std::string_view text, std::size_t at) const;
  bool look_ahead(const Instruction& instruction, std::uint32_t pc, std::string_view text,
                  std::size_t at, Scratch& scratch) const;
  bool look_behind(const Instruction& instruction, std::uint32_t pc, std::string_view text,
                   std::size_t at, Scratch& scratch) const;

  std::vector<Instruction> program_;
  std::vector<PointSet> set_values_;
  std::vector<PointTest> sets_;
  std::optional<PointTest> first_;  // what a match can start with; empty if a match can be empty
  std::uint32_t memo_rows_ = 0;
  bool needs_memo_ = false;  // a loop whose body can match nothing terminates only with the table
};

// Buffers that are reused by consecutive searches.
class Regex::Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(Scratch&&) noexcept;
  Scratch& operator=(Scratch&&) noexcept;

 private:
  friend class Regex;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace counterbeam
