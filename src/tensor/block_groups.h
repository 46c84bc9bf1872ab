// The layouts of GGUF's blocks: bytes to codes, and to scales and offsets.
#pragma once

#include <cstddef>

#include "tensor/block_matrix.h"

namespace counterbeam {

// Both decode one group of a row. REQUIRES: is_block_type(type), the row has the group
void decode_codes(GgmlType type, const std::byte* row, std::int64_t group, std::uint8_t* codes);
void decode_scales(GgmlType type, const std::byte* row, std::int64_t group, GroupScales& to);

float half_at(const std::byte* from);  // a float16, perhaps unaligned

}  // namespace counterbeam
