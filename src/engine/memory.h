// How many pages and states the cache of a model gets.
#pragma once

#include "backend/store_ops.h"
#include "cache/cache.h"
#include "model/config.h"

namespace counterbeam {

// `bytes` split between pages and states; 0: what the back end allows of the memory that 64
// sequences of 4,096 tokens use.
CacheNeed cache_size_within(std::int64_t bytes, const StoreOps& ops, const ModelConfig& config);

// Tokens of the longest sequence that such a cache holds.
std::int64_t longest_sequence(const CacheNeed& size, const CacheShape& shape);

}  // namespace counterbeam
