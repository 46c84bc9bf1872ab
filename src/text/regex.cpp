#include "text/regex.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace counterbeam {
namespace {

using Kind = RegexNode::Kind;

constexpr std::size_t kMaxProgram = 20000;

[[noreturn]] void refuse(const char* what) {
  throw RegexProblem{what};
}

// The least and most code points that a node matches; most is kNoLimit if unbounded.
struct Width {
  unsigned least, most;
};

unsigned add(unsigned a, unsigned b) {
  return a > RegexNode::kNoLimit - b ? RegexNode::kNoLimit : a + b;
}

unsigned times(unsigned a, unsigned b) {
  if (a == 0 || b == 0) return 0;
  return a > RegexNode::kNoLimit / b ? RegexNode::kNoLimit : a * b;
}

Width width(const RegexNode& node) {
  Width result{0, 0};
  switch (node.kind) {
    case Kind::Set:
      return {1, 1};
    case Kind::Concat:
      for (const RegexNode& child : node.children) {
        const Width own = width(child);
        result = {add(result.least, own.least), add(result.most, own.most)};
      }
      return result;
    case Kind::Either:
      result = width(node.children[0]);
      for (const RegexNode& child : node.children) {
        const Width own = width(child);
        result = {std::min(result.least, own.least), std::max(result.most, own.most)};
      }
      return result;
    case Kind::Repeat:
      result = width(node.children[0]);
      return {times(result.least, node.min), times(result.most, node.max)};
    case Kind::Atomic:
      return width(node.children[0]);
    default:
      return result;
  }
}

// Adds the code points that a match of `node` can start with. Returns false if it can be empty.
bool add_first(const RegexNode& node, PointSet& first) {
  switch (node.kind) {
    case Kind::Set:
      first.add(node.set);
      return true;
    case Kind::Concat:
      for (const RegexNode& child : node.children)
        if (add_first(child, first)) return true;
      return false;
    case Kind::Either: {
      bool always = true;
      for (const RegexNode& child : node.children) always = add_first(child, first) && always;
      return always;
    }
    case Kind::Repeat:
      return add_first(node.children[0], first) && node.min > 0;
    case Kind::Atomic:
      return add_first(node.children[0], first);
    default:
      return false;
  }
}

}  // namespace

Regex::Regex(std::string_view pattern) : Regex(parse_regex(pattern)) {}

Regex Regex::literal(std::string_view text) {
  RegexNode root;
  root.kind = Kind::Concat;
  for (std::size_t at = 0; at < text.size();) {
    unsigned length;
    const char32_t point = char_at(text, at, length);
    RegexNode child;
    child.kind = Kind::Set;
    child.set = PointSet{{point, point}};
    root.children.push_back(std::move(child));
    at += length;
  }
  return Regex(root);
}

Regex::Regex(const RegexNode& root) {
  compile(root);
  emit({.op = Instruction::Op::Accept});
  PointSet first;
  if (add_first(root, first)) first_.emplace(first);
}

std::uint32_t Regex::emit(Instruction instruction) {
  if (program_.size() >= kMaxProgram) refuse("it is too large");
  using Op = Instruction::Op;
  if (instruction.op == Op::Split || instruction.op == Op::Run) instruction.memo = memo_rows_++;
  program_.push_back(instruction);
  return static_cast<std::uint32_t>(program_.size() - 1);
}

std::uint32_t Regex::set_index(const PointSet& set) {
  for (std::size_t i = 0; i < set_values_.size(); ++i)
    if (set_values_[i].ranges() == set.ranges()) return static_cast<std::uint32_t>(i);
  set_values_.push_back(set);
  sets_.emplace_back(set);
  return static_cast<std::uint32_t>(sets_.size() - 1);
}

void Regex::compile(const RegexNode& node) {
  using Op = Instruction::Op;
  switch (node.kind) {
    case Kind::Empty:
      return;
    case Kind::Set:
      emit({.op = Op::Set, .set = set_index(node.set)});
      return;
    case Kind::Concat:
      for (const RegexNode& child : node.children) compile(child);
      return;
    case Kind::Either: {
      std::vector<std::uint32_t> jumps;
      for (std::size_t i = 0; i + 1 < node.children.size(); ++i) {
        const std::uint32_t split = emit({.op = Op::Split});
        program_[split].x = split + 1;
        compile(node.children[i]);
        jumps.push_back(emit({.op = Op::Jump}));
        program_[split].y = static_cast<std::uint32_t>(program_.size());
      }
      compile(node.children.back());
      for (const std::uint32_t jump : jumps)
        program_[jump].x = static_cast<std::uint32_t>(program_.size());
      return;
    }
    case Kind::Repeat:
      return compile_repeat(node);
    case Kind::Atomic:
    case Kind::Look:
      return compile_look(node);
    default:
      emit({.op = Op::Assert, .assertion = node.kind});
  }
}

void Regex::compile_repeat(const RegexNode& node) {
  using Op = Instruction::Op;
  const RegexNode& child = node.children[0];
  const bool possessive = node.greed == RegexNode::Greed::Possessive;
  const bool lazy = node.greed == RegexNode::Greed::Lazy;
  const bool single = child.kind == Kind::Set;
  if (possessive && !(single && node.max == RegexNode::kNoLimit)) {
    RegexNode inner = node, atomic;
    inner.greed = RegexNode::Greed::Greedy;
    atomic.kind = Kind::Atomic;
    atomic.children.push_back(std::move(inner));
    return compile(atomic);
  }
  for (unsigned i = 0; i < node.min; ++i) compile(child);
  const auto aim = [&](std::uint32_t split, std::uint32_t body, std::uint32_t exit) {
    program_[split].x = lazy ? exit : body;
    program_[split].y = lazy ? body : exit;
  };
  if (node.max != RegexNode::kNoLimit) {
    std::vector<std::uint32_t> splits;
    for (unsigned i = node.min; i < node.max; ++i) {
      splits.push_back(emit({.op = Op::Split}));
      compile(child);
    }
    const auto exit = static_cast<std::uint32_t>(program_.size());
    for (const std::uint32_t split : splits) aim(split, split + 1, exit);
    return;
  }
  if (single && !lazy) {
    emit({.op = possessive ? Op::RunPossessive : Op::Run, .set = set_index(child.set)});
    return;
  }
  if (width(child).least == 0) needs_memo_ = true;
  const std::uint32_t split = emit({.op = Op::Split});
  compile(child);
  emit({.op = Op::Jump, .x = split});
  aim(split, split + 1, static_cast<std::uint32_t>(program_.size()));
}

void Regex::compile_look(const RegexNode& node) {
  using Op = Instruction::Op;
  Instruction head{.op = node.kind == Kind::Atomic ? Op::Atomic : Op::Look};
  head.behind = node.behind, head.negated = node.negated;
  if (node.behind) {
    const Width size = width(node.children[0]);
    head.least = size.least, head.most = size.most;
  }
  const std::uint32_t at = emit(head);
  compile(node.children[0]);
  emit({.op = Op::Accept});
  program_[at].x = static_cast<std::uint32_t>(program_.size());
}

}  // namespace counterbeam
