// Decides what goes into the next step: which rows, and whose memory makes room for them. Draws go
// first, one row per sequence; the rest of the step is shared among the calls that have tokens to
// catch up with, so that a long prompt neither starves others nor stalls those who draw. Followers
// that read by themselves have all the time until their sequence is drawn: before that they take
// rows that cost nothing, and memory that nobody wants.
//
// Memory. Whoever needs pages takes free ones, then kept prefixes, then the caches of younger
// searches, then idle caches and later units of its own search. Only when nothing else moves may
// the first in rank take idle caches of older searches too (a forced plan). So the first in rank
// always gets on or can never fit, which is an Error of that call alone.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <utility>
#include <vector>

#include "engine/call.h"

namespace counterbeam {

struct PlannerOptions {
  int step_rows = 512;          // at most, in one step
  int rows_beside_draws = 128;  // of those that catch up, while others draw
  int piece_rows = 0;           // followers read along in pieces in steps of up to so many
  int vocab_limit = 0;          // > 0: ids from here on are never drawn
};

struct EngineCounters {
  std::int64_t steps = 0;
  std::int64_t rows = 0;
  std::int64_t evictions = 0;    // idle caches dropped for want of memory
  std::int64_t preemptions = 0;  // caches of sequences at work dropped for want of memory
  std::int64_t non_finite = 0;   // requests that failed on NaN or infinity
};

// One pass through the model.
struct StepPlan {
  enum class Kind { Score, Draw, Follow };
  struct Target {  // where the result of a head job goes
    Kind kind;
    Unit* unit;
    std::size_t lane;
  };
  struct LogitsTarget {
    Unit* unit;
    int position;
  };

  std::vector<TokenId> ids;
  std::vector<Segment> segments;
  std::vector<int> job_rows;  // rows with a head job, then those whose logits are wanted
  std::vector<HeadJob> jobs;
  std::vector<Target> targets;  // [jobs]
  std::deque<std::vector<std::pair<int, float>>> mixes;
  std::vector<int> logits_rows;
  std::vector<LogitsTarget> logits_targets;
  std::vector<Unit*> units;  // that have rows in this step
  bool first_waits = false;  // the first in rank found no memory
  bool empty() const { return ids.empty(); }
};

class Planner {
 public:
  Planner(Sequences& sequences, const PlannerOptions& options)
      : sequences_(sequences), options_(options) {}

  // REQUIRES the lock of the sequences. A forced plan is for the first in rank alone, which then
  // has rows in it or an error.
  StepPlan plan(std::list<Call*>& calls, bool forced);

  const EngineCounters& counters() const { return counters_; }
  EngineCounters& counters() { return counters_; }

 private:
  // Tokens that a follower reads at a time, about: fewer move its state too often, of more too many
  // are left when all is drawn.
  static constexpr int kPiece = 8;

  void admit(Unit& unit, const std::vector<Unit*>& units);
  bool may_start(Lane& lane, const Unit& unit, const std::vector<Unit*>& units);
  int headroom(const std::vector<Unit*>& units) const;
  bool take(Unit& unit, CacheNeed headroom, const std::function<CacheNeed()>& need);
  bool make_room(const Unit& asker);
  bool forget_snapshots(const Unit& unit);
  bool evictable(const SequenceRecord& record, const Unit& asker) const;
  void fail_for_want_of_memory(Unit& unit);

  void plan_draws(const std::vector<Unit*>& units, StepPlan& plan);
  void plan_catching_up(const std::vector<Unit*>& units, StepPlan& plan);
  void plan_pieces(const std::vector<Unit*>& units, StepPlan& plan);
  int advance(Unit& unit, int rows, StepPlan& plan);
  void add_rows(Unit& unit, std::size_t lane, int rows, StepPlan& plan);
  void add_draw(Unit& unit, StepPlan& plan);

  Sequences& sequences_;
  PlannerOptions options_;
  EngineCounters counters_;
  bool forced_ = false;
};

}  // namespace counterbeam
