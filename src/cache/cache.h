// The KV cache, in pages of kPageTokens tokens, and the cache of recurrent states, in slots. Pages
// and slots are reference-counted and copied on write: a fork copies only metadata, and a page or
// state that several sequences share is never written. The cache depends on shapes, not on models.
// It is not thread-safe: its owner locks.
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
  KvShape kv;        // 0 layers: there are no pages
  StateShape state;  // 0 layers: there are no states
  bool has_kv() const { return kv.layers > 0; }
  bool has_state() const { return state.layers > 0; }
};

// A number of pages and states.
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

// The cached part of one sequence: its first length() tokens. Move-only; the destructor releases
// its pages and states. Must not outlive its Cache.
class CachedSequence {
 public:
  CachedSequence() = default;  // empty, without a cache
  explicit CachedSequence(Cache& cache) : cache_(&cache) {}
  CachedSequence(CachedSequence&& other) noexcept { swap(other); }
  CachedSequence& operator=(CachedSequence&& other) noexcept;
  ~CachedSequence() { clear(); }

  int length() const { return length_; }
  std::span<const PageId> pages() const { return pages_; }
  StateId state() const { return state_.value_or(StateId{}); }

  // Shares all pages and states; a page is copied only when one of the two sequences grows.
  CachedSequence fork() const;

  // The free pages and states that append(tokens) will use.
  CacheNeed need(int tokens) const;

  // Allocates room for `tokens` more and counts them as cached; the caller must then compute them
  // or clear the sequence. REQUIRES: need(tokens) is free
  void append(int tokens);

  // Keeps the current recurrent state, so that truncate() can return to this length. It uses one
  // state once the sequence grows; without recurrent layers it does nothing.
  void snapshot();
  void forget_snapshots() { drop_snapshots_beyond(-1); }

  // Whether truncate(length) is possible: without recurrent layers any length, otherwise only 0,
  // the current length or one with a snapshot.
  bool can_truncate(int length) const;
  // The greatest length up to `limit` that truncate() can return to.
  int longest_within(int limit) const;
  void truncate(int length);

  void clear();

  struct Snapshot {
    int length;
    StateId state;
  };
  std::span<const Snapshot> snapshots() const { return snapshots_; }  // by ascending length

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
  // REQUIRES: `ops` outlives the cache. Pages or states that the shape does not have are not
  // allocated.
  Cache(StoreOps& ops, const CacheShape& shape, const CacheNeed& size);

  const CacheShape& shape() const { return shape_; }
  KvStore& kv() { return *kv_; }
  StateStore& states() { return *states_; }

  CacheNeed size() const { return {pages_.size(), slots_.size()}; }
  CacheNeed free() const { return {pages_.free(), slots_.free()}; }
  CacheNeed used() const { return {pages_.used(), slots_.used()}; }
  CacheNeed peak() const { return {pages_.peak(), slots_.peak()}; }
  const CacheCounters& counters() const { return counters_; }

  // Integrity check for tests: stops the program unless the reference counts are exactly those of
  // `sequences`. REQUIRES: all living sequences
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

// The number of pages for `tokens` tokens.
inline int pages_for(std::int64_t tokens) {
  return static_cast<int>((tokens + kPageTokens - 1) / kPageTokens);
}

}  // namespace counterbeam
