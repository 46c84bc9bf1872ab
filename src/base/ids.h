// Ids used by several rooms. They are distinct types, so that a page cannot be passed as a state.
#pragma once

#include <cstdint>

namespace counterbeam {

// A row of the vocabulary. A plain integer, because token ids are copied in bulk.
using TokenId = std::int32_t;

enum class PageId : std::int32_t {};   // a page of the KV cache
enum class StateId : std::int32_t {};  // a snapshot of the recurrent layers

}  // namespace counterbeam
