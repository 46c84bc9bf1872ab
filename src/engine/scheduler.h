// One thread that batches the work of all clients: it plans a step, runs it and hands out the
// results. Clients block in run() until their call is done.
#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <optional>
#include <thread>

#include "engine/planner.h"

namespace counterbeam {

class Scheduler {
 public:
  struct Options {
    PlannerOptions planner;
    std::size_t kept_prefixes = 16;  // prompts whose cache outlives their sequences
    std::size_t lockstep_rows = 0;   // followers run in lockstep while a step has at most this many
  };

  Scheduler(EngineState& state, const Options& options);
  ~Scheduler();  // calls in flight end with a Cancelled error

  // Blocks until every request of the call is done, and throws its error if it failed. Throws an
  // Error if a record already takes part in a call. REQUIRES the kind and the records of every
  // request to be filled in.
  void run(EngineCall& call);

  EngineCounters counters() const;
  std::int64_t tokens_drawn() const { return tokens_drawn_; }  // takes no lock

 private:
  using Clock = std::chrono::steady_clock;

  void enqueue(EngineCall& call);
  void claim_records(EngineCall& call);
  void begin_new_calls();
  std::unique_ptr<WorkUnit> first_unit(EngineCall& call, std::size_t request);

  void loop();
  void step(std::unique_lock<std::mutex>& lock);
  void fail_everything(std::exception_ptr error);
  bool patience_is_over() const;
  std::vector<HeadResult> compute(StepPlan& plan);
  void hand_out_logits(const StepPlan& plan, Matrix x);

  void apply(const StepPlan& plan, std::span<const HeadResult> results);
  void apply_draw(WorkUnit& unit, const HeadResult& result);
  void split_off_followers(EngineRequest& request);
  void end_cancelled_calls();
  void end_settled_calls();
  bool settled(EngineCall& call);
  void end(EngineCall& call);

  EngineState& state_;
  Options options_;
  Planner planner_;
  std::atomic<std::int64_t> tokens_drawn_ = 0;
  std::list<EngineCall*> calls_;  // in flight
  bool has_new_calls_ = false;    // some of them have no units yet
  std::uint64_t next_call_ = 1;
  std::optional<Clock::time_point> waiting_since_;  // the highest-ranked unit has found no memory
  bool made_progress_ = false;                      // the last plan had rows
  bool stopping_ = false;
  std::jthread thread_;
};

}  // namespace counterbeam
