// One thread that merges everything the clients ask for into one batch per step: plan, run, hand
// out the results. Clients block in run() until their call is done.
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
    std::size_t kept_prefixes = 16;  // prompts whose cache outlives them
    std::size_t lockstep_rows = 0;   // followers ride along in steps of up to so many
  };

  Scheduler(Sequences& sequences, const Options& options);
  ~Scheduler();  // calls in flight end with a Cancelled error

  // Blocks until every request of the call is done; throws its error. REQUIRES requests with work
  // and records filled in. An Error where a record already takes part in a call.
  void run(Call& call);

  EngineCounters counters() const;
  std::int64_t tokens_drawn() const { return tokens_drawn_; }  // takes no lock

 private:
  using Clock = std::chrono::steady_clock;

  void enqueue(Call& call);
  void claim_records(Call& call);
  void begin_new_calls();
  std::unique_ptr<Unit> first_unit(Call& call, std::size_t request);

  void loop();
  void step(std::unique_lock<std::mutex>& lock);
  void fail_everything(std::exception_ptr error);
  bool patience_is_over() const;
  std::vector<HeadResult> compute(StepPlan& plan);
  void hand_out_logits(const StepPlan& plan, Matrix x);

  void apply(const StepPlan& plan, std::span<const HeadResult> results);
  void apply_draw(Unit& unit, const HeadResult& result);
  void set_followers_apart(Request& request);
  void end_cancelled_calls();
  void end_settled_calls();
  bool settled(Call& call);
  void end(Call& call);

  Sequences& sequences_;
  Options options_;
  Planner planner_;
  std::atomic<std::int64_t> tokens_drawn_ = 0;
  std::list<Call*> calls_;  // in flight
  bool arrived_ = false;    // some have not begun
  std::uint64_t next_call_ = 1;
  std::optional<Clock::time_point> waiting_since_;  // the first in rank has found no memory
  bool moved_ = false;                              // the last plan had rows
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace counterbeam
