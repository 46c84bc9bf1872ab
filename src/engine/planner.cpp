#include "engine/planner.h"

#include <algorithm>

#include "base/error.h"

namespace counterbeam {
namespace {

std::vector<WorkUnit*> open_units(const std::list<EngineCall*>& calls) {
  std::vector<WorkUnit*> units;
  for (EngineCall* call : calls) {
    for (EngineRequest& request : call->requests) {
      for (auto& unit : request.units) {
        CB_CHECK(unit->state != UnitState::InStep);
        if (unit->state != UnitState::Done && !call->error) units.push_back(unit.get());
      }
    }
  }
  std::sort(units.begin(), units.end(), [](WorkUnit* a, WorkUnit* b) { return a->rank < b->rank; });
  return units;
}

// A follower that trails can wait, and so can its memory.
bool at_work(const SequenceRecord& record) {
  return record.unit != nullptr && !record.unit->trails();
}

// The recurrent states that sequences ranked before a unit do not have yet: those of older
// searches, and those admitted so far. A search forks its beams before it extends them; if new
// units of younger searches took the states in between, they would lose them at once and compute
// their sequences again. Ask for units in the order of their ranks.
class StatesBefore {
 public:
  explicit StatesBefore(const EngineState& state) {
    if (!state.cache.shape().has_state()) return;
    for (const SequenceRecord* record : state.records) {
      const int states = record->cached.need(1).states;
      if (record->unit != nullptr && record->unit->holds_memory()) {
        states_ += states;
      } else if (states > 0) {
        missing_.emplace_back(record->birth, states);
      }
    }
    std::sort(missing_.begin(), missing_.end());
  }

  int of(const WorkUnit& unit) {
    while (next_ < missing_.size() && missing_[next_].first < unit.rank.birth) {
      states_ += missing_[next_++].second;
    }
    return states_;
  }
  void admitted(const WorkUnit& unit) {
    for (const Feed& feed : unit.feeds) states_ += feed.record->cached.need(1).states;
  }

