// The search of Regex: an instruction loop with a backtracking stack. After a number of steps it
// records the states it has visited. A visited state can only fail again, so the work is bounded by
// program size times text length.
#include <algorithm>

#include "base/utf8.h"
#include "text/regex.h"

namespace counterbeam {
namespace {

constexpr std::size_t kAnywhere = static_cast<std::size_t>(-1);
constexpr std::uint64_t kFreeSteps = 400;         // steps of one match before states are recorded
constexpr std::uint64_t kMaxMemoBits = 1u << 31;  // 256 MiB
constexpr std::uint64_t kMaxSteps = 100'000'000, kMaxStepsPerByte = 2000;

}  // namespace

struct Regex::Scratch::State {
  // A backtracking point: resume at pc with the position `at`. A Run can give back any position of
  // [low, at].
  struct Way {
    std::uint32_t pc;
    std::uint32_t low, at;
  };
  std::vector<Way> ways;
  std::vector<std::uint64_t> tried;  // memo_rows x (text + 1) bits
  std::vector<std::uint64_t> log;    // the bits that are set, for clearing
  std::uint64_t steps = 0, steps_left = 0;
  std::size_t row = 0;
  bool noting = false;

  void begin_match() {
    forget(0);
    steps_left -= steps;
    steps = 0;
    noting = false;
  }

  void start_noting(std::size_t rows, std::size_t length) {
    row = length + 1;
    const std::uint64_t bits = std::uint64_t{rows} * row;
    if (bits > kMaxMemoBits) throw RegexProblem{"it is too large for a text of this length"};
    if (tried.size() < bits / 64 + 1) tried.resize(bits / 64 + 1);
    noting = true;
  }

  void forget(std::size_t since) {
    for (std::size_t i = since; i < log.size(); ++i)
      tried[log[i] / 64] &= ~(std::uint64_t{1} << (log[i] % 64));
    log.resize(since);
  }

