// The layouts of GGUF's blocks, one function: bytes to codes, scales and offsets.
#pragma once

#include <cstddef>

#include "tensor/block_matrix.h"

namespace counterbeam {

// Decodes the group of a row. REQUIRES: is_block_type(type), the row has the group
void decode_group(GgmlType type, const std::byte* row, std::int64_t group, BlockGroup& to);

float half_at(const std::byte* from);  // a float16, perhaps unaligned

}  // namespace counterbeam
