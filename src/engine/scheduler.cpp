#include "engine/scheduler.h"

#include <algorithm>

#include "base/error.h"

namespace counterbeam {
namespace {

// How long the first in rank waits for memory that idle sequences of older searches hold: short
// while nothing else moves, longer while others get on.
constexpr std::chrono::milliseconds kPatienceAlone{20}, kPatienceAmongOthers{1000};

constexpr int kLogitsRows = 16;  // full logits are made this many rows at a time

}  // namespace

Scheduler::Scheduler(Sequences& sequences, const Options& options)
    : sequences_(sequences), options_(options), planner_(sequences, options.planner) {
  thread_ = std::thread([this] { loop(); });
}

Scheduler::~Scheduler() {
  {
    const std::lock_guard lock(sequences_.mutex);
    stopping_ = true;
  }
  sequences_.changed.notify_one();
  thread_.join();
}

EngineCounters Scheduler::counters() const {
  const std::lock_guard lock(sequences_.mutex);
  return planner_.counters();
}

void Scheduler::run(Call& call) {
  std::unique_lock lock(sequences_.mutex);
  enqueue(call);
  sequences_.changed.notify_one();
  call.done.wait(lock, [&] { return call.finished; });
  if (call.error) std::rethrow_exception(call.error);
}

void Scheduler::enqueue(Call& call) {
  claim_records(call);
  call.number = next_call_++;
  for (const Call* other : calls_) {
    call.served_rows = other == calls_.front() ? other->served_rows
                                               : std::min(call.served_rows, other->served_rows);
  }
  calls_.push_back(&call);
  arrived_ = true;
}

// Followers ride along where the rows of a step, those of other calls included, are few; those of
// earlier calls too stop doing so when they are not any more.
void Scheduler::begin_new_calls() {
  if (!arrived_) return;
  arrived_ = false;
  std::size_t rows = 0;
  for (Call* call : calls_) {
    for (std::size_t r = 0; r < call->requests.size(); ++r) {
      Request& request = call->requests[r];
      if (request.units.empty()) request.units.push_back(first_unit(*call, r));
      for (const auto& unit : request.units) rows += unit->draws ? unit->lanes.size() : 0;
    }
  }
  if (rows <= options_.lockstep_rows) return;
  for (Call* call : calls_) {
    for (Request& request : call->requests) {
      if (request.units.front()->draws && request.ask->mix.empty()) set_followers_apart(request);
    }
  }
}

void Scheduler::claim_records(Call& call) {
  std::vector<SequenceRecord*> claimed;
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

std::unique_ptr<Unit> Scheduler::first_unit(Call& call, std::size_t index) {
  Request& request = call.requests[index];
  auto unit = std::make_unique<Unit>();
  unit->call = &call;
  unit->request = &request;
  unit->rank = {request.records[0]->birth, call.number, index, 0};
  unit->draws = request.work == Work::Extend;
  request.extension.follower_logprobs.resize(request.records.size() - 1);
  for (SequenceRecord* record : request.records) {
    Lane lane;
    lane.record = record;
    lane.record->unit = unit.get();
    lane.feeds_last = request.work == Work::Logits;
    if (request.work == Work::Score) {
      lane.score_from = lane.record->length();
      lane.scores = &request.scores;
      lane.record->tokens.insert(lane.record->tokens.end(), request.given.begin(),
                                 request.given.end());
    }
    unit->lanes.push_back(std::move(lane));
  }
  return unit;
}

// Each follower reads what is drawn by itself from now on, in pieces or at the end.
void Scheduler::set_followers_apart(Request& request) {
  Unit& leader = *request.units.front();
  for (std::size_t i = 1; i < leader.lanes.size(); ++i) {
    auto follower = std::make_unique<Unit>();
    follower->call = leader.call;
    follower->request = &request;
    follower->leader = &leader;
    follower->rank = leader.rank;
    follower->rank.unit = i;
    Lane lane;
    lane.record = request.records[i];
    lane.record->unit = follower.get();
    lane.scores = &request.extension.follower_logprobs[i - 1];
    lane.score_from = lane.record->length() - static_cast<int>(lane.scores->size());
    follower->lanes.push_back(std::move(lane));
    request.units.push_back(std::move(follower));
  }
  leader.lanes.resize(1);
}

void Scheduler::loop() {
  std::unique_lock lock(sequences_.mutex);
  for (;;) {
    sequences_.changed.wait(lock, [&] { return stopping_ || !calls_.empty(); });
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
  moved_ = !plan.empty();
  if (!plan.first_waits) waiting_since_.reset();
  if (plan.first_waits && !waiting_since_) waiting_since_ = Clock::now();
  if (plan.empty()) {
    if (plan.first_waits) sequences_.changed.wait_for(lock, kPatienceAlone / 4);
    return;
  }
  lock.unlock();
  const std::vector<HeadResult> results = compute(plan);
  lock.lock();
  apply(plan, results);
}

// Out of memory between steps: nobody knows how far the plan got, so every cache at work goes.
void Scheduler::fail_everything(std::exception_ptr error) {
  for (Call* call : calls_) {
    call->error = error;
    call->for_each_record([](SequenceRecord& record) { record.cached.clear(); });
  }
}

bool Scheduler::patience_is_over() const {
  const auto patience = moved_ ? kPatienceAmongOthers : kPatienceAlone;
  return waiting_since_ && Clock::now() - *waiting_since_ >= patience;
}

// Without the lock: the sequences of the plan are busy, so nobody else touches them.
std::vector<HeadResult> Scheduler::compute(StepPlan& plan) {
  try {
    Ops& ops = *sequences_.ops;
    const Batch batch{plan.ids, plan.segments};
    const Matrix x = sequences_.model->forward(ops, batch, sequences_.cache, plan.job_rows);
    hand_out_logits(plan, x);
    if (plan.jobs.empty()) {
      ops.wait();
      return {};
    }
    Matrix for_jobs = x;
    for_jobs.rows = x.rows - static_cast<int>(plan.logits_rows.size());
    return ops.head(for_jobs, sequences_.model->head(), plan.jobs);
  } catch (...) {
    for (Unit* unit : plan.units) unit->call->error = std::current_exception();
    return {};
  }
}

void Scheduler::hand_out_logits(const StepPlan& plan, Matrix x) {
  Ops& ops = *sequences_.ops;
  const int vocab = sequences_.model->config().vocab;
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
               part, sequences_.model->head());
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
    Unit& unit = *plan.targets[i].unit;
    if (unit.call->error) continue;
    if (!results[i].finite) {
      ++counters.non_finite;
      unit.call->error = std::make_exception_ptr(Failed(
          fmt::format("the model's logits after token {} are not finite (NaN or infinity): its "
                      "weights hold such values, or overflow at this precision; try --dtype f32",
                      unit.lanes[plan.targets[i].lane].record->cached.length())));
      continue;
    }
    switch (plan.targets[i].kind) {
      case StepPlan::Kind::Score:
        unit.lanes[plan.targets[i].lane].scores->push_back(results[i].logprob);
        break;
      case StepPlan::Kind::Draw:
        apply_draw(unit, results[i]);
        break;
      case StepPlan::Kind::Follow:
        unit.request->extension.follower_logprobs[plan.targets[i].lane - 1].push_back(
            results[i].logprob);
        break;
    }
  }
  for (Unit* unit : plan.units) {
    unit->last_step = static_cast<std::uint64_t>(counters.steps);
    for (Lane& lane : unit->lanes) {
      CachedSequence& cached = lane.record->cached;
      if (unit->call->error) cached.clear();
      if (std::count(lane.marks.begin(), lane.marks.end(), cached.length()) > 0) cached.snapshot();
    }
  }
}

void Scheduler::apply_draw(Unit& unit, const HeadResult& result) {
  Request& request = *unit.request;
  Extension& extension = request.extension;
  ++tokens_drawn_;
  extension.tokens.push_back(result.token);
  extension.logprobs.push_back(result.logprob);
  extension.drawn_logprobs.push_back(result.drawn_logprob);
  for (SequenceRecord* record : request.records) record->tokens.push_back(result.token);
  const std::vector<TokenId>& stop = request.ask->stop;
  extension.stopped = std::find(stop.begin(), stop.end(), result.token) != stop.end();
  unit.draws = !extension.stopped && static_cast<int>(extension.tokens.size()) < request.max_tokens;
  extension.full =
      !extension.stopped && !unit.draws && request.max_tokens < request.ask->max_tokens;
}

void Scheduler::end_cancelled_calls() {
  for (Call* call : calls_) {
    if (stopping_) call->error = std::make_exception_ptr(Cancelled("the engine is shutting down"));
    if (!call->error && call->cancellation != nullptr && call->cancellation->cancelled()) {
      call->error = std::make_exception_ptr(Cancelled("cancelled"));
    }
  }
}

void Scheduler::end_settled_calls() {
  calls_.remove_if([&](Call* call) {
    if (!settled(*call)) return false;
    end(*call);
    return true;
  });
}

bool Scheduler::settled(Call& call) {
  bool all = true;
  for (Request& request : call.requests) {
    for (auto& unit : request.units) {
      if (!unit->done && !unit->draws && !unit->trails() && unit->caught_up()) {
        unit->done = true;
        for (Lane& lane : unit->lanes) {
          lane.record->unit = nullptr;
          lane.record->last_used = ++sequences_.clock;
        }
      }
      all &= unit->done;
    }
  }
  return all || call.error;
}

void Scheduler::end(Call& call) {
  std::size_t index = 0;
  const bool is_open = !call.requests.empty() && call.requests[0].work == Work::Prompt;
  call.for_each_record([&](SequenceRecord& record) {
    const int before = call.lengths_before[index++];
    if (call.error) {
      record.tokens.resize(static_cast<std::size_t>(before));
      record.cached.truncate(record.cached.longest_within(before - 1));
    } else if (is_open && record.cached.length() == record.length() - 1) {
      sequences_.keep(record, options_.kept_prefixes);
    }
    record.cached.forget_snapshots();
    record.unit = nullptr;
    record.busy = false;
    record.last_used = ++sequences_.clock;
  });
  call.finished = true;
  call.done.notify_one();
}

}  // namespace counterbeam
