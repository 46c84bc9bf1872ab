#include "engine/planner.h"

#include <algorithm>

#include "base/error.h"

namespace counterbeam {
namespace {

std::vector<Unit*> open_units(const std::list<Call*>& calls) {
  std::vector<Unit*> units;
  for (Call* call : calls) {
    for (Request& request : call->requests) {
      for (auto& unit : request.units) {
        unit->planned = false;
        if (!unit->done && !call->error) units.push_back(unit.get());
      }
    }
  }
  std::sort(units.begin(), units.end(), [](Unit* a, Unit* b) { return a->rank < b->rank; });
  return units;
}

// A follower whose tokens are still being drawn can wait, and so can its memory.
bool works(const SequenceRecord& record) {
  return record.unit != nullptr && !record.unit->trails();
}

}  // namespace

StepPlan Planner::plan(std::list<Call*>& calls, bool forced) {
  forced_ = forced;
  std::vector<Unit*> units = open_units(calls);
  if (forced && !units.empty()) units.erase(units.begin() + 1, units.end());
  for (Unit* unit : units) {
    if (!unit->admitted && !unit->trails() && !unit->call->error) admit(*unit, units);
  }
  StepPlan plan;
  plan_draws(units, plan);
  plan_catching_up(units, plan);
  if (!forced) plan_pieces(units, plan);
  plan.job_rows.insert(plan.job_rows.end(), plan.logits_rows.begin(), plan.logits_rows.end());
  plan.first_waits = !units.empty() && !units.front()->planned && !units.front()->call->error;
  return plan;
}

void Planner::admit(Unit& unit, const std::vector<Unit*>& units) {
  const bool first = &unit == units.front();
  for (Lane& lane : unit.lanes) {
    if (lane.behind() == 0 || lane.looked_for_prefix || lane.feeds_last) continue;
    if (!may_start(lane, unit, units)) return;
    lane.looked_for_prefix = true;
  }
  unit.admitted = take(unit, {first ? 0 : headroom(units), 0}, [&] {
    CacheNeed need;
    for (const Lane& lane : unit.lanes) {
      const CacheNeed more = lane.record->cached.need(std::max(lane.behind(), unit.draws ? 1 : 0));
      need.pages += more.pages;
      need.states += more.states;
    }
    return need;
  });
}

// Pages that those who are at work will ask for next.
int Planner::headroom(const std::vector<Unit*>& units) const {
  return static_cast<int>(std::count_if(units.begin(), units.end(), [](const Unit* unit) {
    return unit->admitted && !unit->trails();
  }));
}

// Takes up what is cached of the lane's tokens. False: an older unit is computing a longer prefix
// of them right now, so waiting is cheaper.
bool Planner::may_start(Lane& lane, const Unit& unit, const std::vector<Unit*>& units) {
  SequenceRecord& record = *lane.record;
  const int limit = lane.adoptable();
  const int shared = sequences_.adopt_prefix(record, limit);
  const bool recurrent = sequences_.cache.shape().has_state();
  if (recurrent && shared > record.cached.length()) lane.marks.push_back(shared);
  for (Unit* other : units) {
    if (!(other->rank < unit.rank)) break;
    if (!other->admitted) continue;
    for (Lane& ahead : other->lanes) {
      const int common = common_prefix(record.tokens, ahead.record->tokens,
                                       std::min(limit, ahead.record->length() - 1));
      if (common <= std::max(record.cached.length(), ahead.record->cached.length())) continue;
      if (recurrent) ahead.marks.push_back(common);
      return false;
    }
  }
  return true;
}

bool Planner::take(Unit& unit, CacheNeed headroom, const std::function<CacheNeed()>& need) {
  for (;;) {
    const CacheNeed wanted = need();
    const CacheNeed with_headroom{wanted.pages + headroom.pages, wanted.states + headroom.states};
    if (with_headroom.within(sequences_.cache.free())) return true;
    if (make_room(unit)) continue;
    if (forced_) fail_for_want_of_memory(unit);
    return false;
  }
}

bool Planner::evictable(const SequenceRecord& record, const Unit& asker) const {
  if (record.cached.length() == 0 || record.unit == &asker) return false;
  if (record.unit != nullptr && record.unit->planned) return false;
  if (works(record)) return asker.rank < record.unit->rank;
  return record.birth >= asker.rank.birth || forced_;
}

// Drops one cache; false where there is none that may go.
bool Planner::make_room(const Unit& asker) {
  if (sequences_.drop_oldest_kept()) return true;
  SequenceRecord* victim = nullptr;
  // The youngest search first; of one search what is idle before what is at work, then what was
  // used longest ago, then what is last in rank.
  const auto before = [](const SequenceRecord& a, const SequenceRecord& b) {
    const bool a_works = works(a), b_works = works(b);
    if (a.birth != b.birth) return a.birth > b.birth;
    if (a_works != b_works) return b_works;
    return a_works ? b.unit->rank < a.unit->rank : a.last_used < b.last_used;
  };
  for (SequenceRecord* record : sequences_.records) {
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
  victim->unit->admitted = false;
  for (Lane& lane : victim->unit->lanes) lane.looked_for_prefix = false;
  return true;
}

// The last resort: states that were kept for others.
bool Planner::forget_snapshots(const Unit& unit) {
  bool any = false;
  for (const Lane& lane : unit.lanes) {
    any |= !lane.record->cached.snapshots().empty();
    lane.record->cached.forget_snapshots();
  }
  return any;
}

void Planner::fail_for_want_of_memory(Unit& unit) {
  std::int64_t tokens = 0;
  for (const Lane& lane : unit.lanes) tokens += lane.record->length();
  const CacheNeed size = sequences_.cache.size();
  unit.call->error = std::make_exception_ptr(Failed(
      fmt::format("{} sequence(s) of {} tokens together do not fit into the cache of {} pages "
                  "of {} tokens and {} recurrent states; give it more (--cache-memory)",
                  unit.lanes.size(), tokens, size.pages, kPageTokens, size.states)));
}

void Planner::plan_draws(const std::vector<Unit*>& units, StepPlan& plan) {
  std::vector<Unit*> ready;
  for (Unit* unit : units) {
    if (unit->admitted && unit->draws && unit->caught_up() && !unit->call->error) {
      ready.push_back(unit);
    }
  }
  std::stable_sort(ready.begin(), ready.end(),
                   [](Unit* a, Unit* b) { return a->last_step < b->last_step; });
  for (Unit* unit : ready) {
    const bool fits =
        plan.ids.size() + unit->lanes.size() <= static_cast<std::size_t>(options_.step_rows);
    if (!unit->admitted || !(fits || plan.empty())) continue;
    const bool taken = take(*unit, {}, [&] {
      CacheNeed need;
      for (const Lane& lane : unit->lanes) {
        const CacheNeed more = lane.record->cached.need(1);
        need.pages += more.pages;
        need.states += more.states;
      }
      return need;
    });
    if (taken) add_draw(*unit, plan);
  }
}

void Planner::plan_catching_up(const std::vector<Unit*>& units, StepPlan& plan) {
  struct Share {
    Call* call;
    int behind = 0;
    std::vector<Unit*> units;
  };
  std::vector<Share> shares;
  for (Unit* unit : units) {
    if (!unit->admitted || unit->planned || unit->trails()) continue;
    if (unit->call->error || unit->caught_up()) continue;
    auto share = std::find_if(shares.begin(), shares.end(),
                              [&](const Share& s) { return s.call == unit->call; });
    if (share == shares.end()) share = shares.insert(shares.end(), {unit->call, 0, {}});
    for (const Lane& lane : unit->lanes) share->behind += lane.behind();
    share->units.push_back(unit);
  }
  int room = options_.step_rows - static_cast<int>(plan.ids.size());
  if (!plan.empty()) room = std::min(room, options_.rows_beside_draws);
  // Those served least, as many as can get a page's worth each; among them equal shares, and what
  // one does not use goes to the others.
  std::stable_sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
    return a.call->served_rows < b.call->served_rows;
  });
  shares.resize(std::min(shares.size(), static_cast<std::size_t>(std::max(1, room / kPageTokens))));
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.behind < b.behind; });
  for (std::size_t i = 0; i < shares.size() && room > 0; ++i) {
    int granted = std::max(1, room / static_cast<int>(shares.size() - i));
    for (Unit* unit : shares[i].units) {
      if (granted <= 0) break;
      if (!unit->admitted) continue;
      const int rows = advance(*unit, granted, plan);
      granted -= rows;
      room -= rows;
      shares[i].call->served_rows += rows;
    }
  }
}

