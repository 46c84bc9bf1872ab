#include "tensor/block_groups.h"

#include <cstring>

#include "base/error.h"
#include "tensor/dtype.h"

namespace counterbeam {
namespace {

using Bytes = const std::uint8_t*;

float half_of(Bytes from) {
  return half_at(reinterpret_cast<const std::byte*>(from));
}

// Adding it changes no number, not even the sign of a zero.
constexpr float kNoOffset = -0.0f;

void set_scale(BlockGroup& to, float scale, float offset = kNoOffset) {
  to.scale = {scale, scale};
  to.offset = {offset, offset};
}

// 16 bytes: low nibbles are the first half of the group, high ones the second.
template <typename Code>
void split_nibbles(Bytes nibbles, BlockGroup& to, Code code) {
  for (int l = 0; l < 16; ++l) {
    to.codes[static_cast<std::size_t>(l)] = static_cast<std::uint8_t>(code(nibbles[l] & 15, l));
    to.codes[static_cast<std::size_t>(l + 16)] =
        static_cast<std::uint8_t>(code(nibbles[l] >> 4, l + 16));
  }
}

// Q4_0, Q4_1, Q5_0, Q5_1: one group per block; `least` is added to every code.
void decode_simple(Bytes block, bool fifth_bit, bool has_min, int least, BlockGroup& to) {
  set_scale(to, half_of(block), has_min ? half_of(block + 2) : kNoOffset);
  block += has_min ? 4 : 2;
  std::uint32_t high = 0;
  if (fifth_bit) {
    std::memcpy(&high, block, 4);
    block += 4;
  }
  split_nibbles(block, to, [&](int nibble, int l) {
    return (nibble | static_cast<int>((high >> l) & 1) << 4) + least;
  });
}

// The 6-bit scale and minimum of sub-block s of Q4_K and Q5_K.
void set_packed_scale(Bytes block, int s, BlockGroup& to) {
  const Bytes sc = block + 4;
  const int scale = s < 4 ? sc[s] & 63 : (sc[s + 4] & 15) | (sc[s - 4] >> 6) << 4;
  const int min = s < 4 ? sc[s + 4] & 63 : (sc[s + 4] >> 4) | (sc[s] >> 6) << 4;
  set_scale(to, half_of(block) * static_cast<float>(scale),
            -(half_of(block + 2) * static_cast<float>(min)));
}

// Q4_K and Q5_K: eight groups per block; groups 2i and 2i + 1 share bytes.
void decode_packed_scales(Bytes block, int s, bool fifth_bit, BlockGroup& to) {
  set_packed_scale(block, s, to);
  const Bytes high = block + 16;
  const Bytes nibbles = block + (fifth_bit ? 48 : 16) + 32 * (s / 2);
  for (int l = 0; l < kBlockGroup; ++l) {
    int code = s % 2 == 0 ? nibbles[l] & 15 : nibbles[l] >> 4;
    if (fifth_bit) code |= ((high[l] >> s) & 1) << 4;
    to.codes[static_cast<std::size_t>(l)] = static_cast<std::uint8_t>(code);
  }
}

void decode_q6_k(Bytes block, int s, BlockGroup& to) {
  const int half = s / 4, quarter = s % 4;
  const Bytes low = block + 64 * half + 32 * (quarter & 1), high = block + 128 + 32 * half;
  const float scale = half_of(block + 208);
  for (int part = 0; part < 2; ++part) {
    const auto own = static_cast<std::int8_t>(block[192 + 8 * half + 2 * quarter + part]);
    to.scale[static_cast<std::size_t>(part)] = scale * static_cast<float>(own);
  }
  to.offset = {kNoOffset, kNoOffset};
  for (int l = 0; l < kBlockGroup; ++l) {
    const int nibble = quarter < 2 ? low[l] & 15 : low[l] >> 4;
    const int code = nibble | ((high[l] >> (2 * quarter)) & 3) << 4;
    to.codes[static_cast<std::size_t>(l)] = static_cast<std::uint8_t>(code - 32);
  }
}

void decode_q2_k(Bytes block, int s, BlockGroup& to) {
  const Bytes codes = block + 16 + 32 * (s / 4);
  for (int part = 0; part < 2; ++part) {
    const int packed = block[2 * s + part];
    to.scale[static_cast<std::size_t>(part)] =
        half_of(block + 80) * static_cast<float>(packed & 15);
    to.offset[static_cast<std::size_t>(part)] =
        -(half_of(block + 82) * static_cast<float>(packed >> 4));
  }
  for (int l = 0; l < kBlockGroup; ++l)
    to.codes[static_cast<std::size_t>(l)] =
        static_cast<std::uint8_t>((codes[l] >> (2 * (s % 4))) & 3);
}

void decode_q3_k(Bytes block, int s, BlockGroup& to) {
  const Bytes high = block, codes = block + 32 + 32 * (s / 4), scales = block + 96;
  for (int part = 0; part < 2; ++part) {
    const int i = 2 * s + part;  // of 16: four low bits in bytes 0 to 7, two high ones in 8 to 11
    const int low_bits = i < 8 ? scales[i] & 15 : scales[i - 8] >> 4;
    const int scale = low_bits | ((scales[8 + i % 4] >> (2 * (i / 4))) & 3) << 4;
    to.scale[static_cast<std::size_t>(part)] =
        half_of(block + 108) * static_cast<float>(scale - 32);
  }
  to.offset = {kNoOffset, kNoOffset};
  for (int l = 0; l < kBlockGroup; ++l) {
    const int code = (codes[l] >> (2 * (s % 4))) & 3;
    to.codes[static_cast<std::size_t>(l)] =
        static_cast<std::uint8_t>(code + ((high[l] >> s) & 1 ? 8 : 4));
  }
}

void decode_iq4_xs(Bytes block, int s, BlockGroup& to) {
  std::uint16_t high;
  std::memcpy(&high, block + 2, 2);
  const int scale = ((block[4 + s / 2] >> (4 * (s % 2))) & 15) | ((high >> (2 * s)) & 3) << 4;
  set_scale(to, half_of(block) * static_cast<float>(scale - 32));
  split_nibbles(block + 8 + 16 * s, to, [](int nibble, int) { return nibble; });
}

}  // namespace

void decode_group(GgmlType type, const std::byte* row, std::int64_t group, BlockGroup& to) {
  const GgmlTypeInfo& info = info_of(type);
  const auto groups = static_cast<std::int64_t>(info.elements) / kBlockGroup;  // of a block
  const Bytes block = reinterpret_cast<Bytes>(row) + group / groups * info.bytes;
  const int s = static_cast<int>(group % groups);
  switch (type) {
    case GgmlType::Q8_0:
      set_scale(to, half_of(block));
      std::memcpy(to.codes.data(), block + 2, kBlockGroup);
      return;
    case GgmlType::Q4_0:
      return decode_simple(block, false, false, 0, to);
    case GgmlType::Q4_1:
      return decode_simple(block, false, true, 0, to);
    case GgmlType::Q5_0:
      return decode_simple(block, true, false, -16, to);
    case GgmlType::Q5_1:
      return decode_simple(block, true, true, 0, to);
    case GgmlType::Q4_K:
      return decode_packed_scales(block, s, false, to);
    case GgmlType::Q5_K:
      return decode_packed_scales(block, s, true, to);
    case GgmlType::Q6_K:
      return decode_q6_k(block, s, to);
    case GgmlType::Q2_K:
      return decode_q2_k(block, s, to);
    case GgmlType::Q3_K:
      return decode_q3_k(block, s, to);
    case GgmlType::IQ4_NL:
      set_scale(to, half_of(block));
      return split_nibbles(block + 2, to, [](int nibble, int) { return nibble; });
    case GgmlType::IQ4_XS:
      return decode_iq4_xs(block, s, to);
    default:
      break;
  }
  CB_CHECK(is_block_type(type));
}

float half_at(const std::byte* from) {
  std::uint16_t bits;
  std::memcpy(&bits, from, 2);
  return from_f16(bits);
}

}  // namespace counterbeam
