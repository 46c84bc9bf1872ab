// The sequences of a local engine and what is cached of them. A record's tokens are the truth; its
// cache may be dropped at any time between steps and is computed again when it is needed. Kept
// prefixes are caches of earlier prompts that nobody holds, most recent first. Everything here is
// guarded by Sequences::mutex.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "cache/cache.h"
#include "engine/engine.h"
#include "model/model.h"

namespace counterbeam {

struct Unit;

struct SequenceRecord {
  std::vector<TokenId> tokens;
  CachedSequence cached;        // of the first tokens, never of the last one between calls
  std::uint64_t birth = 0;      // the open() this descends from: older ones keep their memory
  std::uint64_t last_used = 0;  // of Sequences::clock
  bool busy = false;            // belongs to a call in flight
  Unit* unit = nullptr;         // what works on it in that call, while something does

  int length() const { return static_cast<int>(tokens.size()); }
};

// How much of the tokens two sequences share, up to `limit`.
int common_prefix(std::span<const TokenId> a, std::span<const TokenId> b, int limit);

struct Sequences {
  Sequences(std::unique_ptr<Ops> the_ops, std::unique_ptr<Model> the_model, const CacheNeed& size)
      : ops(std::move(the_ops)),
        model(std::move(the_model)),
        cache(*ops, cache_shape(model->config()), size) {}

  std::unique_ptr<SequenceRecord> add(std::vector<TokenId> tokens, std::uint64_t birth);
  void remove(SequenceRecord& record);

  // Takes over the longest usable prefix of the record's first `limit` tokens from another
  // sequence or a kept prefix, where that is longer than what it has. Returns the longest prefix
  // that others share, usable or not: recurrent states can only be taken up where they were kept.
  int adopt_prefix(SequenceRecord& record, int limit);

  // Remembers the cache of a prompt. REQUIRES that it is fully cached.
  void keep(const SequenceRecord& record, std::size_t at_most);
  bool drop_oldest_kept();  // false: there is none

  std::unique_ptr<Ops> ops;  // used by the scheduler's thread alone
  std::unique_ptr<Model> model;
  std::mutex mutex;
  std::condition_variable changed;  // for the scheduler: a call came, memory was freed
  Cache cache;
  std::set<SequenceRecord*> records;
  std::uint64_t clock = 0;

 private:
  struct Kept {
    std::vector<TokenId> tokens;
    CachedSequence cached;
  };
  std::list<Kept> kept_;
};

// The handle that a client holds.
class LocalSequence : public SequenceState {
 public:
  LocalSequence(std::shared_ptr<Sequences> home, std::unique_ptr<SequenceRecord> record)
      : home_(std::move(home)), record_(std::move(record)) {}
  ~LocalSequence() override;

  std::unique_ptr<SequenceState> fork() const override;
  std::int64_t length() const override;

  SequenceRecord& record() const { return *record_; }
  const Sequences& home() const { return *home_; }

 private:
  std::shared_ptr<Sequences> home_;
  std::unique_ptr<SequenceRecord> record_;
};

}  // namespace counterbeam