// While others draw and rows cost nothing, a few followers read what there is for them: those that
// are furthest behind, have their context in memory, and need none that others may want.
void Planner::plan_pieces(const std::vector<Unit*>& units, StepPlan& plan) {
  int room = std::min(options_.piece_rows, options_.step_rows) - static_cast<int>(plan.ids.size());
  if (plan.empty() || room <= 0) return;
  std::vector<Unit*> behind;
  for (Unit* unit : units) {
    const Lane& lane = unit->lanes[0];
    const bool ready = lane.behind() > 0 && lane.record->cached.length() + 1 >= lane.score_from;
    if (unit->trails() && ready && !unit->call->error) behind.push_back(unit);
  }
  std::stable_sort(behind.begin(), behind.end(), [](const Unit* a, const Unit* b) {
    return a->lanes[0].behind() > b->lanes[0].behind();
  });
  behind.resize(std::min(behind.size(), static_cast<std::size_t>((room + kPiece - 1) / kPiece)));
  for (Unit* unit : behind) {
    CacheNeed need = unit->lanes[0].record->cached.need(std::min(room, unit->lanes[0].behind()));
    need.pages += headroom(units);
    if (room <= 0 || !need.within(sequences_.cache.free())) break;
    unit->admitted = true;
    room -= advance(*unit, room, plan);
  }
}

