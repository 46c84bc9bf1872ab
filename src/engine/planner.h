// Decides what goes into the next step: which rows, and whose memory makes room for them. Draws
// come first, one row per sequence. The rest of the step is chunked prefill, shared among the calls
// that have tokens to feed, so that a long prompt neither starves other calls nor stalls those that
// draw. Followers that were split off are not needed before their leader has drawn its last token:
// until then they take only rows that cost nothing and memory that nobody else wants.
//
// Memory. A unit that needs pages takes free ones, then kept prefixes, then the caches of younger
// searches, then idle caches and lower-ranked units of its own search. Only when nothing else makes
// progress may the highest-ranked unit take idle caches of older searches too (a forced plan). So
// it always makes progress, or can never fit, which is an Error of that call alone.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <utility>
#include <vector>

#include "engine/engine_call.h"

namespace counterbeam {

struct PlannerOptions {
  int step_rows = 512;          // the most rows of a step
  int rows_beside_draws = 128;  // the most prefill rows of a step that also draws
  int piece_rows = 0;           // followers read in chunks while a step has at most this many rows
  int vocab_limit = 0;          // > 0: ids from here on are never drawn
};

struct EngineCounters {
  std::int64_t steps = 0;
  std::int64_t rows = 0;
  std::int64_t evictions = 0;    // idle caches dropped to free memory
  std::int64_t preemptions = 0;  // caches of sequences at work dropped to free memory
  std::int64_t non_finite = 0;   // requests that failed on NaN or infinity
};

// One pass through the model: its rows, and where the results go.
struct StepPlan {
  enum class Kind { Score, Draw, Follow };
  struct Target {  // where the result of a head job goes
    Kind kind;
    WorkUnit* unit;
    std::size_t feed;
  };
  struct LogitsTarget {
    WorkUnit* unit;
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
  std::vector<WorkUnit*> units;  // those with rows in this step
  bool first_waits = false;      // the highest-ranked unit found no memory
  bool empty() const { return ids.empty(); }
};

class Planner {
 public:
  Planner(EngineState& state, const PlannerOptions& options) : state_(state), options_(options) {}

  // Plans the next step and reserves its memory; units with rows are InStep afterwards. A forced
  // plan is for the highest-ranked unit alone, which then has rows in it or an error. REQUIRES
  // EngineState::mutex to be held.
  StepPlan plan(std::list<EngineCall*>& calls, bool forced);

  const EngineCounters& counters() const { return counters_; }
  EngineCounters& counters() { return counters_; }

 private:
  // About how many tokens a follower reads at a time. With fewer its recurrent state is moved too
  // often; with more, too many are left to read when the last token is drawn.
  static constexpr int kPiece = 8;

  void try_admit(WorkUnit& unit, const std::vector<WorkUnit*>& units, CacheNeed left_free);
  bool may_start(Feed& feed, const WorkUnit& unit, const std::vector<WorkUnit*>& units);
  int headroom(const std::vector<WorkUnit*>& units) const;
  bool reserve(WorkUnit& unit, CacheNeed headroom, const std::function<CacheNeed()>& need);
  bool make_room(const WorkUnit& asker);
  bool forget_snapshots(const WorkUnit& unit);
  bool evictable(const SequenceRecord& record, const WorkUnit& asker) const;
  void fail_out_of_memory(WorkUnit& unit);

  void plan_draws(const std::vector<WorkUnit*>& units, StepPlan& plan);
  void plan_prefill(const std::vector<WorkUnit*>& units, StepPlan& plan);
  void plan_pieces(const std::vector<WorkUnit*>& units, StepPlan& plan);
  int advance(WorkUnit& unit, int rows, StepPlan& plan);
  void add_rows(WorkUnit& unit, std::size_t feed, int rows, StepPlan& plan);
  void add_draw(WorkUnit& unit, StepPlan& plan);

  EngineState& state_;
  PlannerOptions options_;
  EngineCounters counters_;
  bool forced_ = false;
};

}  // namespace counterbeam
