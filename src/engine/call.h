// A call on its way through the scheduler: requests, each worked off by units of lanes. A lane is
// one sequence that catches up with its tokens row by row; a unit is what must be in memory
// together; ranks say who may take memory from whom.
#pragma once

#include <algorithm>
#include <compare>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "engine/sequences.h"

namespace counterbeam {

struct Call;
struct Request;

// Older searches before younger, then in the order of asking. The first in rank may take memory
// from everyone, so it always gets on; nobody waits for somebody who waits for him.
struct Rank {
  std::uint64_t birth = 0;
  std::uint64_t call = 0;
  std::size_t request = 0;
  std::size_t unit = 0;
  auto operator<=>(const Rank&) const = default;
};

inline constexpr int kNothing = std::numeric_limits<int>::max();

struct Lane {
  SequenceRecord* record = nullptr;
  int score_from = kNothing;             // index of the first token whose log-probability is wanted
  std::vector<float>* scores = nullptr;  // where they go, in order
  bool feeds_last = false;               // the last token too goes through the model (logits)
  bool looked_for_prefix = false;
  std::vector<int> marks;  // lengths at which a recurrent state must be kept for others

  // How many tokens may be taken over from another cache: the rows that are scored must be fed.
  int adoptable() const {
    const int all = record->length() - 1;
    return scores == nullptr ? all
                             : std::min(all, score_from + static_cast<int>(scores->size()) - 1);
  }
  // Tokens that have to be fed before the lane has caught up.
  int behind() const { return record->length() - (feeds_last ? 0 : 1) - record->cached.length(); }
};

struct Unit {
  Call* call = nullptr;
  Request* request = nullptr;
  Rank rank;
  const Unit* leader = nullptr;  // of a follower by itself: the unit that draws its tokens
  std::vector<Lane> lanes;  // of a unit that draws: the sequence first, then lockstep followers
  bool draws = false;       // has tokens to draw once all lanes have caught up
  bool admitted = false;    // had memory to catch up
  bool planned = false;     // has rows in the step that is being planned
  bool done = false;
  std::uint64_t last_step = 0;

  // More tokens will come; until then it reads only where that costs nothing.
  bool trails() const { return leader != nullptr && leader->draws; }

  bool caught_up() const {
    for (const Lane& lane : lanes) {
      if (lane.behind() > 0) return false;
    }
    return true;
  }
};

enum class Work { Prompt, Extend, Score, Logits };

struct Request {
  Work work = Work::Prompt;
  const ExtendRequest* ask = nullptr;    // of an extension
  int max_tokens = 0;                    // of an extension, within the context
  std::span<const TokenId> given;        // of a scoring
  std::vector<SequenceRecord*> records;  // the sequence, then its followers
  Extension extension;
  std::vector<float> scores;
  std::vector<std::unique_ptr<Unit>> units;
};

using LogitsRow = std::function<void(int position, std::span<const float> logits)>;

struct Call {
  std::uint64_t number = 0;
  std::vector<Request> requests;
  const Cancellation* cancellation = nullptr;
  LogitsRow on_logits;               // of a logits call
  std::vector<int> lengths_before;   // of all records, in order, to go back to
  std::int64_t computed_tokens = 0;  // rows that went through the model
  std::int64_t served_rows = 0;      // for fairness: rows beyond draws, newcomers start level
  std::exception_ptr error;
  bool finished = false;
  std::condition_variable done;  // finished has become true

  template <typename Visit>
  void for_each_record(const Visit& visit) {
    for (Request& request : requests) {
      for (SequenceRecord* record : request.records) visit(*record);
    }
  }
};

}  // namespace counterbeam
