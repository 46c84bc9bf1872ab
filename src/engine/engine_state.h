// What the threads of a local engine share: the back end, the model, the cache and every sequence.
// A record's tokens are the truth; what is cached of them may be dropped between any two steps and
// is then computed again. Kept prefixes are the caches of recent prompts, most recent first, which
// outlive their sequences so that the next prompt can share them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cache/cache.h"
#include "engine/engine.h"
#include "model/model.h"

namespace counterbeam {

struct WorkUnit;

struct SequenceRecord {
  std::vector<TokenId> tokens;
  CachedSequence cached;        // a prefix of the tokens; between calls never the last token
  std::uint64_t birth = 0;      // the open() it descends from; older searches keep their memory
  std::uint64_t last_used = 0;  // by EngineState::clock
  bool busy = false;            // belongs to a call in flight
  WorkUnit* unit = nullptr;     // the unit that feeds it in that call; none once that is Done

  int length() const { return static_cast<int>(tokens.size()); }
};

// The length of the prefix that both have in common, at most `limit`.
int common_prefix(std::span<const TokenId> a, std::span<const TokenId> b, int limit);

// Everything but `ops` is guarded by `mutex`. The model and the stores behind the cache are also
// read and written during a step, without the lock, but only in pages of busy sequences.
struct EngineState {
  EngineState(std::unique_ptr<Ops> the_ops, std::unique_ptr<Model> the_model,
              const CacheShape& shape, const CacheNeed& size)
      : ops(std::move(the_ops)), model(std::move(the_model)), cache(*ops, shape, size) {}

  std::uint64_t tick();  // takes the lock; all other functions REQUIRE it

  void add(SequenceRecord& record);
  void remove(SequenceRecord& record);

  // Replaces the record's cache with the longest usable prefix of its first `limit` tokens that
  // another sequence or a kept prefix has, if that is longer than its own. Returns the longest
  // prefix that others share, usable or not: a recurrent state can be adopted only at a length
  // where a snapshot of it was kept.
  int adopt_prefix(SequenceRecord& record, int limit);

  // Keeps the cache of a prompt if there is memory for it, and drops the oldest beyond `at_most`.
  // Does not throw. REQUIRES it to be fully cached.
  void keep(const SequenceRecord& record, std::size_t at_most);
  bool drop_oldest_kept();  // false: there is none

  std::unique_ptr<Ops> ops;  // used by the scheduler's thread alone
  std::unique_ptr<Model> model;
  std::mutex mutex;
  std::condition_variable changed;  // wakes the scheduler: a call arrived or memory was freed
  Cache cache;
  std::set<SequenceRecord*> records;
  std::string non_finite_weight;  // StoredWeights::non_finite(); set before the first call
  std::uint64_t clock = 0;

 private:
  struct Kept {
    std::vector<TokenId> tokens;
    CachedSequence cached;
  };
  std::list<Kept> kept_;
};

// A client's handle to a record. It keeps the state alive, so it may outlive the engine. It locks
// the state when it is made and destroyed.
class LocalSequence : public SequenceState {
 public:
  LocalSequence(std::shared_ptr<EngineState> engine, std::vector<TokenId> tokens,
                std::uint64_t birth);
  ~LocalSequence() override;

  std::unique_ptr<SequenceState> fork() const override;
  std::int64_t length() const override;

  SequenceRecord& record() { return record_; }
  const EngineState& engine() const { return *engine_; }

 private:
  std::shared_ptr<EngineState> engine_;
  SequenceRecord record_;
};

}  // namespace counterbeam