// Feeds at most `rows` rows to the lanes of a unit that are behind.
int Planner::advance(Unit& unit, int rows, StepPlan& plan) {
  int fed = 0;
  for (std::size_t i = 0; i < unit.lanes.size() && fed < rows; ++i) {
    Lane& lane = unit.lanes[i];
    int count = std::min(lane.behind(), rows - fed);
    const int length = lane.record->cached.length();
    for (const int mark : lane.marks) {
      if (mark > length) count = std::min(count, mark - length);
    }
    if (count == 0) continue;
    if (!take(unit, {}, [&] { return lane.record->cached.need(count); })) break;
    add_rows(unit, i, count, plan);
    fed += count;
  }
  return fed;
}

void Planner::add_rows(Unit& unit, std::size_t index, int rows, StepPlan& plan) {
  Lane& lane = unit.lanes[index];
  SequenceRecord& record = *lane.record;
  const int position = record.cached.length();
  const int first_row = static_cast<int>(plan.ids.size());
  record.cached.append(rows);
  plan.segments.push_back(
      {first_row, rows, position, record.cached.pages(), record.cached.state()});
  const auto from = record.tokens.begin() + position;
  plan.ids.insert(plan.ids.end(), from, from + rows);
  unit.call->computed_tokens += rows;
  if (!unit.planned) plan.units.push_back(&unit);
  unit.planned = true;
  for (int i = 0; i < rows; ++i) {
    const int next = position + i + 1;  // the token this row predicts
    if (lane.feeds_last) {
      plan.logits_rows.push_back(first_row + i);
      plan.logits_targets.push_back({&unit, position + i});
    } else if (lane.scores != nullptr && next < record.length() &&
               next >= lane.score_from + static_cast<int>(lane.scores->size())) {
      plan.jobs.push_back({.row = static_cast<int>(plan.job_rows.size()),
                           .given = record.tokens[static_cast<std::size_t>(next)]});
      plan.job_rows.push_back(first_row + i);
      plan.targets.push_back({StepPlan::Kind::Score, &unit, index});
    }
  }
}

void Planner::add_draw(Unit& unit, StepPlan& plan) {
  const ExtendRequest& ask = *unit.request->ask;
  const int base_job = static_cast<int>(plan.jobs.size());
  const int base_row = static_cast<int>(plan.job_rows.size());
  for (std::size_t i = 0; i < unit.lanes.size(); ++i) {
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