  // Records the state. Returns true if it was recorded before.
  bool note(std::uint32_t memo, std::size_t at) {
    const std::uint64_t bit = std::uint64_t{memo} * row + at;
    std::uint64_t& word = tried[bit / 64];
    const std::uint64_t mask = std::uint64_t{1} << (bit % 64);
    if (word & mask) return true;
    word |= mask;
    log.push_back(bit);
    return false;
  }
};

Regex::Scratch::Scratch() : state_(std::make_unique<State>()) {}
Regex::Scratch::~Scratch() = default;
Regex::Scratch::Scratch(Scratch&&) noexcept = default;
Regex::Scratch& Regex::Scratch::operator=(Scratch&&) noexcept = default;

void Regex::find_all(std::string_view text, std::vector<TextSpan>& matches,
                     Scratch& scratch) const {
  scratch.state_->steps = 0;
  scratch.state_->steps_left = kMaxSteps + kMaxStepsPerByte * text.size();
  std::size_t from = 0, last_end = kAnywhere;
  TextSpan match;
  while (from <= text.size() && search(text, from, match, scratch)) {
    if (match.begin == match.end && match.end == last_end) {
      if (from == text.size()) break;
      unsigned length;
      char_at(text, from, length);
      from += length;
      continue;
    }
    matches.push_back(match);
    from = last_end = match.end;
  }
  scratch.state_->begin_match();
}

bool Regex::search(std::string_view text, std::size_t from, TextSpan& match,
                   Scratch& scratch) const {
  scratch.state_->begin_match();
  if (needs_memo_) scratch.state_->start_noting(memo_rows_, text.size());
  for (std::size_t start = from; start <= text.size();) {
    unsigned length = 1;
    if (start < text.size()) {
      const char32_t point = char_at(text, start, length);
      if (first_ && !(*first_)(point)) {
        start += length;
        continue;
      }
    } else if (first_) {
      return false;
    }
    std::size_t at = start;
    if (run(text, 0, at, kAnywhere, scratch)) {
      match = {static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(at)};
      return true;
    }
    start += length;
  }
  return false;
}

// Runs the program from pc to Accept, starting at `at`. On success `at` is the end of the match.
bool Regex::run(std::string_view text, std::uint32_t pc, std::size_t& at, std::size_t must_end,
                Scratch& scratch) const {
  using Op = Instruction::Op;
  Scratch::State& state = *scratch.state_;
  const std::size_t base = state.ways.size();
  std::size_t here = at;
  unsigned length;
  for (;;) {
    if (++state.steps > state.steps_left)
      throw RegexProblem{"it needs too many steps on this text"};
    if (state.steps >= kFreeSteps && !state.noting) state.start_noting(memo_rows_, text.size());
    const Instruction& now = program_[pc];
    bool goes_on = true;
    switch (now.op) {
      case Op::Set:
        goes_on = here < text.size() && sets_[now.set](char_at(text, here, length));
        if (goes_on) here += length, ++pc;
        break;
      case Op::Run:
      case Op::RunPossessive: {
        const bool keeps = now.op == Op::RunPossessive;
        const std::size_t low = here;
        goes_on = keeps || !state.noting || !state.note(now.memo, here);
        if (!goes_on) break;
        while (here < text.size() && sets_[now.set](char_at(text, here, length))) {
          // From a recorded position on, every length of the run has been tried.
          if (state.noting && !keeps && state.note(now.memo, here + length)) break;
          here += length;
        }
        state.steps += (here - low) / 16;
        if (!keeps && here > low)
          state.ways.push_back(
              {pc + 1, static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(here)});
        ++pc;
        break;
      }
      case Op::Split:
        goes_on = !state.noting || !state.note(now.memo, here);
        if (!goes_on) break;
        state.ways.push_back(
            {now.y, static_cast<std::uint32_t>(here), static_cast<std::uint32_t>(here)});
        pc = now.x;
        break;
      case Op::Jump:
        pc = now.x;
        break;
      case Op::Assert:
      case Op::Look:
        goes_on = now.op == Op::Assert ? holds(now, text, here)
                  : now.behind         ? look_behind(now, pc, text, here, scratch)
                                       : look_ahead(now, pc, text, here, scratch);
        pc = now.op == Op::Assert ? pc + 1 : now.x;
        break;
      case Op::Atomic: {
        const std::size_t mark = state.log.size();
        goes_on = run(text, pc + 1, here, kAnywhere, scratch);
        if (goes_on) state.forget(mark);
        pc = now.x;
        break;
      }
      case Op::Accept:
        goes_on = must_end == kAnywhere || here == must_end;
        if (!goes_on) break;
        state.ways.resize(base);
        at = here;
        return true;
    }
    if (goes_on) continue;
    if (state.ways.size() == base) return false;
    Scratch::State::Way& way = state.ways.back();
    pc = way.pc;
    if (way.at > way.low) {
      here = way.at = static_cast<std::uint32_t>(char_before(text, way.at));
      if (way.at == way.low) state.ways.pop_back();
    } else {
      here = way.at;
      state.ways.pop_back();
    }
  }
}

bool Regex::look_ahead(const Instruction& now, std::uint32_t pc, std::string_view text,
                       std::size_t at, Scratch& scratch) const {
  const std::size_t mark = scratch.state_->log.size();
  const bool found = run(text, pc + 1, at, kAnywhere, scratch);
  if (found) scratch.state_->forget(mark);  // states on a successful path may succeed again
  return found != now.negated;
}

bool Regex::look_behind(const Instruction& now, std::uint32_t pc, std::string_view text,
                        std::size_t at, Scratch& scratch) const {
  Scratch::State& state = *scratch.state_;
  std::size_t start = at;
  for (unsigned back = 0; back <= now.most; ++back) {
    if (back >= now.least) {
      std::size_t end = start;
      const std::size_t mark = state.log.size();
      const bool found = run(text, pc + 1, end, at, scratch);
      state.forget(mark);  // these failures hold for this end position only
      if (found) return !now.negated;
    }
    if (start == 0) break;
    start = char_before(text, start);
  }
  return now.negated;
}

bool Regex::holds(const Instruction& now, std::string_view text, std::size_t at) const {
  static const PointTest is_word(PointSet::lone_word());
  const auto word_at = [&](std::size_t place) {
    unsigned length;
    return place < text.size() && is_word(char_at(text, place, length));
  };
  switch (now.assertion) {
    case RegexNode::Kind::LineStart:
      return at == 0 || (text[at - 1] == '\n' && at < text.size());
    case RegexNode::Kind::LineEnd:
      return at == text.size() || text[at] == '\n';
    case RegexNode::Kind::TextStart:
      return at == 0;
    case RegexNode::Kind::TextEnd:
      return at == text.size();
    case RegexNode::Kind::TextEndOrNewline:
      return at == text.size() || (at + 1 == text.size() && text[at] == '\n');
    default: {
      const bool before = at > 0 && word_at(char_before(text, at));
      return (before != word_at(at)) == (now.assertion == RegexNode::Kind::WordBorder);
    }
  }
}

}  // namespace counterbeam
