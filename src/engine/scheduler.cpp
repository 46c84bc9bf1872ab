#include "engine/scheduler.h"

#include <algorithm>

#include "base/error.h"
#include "base/start_thread.h"

namespace counterbeam {
namespace {

// How long the highest-ranked unit waits for memory before it takes that of idle sequences of older
// searches: a short while when no other unit makes progress, longer when others do.
constexpr std::chrono::milliseconds kPatienceAlone{20}, kPatienceAmongOthers{1000};

constexpr int kLogitsRows = 16;  // full logits are made this many rows at a time

// What `fail` throws, or what keeps it from throwing that: when memory is short, even an error may
// not be made.
template <typename Fail>
std::exception_ptr error_of(const Fail& fail) {
  try {
    fail();
  } catch (...) {
    return std::current_exception();
  }
  CB_CHECK(false);
}

}  // namespace

Scheduler::Scheduler(EngineState& state, const Options& options)
    : state_(state), options_(options), planner_(state, options.planner) {
  thread_ = start_thread([this] { loop(); });
}

Scheduler::~Scheduler() {
  {
    const std::lock_guard lock(state_.mutex);
    stopping_ = true;
  }
  state_.changed.notify_one();
  thread_.join();
}

EngineCounters Scheduler::counters() const {
  const std::lock_guard lock(state_.mutex);
  return planner_.counters();
}

void Scheduler::run(EngineCall& call) {
  std::unique_lock lock(state_.mutex);
  enqueue(call);
  state_.changed.notify_one();
  call.done.wait(lock, [&] { return call.finished; });
  if (call.error) std::rethrow_exception(call.error);
}

void Scheduler::enqueue(EngineCall& call) {
  std::list<EngineCall*> place{&call};  // allocated before anything is claimed
  claim_records(call);
  call.number = next_call_++;
  for (const EngineCall* other : calls_) {
    call.served_rows = other == calls_.front() ? other->served_rows
                                               : std::min(call.served_rows, other->served_rows);
  }
  calls_.splice(calls_.end(), place);
  has_new_calls_ = true;
}

// Followers run in lockstep while the rows of a step, those of other calls included, are few. When
// a new call makes them many, the followers of earlier calls are split off too.
void Scheduler::begin_new_calls() {
  if (!has_new_calls_) return;
  has_new_calls_ = false;
  // What fails here, for want of memory, is the call in question alone.
  const auto for_each_call = [&](const auto& action) {
    for (EngineCall* call : calls_) {
      try {
        if (!call->error) action(*call);
      } catch (...) {
        call->error = std::current_exception();
      }
    }
  };
  std::size_t rows = 0;
  for_each_call([&](EngineCall& call) {
    for (std::size_t r = 0; r < call.requests.size(); ++r) {
      EngineRequest& request = call.requests[r];
      if (request.units.empty()) request.units.push_back(first_unit(call, r));
      for (const auto& unit : request.units) rows += unit->draws() ? unit->feeds.size() : 0;
    }
  });
  if (rows <= options_.lockstep_rows) return;
  for_each_call([&](EngineCall& call) {
    for (EngineRequest& request : call.requests) {
      if (request.has_tokens_to_draw() && request.ask->mix.empty()) split_off_followers(request);
    }
  });
}

void Scheduler::claim_records(EngineCall& call) {
  std::size_t count = 0;
  call.for_each_record([&](SequenceRecord&) { ++count; });
  std::vector<SequenceRecord*> claimed;
  claimed.reserve(count);
  call.lengths_before.reserve(count);
  call.for_each_record([&](SequenceRecord& record) {
    if (record.busy) {
      for (SequenceRecord* earlier : claimed) earlier->busy = false;
      bad_input("a sequence takes part in two requests at the same time; fork it first");
    }
    record.busy = true;
    claimed.push_back(&record);
    call.lengths_before.push_back(record.length());
  });
}

std::unique_ptr<WorkUnit> Scheduler::first_unit(EngineCall& call, std::size_t index) {
  EngineRequest& request = call.requests[index];
  auto unit = std::make_unique<WorkUnit>();
  unit->call = &call;
  unit->request = &request;
  unit->rank = {request.records[0]->birth, call.number, index, 0};
  request.extension.follower_logprobs.resize(request.records.size() - 1);
  for (SequenceRecord* record : request.records) {
    Feed feed;
    feed.record = record;
    feed.record->unit = unit.get();
    feed.last_token_too = request.kind == RequestKind::Logits;
    if (request.kind == RequestKind::Score) {
      feed.score_from = feed.record->length();
      feed.scores = &request.scores;
      feed.record->tokens.insert(feed.record->tokens.end(), request.given.begin(),
                                 request.given.end());
    }
    unit->feeds.push_back(std::move(feed));
  }
  return unit;
}

// From now on each follower is a unit of its own that reads the drawn tokens in chunks, or all at
// once when the last one is drawn.
void Scheduler::split_off_followers(EngineRequest& request) {
  WorkUnit& leader = *request.units.front();
  for (std::size_t i = 1; i < leader.feeds.size(); ++i) {
    auto follower = std::make_unique<WorkUnit>();
    follower->call = leader.call;
    follower->request = &request;
    follower->leader = &leader;
    follower->rank = leader.rank;
    follower->rank.unit = i;
    Feed feed;
    feed.record = request.records[i];
    feed.record->unit = follower.get();
    feed.scores = &request.extension.follower_logprobs[i - 1];
    feed.score_from = feed.record->length() - static_cast<int>(feed.scores->size());
    follower->feeds.push_back(std::move(feed));
    request.units.push_back(std::move(follower));
  }
  leader.feeds.resize(1);
}

// Only step() may throw here. What ends a call allocates nothing, so that every call ends.
void Scheduler::loop() {
  std::unique_lock lock(state_.mutex);
  for (;;) {
    state_.changed.wait(lock, [&] { return stopping_ || !calls_.empty(); });
    begin_new_calls();
    end_cancelled_calls();
    end_settled_calls();
    if (stopping_) return;
    if (calls_.empty()) continue;
    try {
      step(lock);
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      fail_everything(std::current_exception());
    }
  }
}

void Scheduler::step(std::unique_lock<std::mutex>& lock) {
  StepPlan plan = planner_.plan(calls_, patience_is_over());
  made_progress_ = !plan.empty();
  if (!plan.first_waits) waiting_since_.reset();
  if (plan.first_waits && !waiting_since_) waiting_since_ = Clock::now();
  if (plan.empty()) {
    if (plan.first_waits) state_.changed.wait_for(lock, kPatienceAlone / 4);
    return;
  }
  lock.unlock();
  const std::vector<HeadResult> results = compute(plan);
  lock.lock();
  apply(plan, results);
}

// The step itself failed, as when the host is out of memory. How far the plan got is unknown, so
// the caches of all calls in flight are dropped.
void Scheduler::fail_everything(std::exception_ptr error) {
  for (EngineCall* call : calls_) {
    call->error = error;
    call->for_each_record([](SequenceRecord& record) { record.cached.clear(); });
  }
}

bool Scheduler::patience_is_over() const {
  const auto patience = made_progress_ ? kPatienceAmongOthers : kPatienceAlone;
  return waiting_since_ && Clock::now() - *waiting_since_ >= patience;
}

// Runs without the lock: the sequences of the plan are busy, so no other thread touches them.
std::vector<HeadResult> Scheduler::compute(StepPlan& plan) {
  try {
    Ops& ops = *state_.ops;
    const Batch batch{plan.ids, plan.segments};
    const Matrix x = state_.model->forward(ops, batch, state_.cache, plan.job_rows);
    hand_out_logits(plan, x);
    if (plan.jobs.empty()) {
      ops.wait();
      return {};
    }
    Matrix for_jobs = x;
    for_jobs.rows = x.rows - static_cast<int>(plan.logits_rows.size());
    return ops.head(for_jobs, state_.model->head(), plan.jobs);
  } catch (...) {
    state_.ops->abandon();
    for (WorkUnit* unit : plan.units) unit->call->error = std::current_exception();
    return {};
  }
}

void Scheduler::hand_out_logits(const StepPlan& plan, Matrix x) {
  Ops& ops = *state_.ops;
  const int vocab = state_.model->config().vocab;
  const int total = static_cast<int>(plan.logits_rows.size()), before = x.rows - total;
  std::vector<float> logits(static_cast<std::size_t>(std::min(total, kLogitsRows)) *
                            static_cast<std::size_t>(vocab));
  for (int first = 0; first < total; first += kLogitsRows) {
    Matrix part = x;
    part.rows = std::min(kLogitsRows, total - first);
    part.data = static_cast<std::byte*>(x.data) +
                std::ptrdiff_t{before + first} * x.stride * ops.costs().activation_bytes;
    ops.logits(std::span(logits).first(static_cast<std::size_t>(part.rows) *
                                       static_cast<std::size_t>(vocab)),
               part, state_.model->head());
    for (int i = 0; i < part.rows; ++i) {
      const StepPlan::LogitsTarget& target =
          plan.logits_targets[static_cast<std::size_t>(first + i)];
      target.unit->call->on_logits(
          target.position,
          std::span(logits).subspan(static_cast<std::size_t>(i) * static_cast<std::size_t>(vocab),
                                    static_cast<std::size_t>(vocab)));
    }
  }
}

void Scheduler::apply(const StepPlan& plan, std::span<const HeadResult> results) {
  EngineCounters& counters = planner_.counters();
  ++counters.steps;
  counters.rows += static_cast<std::int64_t>(plan.ids.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    WorkUnit& unit = *plan.targets[i].unit;
    if (unit.call->error) continue;
    if (!results[i].finite) {
      ++counters.non_finite;
      unit.call->error = error_of([&] {
        failed("the model's logits after token {} are not finite (NaN or infinity): {}",
               unit.feeds[plan.targets[i].feed].record->cached.length(),
               state_.non_finite_weight.empty()
                   ? "they overflow at this precision; try --dtype f32"
                   : fmt::format("so are weights ({}); download the checkpoint again",
                                 state_.non_finite_weight));
      });
      continue;
    }
    switch (plan.targets[i].kind) {
      case StepPlan::Kind::Score:
        unit.feeds[plan.targets[i].feed].scores->push_back(results[i].logprob);
        if (unit.leader == nullptr && unit.request->top() > 0)
          unit.request->scoring->top_tokens->push_back(results[i].top);
        break;
      case StepPlan::Kind::Draw:
        apply_draw(unit, results[i]);
        break;
      case StepPlan::Kind::Follow:
        unit.request->extension.follower_logprobs[plan.targets[i].feed - 1].push_back(
            results[i].logprob);
        break;
    }
  }
  for (WorkUnit* unit : plan.units) {
    unit->leave_step();
    unit->last_step = static_cast<std::uint64_t>(counters.steps);
    for (Feed& feed : unit->feeds) {
      CachedSequence& cached = feed.record->cached;
      if (unit->call->error) cached.clear();
      if (std::count(feed.snapshot_lengths.begin(), feed.snapshot_lengths.end(), cached.length()) >
          0)
        cached.snapshot();
    }
  }
}

void Scheduler::apply_draw(WorkUnit& unit, const HeadResult& result) {
  EngineRequest& request = *unit.request;
  Extension& extension = request.extension;
  ++tokens_drawn_;
  extension.tokens.push_back(result.token);
  extension.logprobs.push_back(result.logprob);
  extension.drawn_logprobs.push_back(result.drawn_logprob);
  if (request.ask->top > 0) extension.top.push_back(result.top);
  if (request.ask->on_token)
    request.ask->on_token(
        {result.token, result.logprob, request.ask->top > 0 ? &result.top : nullptr});
  for (SequenceRecord* record : request.records) record->tokens.push_back(result.token);
  const std::vector<TokenId>& stop = request.ask->stop;
  extension.stopped = std::find(stop.begin(), stop.end(), result.token) != stop.end();
  extension.full = !extension.stopped && !request.has_tokens_to_draw() &&
                   request.max_tokens < request.ask->max_tokens;
}

void Scheduler::end_cancelled_calls() {
  for (EngineCall* call : calls_) {
    if (stopping_) call->error = error_of([] { throw Cancelled("the engine is shutting down"); });
    if (!call->error && call->cancellation != nullptr && call->cancellation->cancelled()) {
      call->error = error_of([] { throw Cancelled("cancelled"); });
    }
  }
}

void Scheduler::end_settled_calls() {
  calls_.remove_if([&](EngineCall* call) {
    if (!settled(*call)) return false;
    end(*call);
    return true;
  });
}

bool Scheduler::settled(EngineCall& call) {
  if (call.error) return true;
  bool all = true;
  for (EngineRequest& request : call.requests) {
    for (auto& unit : request.units) {
      const bool open = unit->state != UnitState::Done;
      if (open && !unit->draws() && !unit->trails() && unit->caught_up()) {
        unit->finish();
        for (Feed& feed : unit->feeds) {
          feed.record->unit = nullptr;
          feed.record->last_used = ++state_.clock;
        }
      }
      all &= unit->state == UnitState::Done;
    }
  }
  return all;
}

void Scheduler::end(EngineCall& call) {
  std::size_t index = 0;
  for (const EngineRequest& request : call.requests) {
    const bool is_prompt = request.kind == RequestKind::Prompt ||
                           (request.scoring != nullptr && request.scoring->keep);
    for (SequenceRecord* record : request.records) {
      const int before = call.lengths_before[index++];
      if (call.error) {
        record->tokens.resize(static_cast<std::size_t>(before));
        record->cached.truncate(record->cached.longest_within(before - 1));
      } else if (is_prompt && record->cached.length() == record->length() - 1) {
        state_.keep(*record, options_.kept_prefixes);
      }
      record->cached.forget_snapshots();
      record->unit = nullptr;
      record->busy = false;
      record->last_used = ++state_.clock;
    }
  }
  call.finished = true;
  call.done.notify_one();
}

}  // namespace counterbeam