 private:
  std::vector<std::pair<std::uint64_t, int>> missing_;  // birth and states, oldest first
  std::size_t next_ = 0;                                // the first that is not yet counted
  int states_ = 0;
};

// What feeding `tokens(feed)` tokens to every sequence of the unit takes.
template <typename Tokens>
CacheNeed need_of(const WorkUnit& unit, const Tokens& tokens) {
  CacheNeed need;
  for (const Feed& feed : unit.feeds) {
    const CacheNeed more = feed.record->cached.need(tokens(feed));
    need.pages += more.pages;
    need.states += more.states;
  }
  return need;
}

}  // namespace

StepPlan Planner::plan(std::list<EngineCall*>& calls, bool forced) {
  forced_ = forced;
  std::vector<WorkUnit*> units = open_units(calls);
  if (forced && !units.empty()) units.erase(units.begin() + 1, units.end());
  StatesBefore states(state_);
  for (WorkUnit* unit : units) {
    const bool waits = unit->state == UnitState::Waiting && !unit->trails();
    if (!waits || unit->call->error) continue;
    const CacheNeed left_free{headroom(units), states.of(*unit)};
    try_admit(*unit, units, unit == units.front() ? CacheNeed{} : left_free);
    if (unit->holds_memory()) states.admitted(*unit);
  }
  StepPlan plan;
  plan_draws(units, plan);
  plan_prefill(units, plan);
  if (!forced) plan_pieces(units, plan);
  plan.job_rows.insert(plan.job_rows.end(), plan.logits_rows.begin(), plan.logits_rows.end());
  plan.first_waits =
      !units.empty() && units.front()->state != UnitState::InStep && !units.front()->call->error;
  return plan;
}

void Planner::try_admit(WorkUnit& unit, const std::vector<WorkUnit*>& units, CacheNeed left_free) {
  for (Feed& feed : unit.feeds) {
    if (feed.behind() == 0 || feed.looked_for_prefix || feed.last_token_too) continue;
    if (!may_start(feed, unit, units)) return;
    feed.looked_for_prefix = true;
  }
  const int at_least = unit.draws() ? 1 : 0;
  const bool reserved = reserve(unit, left_free, [&] {
    return need_of(unit, [&](const Feed& feed) { return std::max(feed.behind(), at_least); });
  });
  if (reserved) unit.admit();
}

// The pages that units at work will need next, one each. New units leave them free.
int Planner::headroom(const std::vector<WorkUnit*>& units) const {
  return static_cast<int>(std::count_if(units.begin(), units.end(), [](const WorkUnit* unit) {
    return unit->holds_memory() && !unit->trails();
  }));
}

// Adopts the longest cached prefix of the feed's tokens. False: a higher-ranked unit is computing a
// longer shared prefix right now, so it is cheaper to wait for it.
bool Planner::may_start(Feed& feed, const WorkUnit& unit, const std::vector<WorkUnit*>& units) {
  SequenceRecord& record = *feed.record;
  const int limit = feed.adoptable();
  const int shared = state_.adopt_prefix(record, limit);
  const bool recurrent = state_.cache.shape().has_state();
  if (recurrent && shared > record.cached.length()) feed.snapshot_lengths.push_back(shared);
  for (WorkUnit* other : units) {
    if (!(other->rank < unit.rank)) break;
    if (!other->holds_memory()) continue;
    for (Feed& ahead : other->feeds) {
      const int common = common_prefix(record.tokens, ahead.record->tokens,
                                       std::min(limit, ahead.record->length() - 1));
      if (common <= std::max(record.cached.length(), ahead.record->cached.length())) continue;
      if (recurrent) ahead.snapshot_lengths.push_back(common);
      return false;
    }
  }
  return true;
}

// `need` is asked again after every eviction: pages that were shared may not be any more.
bool Planner::reserve(WorkUnit& unit, CacheNeed headroom, const std::function<CacheNeed()>& need) {
  for (;;) {
    const CacheNeed wanted = need();
    const CacheNeed with_headroom{wanted.pages + headroom.pages, wanted.states + headroom.states};
    if (with_headroom.within(state_.cache.free())) return true;
    if (make_room(unit)) continue;
    if (forced_) fail_out_of_memory(unit);
    return false;
  }
}

bool Planner::evictable(const SequenceRecord& record, const WorkUnit& asker) const {
  if (record.cached.length() == 0 || record.unit == &asker) return false;
  if (record.unit != nullptr && record.unit->state == UnitState::InStep) return false;
  if (at_work(record)) return asker.rank < record.unit->rank;
  return record.birth >= asker.rank.birth || forced_;
}

// Drops one cache. False: there is none that the asker may take.
bool Planner::make_room(const WorkUnit& asker) {
  if (state_.drop_oldest_kept()) return true;
  SequenceRecord* victim = nullptr;
  // The youngest search first. Within a search idle caches before those at work; of idle ones the
  // least recently used, of those at work the lowest-ranked.
  const auto before = [](const SequenceRecord& a, const SequenceRecord& b) {
    const bool a_works = at_work(a), b_works = at_work(b);
    if (a.birth != b.birth) return a.birth > b.birth;
    if (a_works != b_works) return b_works;
    return a_works ? b.unit->rank < a.unit->rank : a.last_used < b.last_used;
  };
  for (SequenceRecord* record : state_.records) {
    if (evictable(*record, asker) && (victim == nullptr || before(*record, *victim))) {
      victim = record;
    }
  }
  if (victim == nullptr) return forget_snapshots(asker);
  victim->cached.clear();
  if (victim->unit == nullptr) {
    ++counters_.evictions;
    return true;
  }
  ++counters_.preemptions;
  victim->unit->preempt();
  return true;
}

// The last resort: the snapshots that the unit itself keeps for others.
bool Planner::forget_snapshots(const WorkUnit& unit) {
  bool any = false;
  for (const Feed& feed : unit.feeds) {
    any |= !feed.record->cached.snapshots().empty();
    feed.record->cached.forget_snapshots();
  }
  return any;
}

void Planner::fail_out_of_memory(WorkUnit& unit) {
  std::int64_t tokens = 0;
  for (const Feed& feed : unit.feeds) tokens += feed.record->length();
  const CacheNeed size = state_.cache.size();
  unit.call->error = std::make_exception_ptr(Failed(
      fmt::format("{} sequence(s) of {} tokens together do not fit into the cache of {} pages "
                  "of {} tokens and {} recurrent states; give it more (--cache-memory)",
                  unit.feeds.size(), tokens, size.pages, kPageTokens, size.states)));
}

void Planner::plan_draws(const std::vector<WorkUnit*>& units, StepPlan& plan) {
  std::vector<WorkUnit*> ready;
  for (WorkUnit* unit : units) {
    const bool admitted = unit->state == UnitState::Admitted;
    if (admitted && unit->draws() && unit->caught_up() && !unit->call->error) {
      ready.push_back(unit);
    }
  }
  std::stable_sort(ready.begin(), ready.end(),
                   [](WorkUnit* a, WorkUnit* b) { return a->last_step < b->last_step; });
  for (WorkUnit* unit : ready) {
    const bool fits =
        plan.ids.size() + unit->feeds.size() <= static_cast<std::size_t>(options_.step_rows);
    // An earlier one of these may have preempted it.
    if (unit->state != UnitState::Admitted || !(fits || plan.empty())) continue;
    const bool reserved =
        reserve(*unit, {}, [&] { return need_of(*unit, [](const Feed&) { return 1; }); });
    if (reserved) add_draw(*unit, plan);
  }
}

void Planner::plan_prefill(const std::vector<WorkUnit*>& units, StepPlan& plan) {
  struct Share {
    EngineCall* call;
    int behind = 0;
    std::vector<WorkUnit*> units;
  };
  std::vector<Share> shares;
  for (WorkUnit* unit : units) {
    if (unit->state != UnitState::Admitted || unit->trails()) continue;
    if (unit->call->error || unit->caught_up()) continue;
    auto share = std::find_if(shares.begin(), shares.end(),
                              [&](const Share& s) { return s.call == unit->call; });
    if (share == shares.end()) share = shares.insert(shares.end(), {unit->call, 0, {}});
    for (const Feed& feed : unit->feeds) share->behind += feed.behind();
    share->units.push_back(unit);
  }
  int room = options_.step_rows - static_cast<int>(plan.ids.size());
  if (!plan.empty()) room = std::min(room, options_.rows_beside_draws);
  // The calls served least so far, as many as can get a page's worth of rows each. They share the
  // rows equally, and what one does not need goes to the others.
  std::stable_sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
    return a.call->served_rows < b.call->served_rows;
  });
  shares.resize(std::min(shares.size(), static_cast<std::size_t>(std::max(1, room / kPageTokens))));
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.behind < b.behind; });
  for (std::size_t i = 0; i < shares.size() && room > 0; ++i) {
    int granted = std::max(1, room / static_cast<int>(shares.size() - i));
    for (WorkUnit* unit : shares[i].units) {
      if (granted <= 0) break;
      if (unit->state != UnitState::Admitted) continue;  // preempted by an earlier one
      const int rows = advance(*unit, granted, plan);
      granted -= rows;
      room -= rows;
      shares[i].call->served_rows += rows;
    }
  }
}

