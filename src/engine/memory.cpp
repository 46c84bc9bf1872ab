#include "engine/memory.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace counterbeam {
namespace {

constexpr std::int64_t kSequences = 64, kTokensEach = 4096;
// Every sequence needs a recurrent state of its own, however short it is: 16 searches, each of 16
// beams under three prompts and the beams that they were forked from.
constexpr std::int64_t kStates = 16 * 64;

}  // namespace

CacheNeed cache_size_within(std::int64_t bytes, const StoreOps& ops, const CacheShape& shape,
                            std::int64_t max_positions) {
  const std::int64_t page = shape.has_kv() ? ops.page_bytes(shape.kv) : 0;
  const std::int64_t state = shape.has_state() ? ops.state_bytes(shape.state) : 0;
  const std::int64_t tokens = std::min(kTokensEach, max_positions);
  const std::int64_t pages_wanted = page > 0 ? kSequences * (tokens / kPageTokens + 1) : 0;
  const std::int64_t states_wanted = state > 0 ? kStates : 0;
  const std::int64_t wanted = pages_wanted * page + states_wanted * state;
  const std::int64_t budget = bytes > 0 ? bytes : ops.cache_bytes(wanted);
  const std::int64_t least = page + 2 * state;  // one short sequence, and one that is forked
  if (budget < least) {
    failed(
        "{} bytes of cache memory (--cache-memory) hold no sequence of this model; it needs at "
        "least {}",
        budget, least);
  }
  // Pages and states shrink or grow by the same factor.
  const double share = static_cast<double>(budget - least) / static_cast<double>(wanted);
  const auto part = [&](std::int64_t count, std::int64_t at_least) {
    const auto scaled = static_cast<std::int64_t>(static_cast<double>(count) * share);
    return static_cast<int>(std::min<std::int64_t>(scaled + at_least, 1 << 26));
  };
  return {page > 0 ? part(pages_wanted, 1) : 0, state > 0 ? part(states_wanted, 2) : 0};
}

std::int64_t longest_sequence(const CacheNeed& size, const CacheShape& shape) {
  if (!shape.has_kv()) return std::numeric_limits<std::int64_t>::max();
  return std::int64_t{size.pages} * kPageTokens;
}

}  // namespace counterbeam
