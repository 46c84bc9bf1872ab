// Sizes the cache: how many KV pages and recurrent states it gets.
#pragma once

#include "backend/store_ops.h"
#include "cache/cache.h"

namespace counterbeam {

// Splits `bytes` between pages and states. 0: the pages of 64 sequences of 4,096 tokens, or of the
// model's `max_positions` if that is less, and the recurrent states of 16 searches, limited by what
// the back end allows. Throws if not even one
// short sequence fits.
CacheNeed cache_size_within(std::int64_t bytes, const StoreOps& ops, const CacheShape& shape,
                            std::int64_t max_positions);

// The most tokens of one sequence that such a cache holds.
std::int64_t longest_sequence(const CacheNeed& size, const CacheShape& shape);

}  // namespace counterbeam