// While a step has room for rows at no cost, followers that trail read in chunks: those furthest
// behind that have their context in memory and whose new pages nobody else needs.
void Planner::plan_pieces(const std::vector<WorkUnit*>& units, StepPlan& plan) {
  int room = std::min(options_.piece_rows, options_.step_rows) - static_cast<int>(plan.ids.size());
  if (plan.empty() || room <= 0) return;
  std::vector<WorkUnit*> behind;
  for (WorkUnit* unit : units) {
    const Feed& feed = unit->feeds[0];
    const bool ready = feed.behind() > 0 && feed.record->cached.length() + 1 >= feed.score_from;
    if (unit->trails() && ready && !unit->call->error) behind.push_back(unit);
  }
  std::stable_sort(behind.begin(), behind.end(), [](const WorkUnit* a, const WorkUnit* b) {
    return a->feeds[0].behind() > b->feeds[0].behind();
  });
  behind.resize(std::min(behind.size(), static_cast<std::size_t>((room + kPiece - 1) / kPiece)));
  for (WorkUnit* unit : behind) {
    CacheNeed need = unit->feeds[0].record->cached.need(std::min(room, unit->feeds[0].behind()));
    need.pages += headroom(units);
    if (room <= 0 || !need.within(state_.cache.free())) break;
    if (unit->state == UnitState::Waiting) unit->admit();
    room -= advance(*unit, room, plan);
  }
}

