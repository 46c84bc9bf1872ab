#include "engine/engine_state.h"

#include <algorithm>

#include "base/error.h"

namespace counterbeam {

int common_prefix(std::span<const TokenId> a, std::span<const TokenId> b, int limit) {
  const auto count = std::min({a.size(), b.size(), static_cast<std::size_t>(std::max(limit, 0))});
  const auto end = a.begin() + static_cast<std::ptrdiff_t>(count);
  return static_cast<int>(std::mismatch(a.begin(), end, b.begin()).first - a.begin());
}

std::uint64_t EngineState::tick() {
  const std::lock_guard lock(mutex);
  return ++clock;
}

void EngineState::add(SequenceRecord& record) {
  record.cached = CachedSequence(cache);
  record.last_used = ++clock;
  records.insert(&record);
}

void EngineState::remove(SequenceRecord& record) {
  CB_CHECK(!record.busy);
  record.cached.clear();
  records.erase(&record);
  changed.notify_one();
}

int EngineState::adopt_prefix(SequenceRecord& record, int limit) {
  const CachedSequence* best = nullptr;
  auto best_kept = kept_.end();
  int best_length = record.cached.length(), longest_shared = 0;
  const auto improves = [&](std::span<const TokenId> tokens, const CachedSequence& cached) {
    const int shared = common_prefix(record.tokens, tokens, std::min(limit, cached.length()));
    longest_shared = std::max(longest_shared, shared);
    const int length = cached.longest_within(shared);
    if (length <= best_length) return false;
    best = &cached;
    best_length = length;
    return true;
  };
  for (const SequenceRecord* other : records) {
    if (other != &record) improves(other->tokens, other->cached);
  }
  for (auto it = kept_.begin(); it != kept_.end(); ++it) {
    if (improves(it->tokens, it->cached)) best_kept = it;
  }
  if (best != nullptr) {
    CachedSequence adopted = best->fork();
    adopted.truncate(best_length);
    record.cached = std::move(adopted);
  }
  if (best_kept != kept_.end()) kept_.splice(kept_.begin(), kept_, best_kept);
  return longest_shared;
}

void EngineState::keep(const SequenceRecord& record, std::size_t at_most) {
  if (at_most == 0) return;
  const std::span<const TokenId> cached_tokens(record.tokens.data(),
                                               static_cast<std::size_t>(record.cached.length()));
  std::erase_if(kept_, [&](const Kept& kept) {
    return std::equal(kept.tokens.begin(), kept.tokens.end(), cached_tokens.begin(),
                      cached_tokens.end());
  });
  try {
    kept_.push_front({{cached_tokens.begin(), cached_tokens.end()}, record.cached.fork()});
  } catch (const std::bad_alloc&) {
    return;  // the next prompt computes it again
  }
  while (kept_.size() > at_most) drop_oldest_kept();
}

bool EngineState::drop_oldest_kept() {
  if (kept_.empty()) return false;
  kept_.pop_back();
  return true;
}

LocalSequence::LocalSequence(std::shared_ptr<EngineState> engine, std::vector<TokenId> tokens,
                             std::uint64_t birth)
    : engine_(std::move(engine)) {
  record_.tokens = std::move(tokens);
  record_.birth = birth;
  const std::lock_guard lock(engine_->mutex);
  engine_->add(record_);
}

LocalSequence::~LocalSequence() {
  const std::lock_guard lock(engine_->mutex);
  engine_->remove(record_);
}

std::unique_ptr<SequenceState> LocalSequence::fork() const {
  auto copy = std::make_unique<LocalSequence>(engine_, std::vector<TokenId>{}, record_.birth);
  const std::lock_guard lock(engine_->mutex);  // released before a copy that is given up locks
  if (record_.busy) bad_input("a sequence cannot be forked while a call is extending it");
  copy->record_.tokens = record_.tokens;
  copy->record_.cached = record_.cached.fork();
  return copy;
}

std::int64_t LocalSequence::length() const {
  const std::lock_guard lock(engine_->mutex);
  return record_.length();
}

}  // namespace counterbeam
