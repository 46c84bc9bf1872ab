// What is kept of sequences so that they need not be computed again: keys and values in pages of
// kPageTokens tokens, recurrent states in slots. Both are refcounted and copied on write: a fork is
// metadata, and a page or a state that several sequences hold is never written. The cache knows
// shapes, never models; it is not locked: its owner is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/store_ops.h"
#include "cache/refcounts.h"

namespace counterbeam {

struct CacheShape {
  KvShape kv;        // layers 0: no pages are kept
  StateShape state;  // layers 0: no states are kept
  bool has_kv() const { return kv.layers > 0; }
  bool has_state() const { return state.layers > 0; }
};

// Pages and states that something takes.
struct CacheNeed {
  int pages = 0;
  int states = 0;
  bool within(const CacheNeed& room) const { return pages <= room.pages && states <= room.states; }
  friend bool operator==(const CacheNeed&, const CacheNeed&) = default;
};

struct CacheCounters {
  std::int64_t forks = 0;
  std::int64_t copied_pages = 0;  // partial pages, copied on write
  std::int64_t copied_tokens = 0;
  std::int64_t copied_states = 0;
};

class Cache;

// The cached part of one sequence: its first length() tokens. Move-only; gives everything back when
// it goes. Must not outlive its Cache.
class CachedSequence {
 public:
  CachedSequence() = default;  // holds nothing and belongs nowhere
  explicit CachedSequence(Cache& cache) : cache_(&cache) {}
  CachedSequence(CachedSequence&& other) noexcept { swap(other); }
  CachedSequence& operator=(CachedSequence&& other) noexcept;
  ~CachedSequence() { clear(); }

  int length() const { return length_; }
  std::span<const PageId> pages() const { return pages_; }
  StateId state() const { return state_.value_or(StateId{}); }

  // Shares every page and state; nothing is copied before one of the two grows.
  CachedSequence fork() const;

  // What append(tokens) takes from the free pages and states.
  CacheNeed need(int tokens) const;

  // Makes room for `tokens` more and counts them as cached; the caller then computes them, or
  // clears the sequence. REQUIRES need(tokens) to be free.
  void append(int tokens);

  // Keeps the present state, so that truncate() can come back to this length. It costs a state as
  // soon as the sequence grows; nothing without recurrent layers.
  void snapshot();
  void forget_snapshots() { drop_snapshots_beyond(-1); }

  // Whether truncate(length) is possible: any length without recurrent layers, else only 0, the
  // present length or one with a snapshot.
  bool can_truncate(int length) const;
  // The longest length up to `limit` that can be truncated to.
  int longest_within(int limit) const;
  void truncate(int length);

  void clear();

  struct Snapshot {
    int length;
    StateId state;
  };
  std::span<const Snapshot> snapshots() const { return snapshots_; }  // by rising length

 private:
  friend class Cache;
  void swap(CachedSequence& other) noexcept;
  void make_last_page_own();
  void make_state_own();
  void drop_snapshots_beyond(int length);

  Cache* cache_ = nullptr;
  int length_ = 0;
  std::vector<PageId> pages_;     // ceil(length / kPageTokens)
  std::optional<StateId> state_;  // after the last cached token; none at length 0
  std::vector<Snapshot> snapshots_;
};

class Cache {
 public:
  // REQUIRES `ops` to outlive the cache. Pages or states of a shape without them are not made.
  Cache(StoreOps& ops, const CacheShape& shape, const CacheNeed& size);

  const CacheShape& shape() const { return shape_; }
  KvStore& kv() { return *kv_; }
  StateStore& states() { return *states_; }

  CacheNeed size() const { return {pages_.size(), slots_.size()}; }
  CacheNeed free() const { return {pages_.free(), slots_.free()}; }
  CacheNeed used() const { return {pages_.used(), slots_.used()}; }
  CacheNeed peak() const { return {pages_.peak(), slots_.peak()}; }
  const CacheCounters& counters() const { return counters_; }

  // Stops the program unless the reference counts are exactly those of `sequences`, which must be
  // all that there are.
  void check(std::span<const CachedSequence* const> sequences) const;

 private:
  friend class CachedSequence;

  StoreOps& ops_;
  CacheShape shape_;
  RefCounts<PageId> pages_;
  RefCounts<StateId> slots_;
  std::unique_ptr<KvStore> kv_;
  std::unique_ptr<StateStore> states_;
  CacheCounters counters_;
};

// Pages that hold `tokens` tokens.
inline int pages_for(std::int64_t tokens) {
  return static_cast<int>((tokens + kPageTokens - 1) / kPageTokens);
}

}  // namespace counterbeam