// Feeds the unit's sequences that are behind, at most `rows` rows in all. Returns how many. Stops
// short of the lengths at which a snapshot is due.
int Planner::advance(WorkUnit& unit, int rows, StepPlan& plan) {
  int fed = 0;
  for (std::size_t i = 0; i < unit.feeds.size() && fed < rows; ++i) {
    Feed& feed = unit.feeds[i];
    int count = std::min(feed.behind(), rows - fed);
    const int length = feed.record->cached.length();
    for (const int mark : feed.snapshot_lengths) {
      if (mark > length) count = std::min(count, mark - length);
    }
    if (count == 0) continue;
    if (!reserve(unit, {}, [&] { return feed.record->cached.need(count); })) break;
    add_rows(unit, i, count, plan);
    fed += count;
  }
  return fed;
}

void Planner::add_rows(WorkUnit& unit, std::size_t index, int rows, StepPlan& plan) {
  Feed& feed = unit.feeds[index];
  SequenceRecord& record = *feed.record;
  const int position = record.cached.length();
  const int first_row = static_cast<int>(plan.ids.size());
  record.cached.append(rows);
  plan.segments.push_back(
      {first_row, rows, position, record.cached.pages(), record.cached.state()});
  const auto from = record.tokens.begin() + position;
  plan.ids.insert(plan.ids.end(), from, from + rows);
  unit.call->computed_tokens += rows;
  if (unit.state != UnitState::InStep) {
    unit.enter_step();
    plan.units.push_back(&unit);
  }
  for (int i = 0; i < rows; ++i) {
    const int next = position + i + 1;  // the token this row predicts
    if (feed.last_token_too) {
      plan.logits_rows.push_back(first_row + i);
      plan.logits_targets.push_back({&unit, position + i});
    } else if (feed.scores != nullptr && next < record.length() &&
               next >= feed.score_from + static_cast<int>(feed.scores->size())) {
      plan.jobs.push_back({.row = static_cast<int>(plan.job_rows.size()),
                           .given = record.tokens[static_cast<std::size_t>(next)],
                           .vocab_limit = options_.vocab_limit,
                           .top = unit.leader == nullptr ? unit.request->top() : 0});
      plan.job_rows.push_back(first_row + i);
      plan.targets.push_back({StepPlan::Kind::Score, &unit, index});
    }
  }
}

void Planner::add_draw(WorkUnit& unit, StepPlan& plan) {
  const ExtendRequest& ask = *unit.request->ask;
  const int base_job = static_cast<int>(plan.jobs.size());
  const int base_row = static_cast<int>(plan.job_rows.size());
  for (std::size_t i = 0; i < unit.feeds.size(); ++i) {
    const int row = static_cast<int>(plan.ids.size());
    add_rows(unit, i, 1, plan);
    plan.jobs.push_back({.row = base_row + static_cast<int>(i)});
    if (i > 0) plan.jobs.back().follows = base_job;
    plan.job_rows.push_back(row);
    plan.targets.push_back({i == 0 ? StepPlan::Kind::Draw : StepPlan::Kind::Follow, &unit, i});
  }
  HeadJob& draw = plan.jobs[static_cast<std::size_t>(base_job)];
  draw.sampling = ask.sampling;
  draw.key = ask.key;
  draw.key.position += static_cast<std::uint32_t>(unit.request->extension.tokens.size());
  draw.vocab_limit = options_.vocab_limit;
  draw.top = ask.top;
  if (!ask.mix.empty()) {
    auto& mix = plan.mixes.emplace_back();
    for (std::size_t i = 0; i < ask.mix.size(); ++i) {
      mix.emplace_back(base_row + static_cast<int>(i), ask.mix[i]);
    }
    draw.mix = mix;
    draw.plausibility = ask.plausibility;
  }
}

}  // namespace counterbeam
