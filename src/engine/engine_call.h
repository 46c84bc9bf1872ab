// A call on its way through the scheduler. A call has requests; a request is worked off by one or
// more units; a unit feeds one or more sequences to the model and is admitted, preempted and
// finished as a whole. Ranks order the units: a unit may preempt those that rank after it.
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

#include "engine/engine_state.h"

namespace counterbeam {

struct EngineCall;
struct EngineRequest;

// Older searches rank before younger ones, then calls in the order of their arrival. The
// highest-ranked unit may preempt any other, so it always makes progress and no wait cycle can
// form.
struct UnitRank {
  std::uint64_t birth = 0;
  std::uint64_t call = 0;
  std::size_t request = 0;
  std::size_t unit = 0;
  auto operator<=>(const UnitRank&) const = default;
};

// One sequence of a unit. Its tokens are known; it is fed to the model until its cache has caught
// up with them.
struct Feed {
  static constexpr int kNoScores = std::numeric_limits<int>::max();

  SequenceRecord* record = nullptr;
  int score_from = kNoScores;            // index of the first token whose log-probability is wanted
  std::vector<float>* scores = nullptr;  // where they go, in order
  bool last_token_too = false;           // feed the last token as well: its logits are wanted
  bool looked_for_prefix = false;        // adopt_prefix() has been tried since the last preemption
  // Lengths at which to take a snapshot of the recurrent state, so that others can share the
  // prefix.
  std::vector<int> snapshot_lengths;

  // The most tokens that may be adopted from another cache: scored rows must be fed.
  int adoptable() const {
    const int all = record->length() - 1;
    return scores == nullptr ? all
                             : std::min(all, score_from + static_cast<int>(scores->size()) - 1);
  }
  // Tokens still to be fed.
  int behind() const {
    return record->length() - (last_token_too ? 0 : 1) - record->cached.length();
  }
};

// Where a unit stands. Waiting -> Admitted -> InStep -> Admitted ... -> Done. Preemption leads back
// to Waiting, never out of a step. A unit with nothing to feed goes from Waiting to Done.
enum class UnitState {
  Waiting,   // has no memory yet, or was preempted
  Admitted,  // had memory for what it must feed
  InStep,    // has rows in the step that is being planned or run
  Done,      // final
};

struct WorkUnit {
  EngineCall* call = nullptr;
  EngineRequest* request = nullptr;
  UnitRank rank;
  // Empty for the unit that draws the tokens of an extension, and for all other kinds of request.
  // Otherwise this unit is a follower split off from that leader.
  const WorkUnit* leader = nullptr;
  std::vector<Feed> feeds;  // of a leader: the sequence, then the followers in lockstep with it
  UnitState state = UnitState::Waiting;
  std::uint64_t last_step = 0;  // the last step it had rows in; the longest wait draws first

  // Has tokens to draw as soon as all its feeds have caught up.
  bool draws() const;
  // A follower whose leader still draws: more tokens will come, so until then it is fed only where
  // that is free, and its memory is the first to be taken.
  bool trails() const;
  bool holds_memory() const { return state == UnitState::Admitted || state == UnitState::InStep; }
  bool caught_up() const {
    return std::all_of(feeds.begin(), feeds.end(),
                       [](const Feed& feed) { return feed.behind() <= 0; });
  }

  // The transitions. Each stops the program when made from another state than it allows.
  void admit();       // Waiting -> Admitted
  void enter_step();  // Admitted -> InStep
  void leave_step();  // InStep -> Admitted
  void preempt();     // Waiting or Admitted -> Waiting
  void finish();      // Waiting or Admitted -> Done
};

enum class RequestKind { Prompt, Extend, Score, Logits };

struct EngineRequest {
  RequestKind kind = RequestKind::Prompt;
  const ExtendRequest* ask = nullptr;    // of an extension
  int max_tokens = 0;                    // of an extension, limited by max_length
  std::span<const TokenId> given;        // of a scoring
  std::vector<SequenceRecord*> records;  // the sequence, then its followers
  Extension extension;
  std::vector<float> scores;
  const ScoreRequest* scoring = nullptr;  // of a scoring
  std::vector<std::unique_ptr<WorkUnit>> units;

  // Likeliest tokens wanted per token that is drawn or scored.
  int top() const { return ask != nullptr ? ask->top : scoring != nullptr ? scoring->top : 0; }

  bool has_tokens_to_draw() const {
    return kind == RequestKind::Extend && !extension.stopped &&
           static_cast<int>(extension.tokens.size()) < max_tokens;
  }
};

struct EngineCall {
  std::uint64_t number = 0;
  std::vector<EngineRequest> requests;
  const Cancellation* cancellation = nullptr;
  LogitsRow on_logits;               // of a logits call
  std::vector<int> lengths_before;   // of all records, in order: a failed call restores them
  std::int64_t computed_tokens = 0;  // rows that went through the model
  // Prefill rows so far, for fairness. A new call starts level with the one that had fewest.
  std::int64_t served_rows = 0;
  std::exception_ptr error;
  bool finished = false;
  std::condition_variable done;  // finished has become true

  template <typename Visit>
  void for_each_record(const Visit& visit) {
    for (EngineRequest& request : requests) {
      for (SequenceRecord* record : request.records) visit(*record);
    }
  }
};

}  // namespace counterbeam
