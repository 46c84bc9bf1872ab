// Ids that several rooms speak of. They are types, so that a page is never taken for a state.
#pragma once

#include <cstdint>

namespace counterbeam {

using TokenId =
    std::int32_t;  // a row of the vocabulary; plain, for it is counted and copied in bulk

enum class PageId : std::int32_t {};   // a page of keys and values
enum class StateId : std::int32_t {};  // a snapshot of the recurrent layers

}  // namespace counterbeam
