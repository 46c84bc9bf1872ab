// The part of a back end that keeps what sequences remember: keys and values in pages of
// kPageTokens tokens, recurrent states in slots. The inner layout is private to the back end; the
// cache decides which sequence owns which page and slot.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/shapes.h"
#include "base/ids.h"

namespace counterbeam {

class KvStore {
 public:
  virtual ~KvStore() = default;
};

class StateStore {
 public:
  virtual ~StateStore() = default;
};

class StoreOps {
 public:
  virtual ~StoreOps() = default;

  // Bytes of one page (all layers) and of one state; float32 unless overridden.
  virtual std::int64_t page_bytes(const KvShape& shape) const;
  virtual std::int64_t state_bytes(const StateShape& shape) const;
  // The default cache size in bytes, given the `wanted` bytes of a comfortable one and the memory
  // that is free now.
  virtual std::int64_t cache_bytes(std::int64_t wanted) const;

  // Pages and slots are handed out uninitialised: they may hold anything, NaN included.
  virtual std::unique_ptr<KvStore> make_kv_store(const KvShape& shape, int pages) = 0;
  virtual std::unique_ptr<StateStore> make_state_store(const StateShape& shape, int slots) = 0;

  // Copies at least the first `tokens` tokens of a page, of all layers.
  virtual void copy_page(KvStore& store, PageId from, PageId to, int tokens) = 0;
  virtual void copy_state(StateStore& store, StateId from, StateId to) = 0;
  virtual void clear_state(StateStore& store, StateId state) = 0;  // all zeros
};

}  // namespace counterbeam
