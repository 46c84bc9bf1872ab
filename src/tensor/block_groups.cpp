#include "tensor/block_groups.h"

#include <cstring>

#include "base/error.h"
#include "tensor/dtype.h"

namespace counterbeam {
namespace {

using Bytes = const std::uint8_t*;

// Adding it changes no number, not even the sign of a zero.
constexpr float kNoOffset = -0.0f;

float half_of(Bytes from) {
  return half_at(reinterpret_cast<const std::byte*>(from));
}

GroupScales same_scales(float scale, float offset = kNoOffset) {
  return {{scale, scale}, {offset, offset}};
}

// 16 bytes: low nibbles are the first half of the group, high ones the second.
void split_nibbles(Bytes nibbles, std::uint8_t* codes) {
  for (int l = 0; l < 16; ++l) {
    codes[l] = nibbles[l] & 15;
    codes[l + 16] = nibbles[l] >> 4;
  }
}

// Q5_0 and Q5_1: the fifth bits are a word of 32; `least` is added to every code.
void add_fifth_bits(Bytes word, int least, std::uint8_t* codes) {
  std::uint32_t bits;
  std::memcpy(&bits, word, 4);
  for (int l = 0; l < kBlockGroup; ++l)
    codes[l] = static_cast<std::uint8_t>((codes[l] | ((bits >> l) & 1) << 4) +
                                         static_cast<std::uint32_t>(least));
}

// Q4_K and Q5_K: groups 2i and 2i + 1 share bytes.
void alternate_nibbles(Bytes nibbles, int s, std::uint8_t* codes) {
  nibbles += 32 * (s / 2);
  for (int l = 0; l < kBlockGroup; ++l) codes[l] = s % 2 == 0 ? nibbles[l] & 15 : nibbles[l] >> 4;
}

// The 6-bit scale and minimum of group s of Q4_K and Q5_K.
GroupScales packed_scales(Bytes block, int s) {
  const Bytes sc = block + 4;
  const int scale = s < 4 ? sc[s] & 63 : (sc[s + 4] & 15) | (sc[s - 4] >> 6) << 4;
  const int min = s < 4 ? sc[s + 4] & 63 : (sc[s + 4] >> 4) | (sc[s] >> 6) << 4;
  return same_scales(half_of(block) * static_cast<float>(scale),
                     -(half_of(block + 2) * static_cast<float>(min)));
}

void q6_k_codes(Bytes block, int s, std::uint8_t* codes) {
  const int half = s / 4, quarter = s % 4;
  const Bytes low = block + 64 * half + 32 * (quarter & 1), high = block + 128 + 32 * half;
  for (int l = 0; l < kBlockGroup; ++l) {
    const int nibble = quarter < 2 ? low[l] & 15 : low[l] >> 4;
    codes[l] = static_cast<std::uint8_t>((nibble | ((high[l] >> (2 * quarter)) & 3) << 4) - 32);
  }
}

GroupScales q6_k_scales(Bytes block, int s) {
  const float scale = half_of(block + 208);
  const auto part = [&](int i) {
    return scale * static_cast<float>(static_cast<std::int8_t>(block[192 + 2 * s + i]));
  };
  return {{part(0), part(1)}, {kNoOffset, kNoOffset}};
}

// Q2_K and the low bits of Q3_K: four groups share bytes.
void pairs_of_bits(Bytes pairs, int s, std::uint8_t* codes) {
  pairs += 32 * (s / 4);
  for (int l = 0; l < kBlockGroup; ++l) codes[l] = (pairs[l] >> (2 * (s % 4))) & 3;
}

GroupScales q2_k_scales(Bytes block, int s) {
  const float scale = half_of(block + 80), min = half_of(block + 82);
  const int one = block[2 * s], two = block[2 * s + 1];
  return {{scale * static_cast<float>(one & 15), scale * static_cast<float>(two & 15)},
          {-(min * static_cast<float>(one >> 4)), -(min * static_cast<float>(two >> 4))}};
}

GroupScales q3_k_scales(Bytes block, int s) {
  const Bytes packed = block + 96;
  const auto part = [&](int i) {  // of 16: four low bits in bytes 0 to 7, two high ones in 8 to 11
    const int low = i < 8 ? packed[i] & 15 : packed[i - 8] >> 4;
    const int scale = low | ((packed[8 + i % 4] >> (2 * (i / 4))) & 3) << 4;
    return half_of(block + 108) * static_cast<float>(scale - 32);
  };
  return {{part(2 * s), part(2 * s + 1)}, {kNoOffset, kNoOffset}};
}

GroupScales iq4_xs_scales(Bytes block, int s) {
  std::uint16_t high;
  std::memcpy(&high, block + 2, 2);
  const int scale = ((block[4 + s / 2] >> (4 * (s % 2))) & 15) | ((high >> (2 * s)) & 3) << 4;
  return same_scales(half_of(block) * static_cast<float>(scale - 32));
}

// A group of a row: its block, and its index there.
struct GroupPlace {
  Bytes block;
  int s;
};

GroupPlace place_of(GgmlType type, const std::byte* row, std::int64_t group) {
  const GgmlTypeInfo& info = info_of(type);
  const auto groups = static_cast<std::int64_t>(info.elements) / kBlockGroup;  // of a block
  return {reinterpret_cast<Bytes>(row) + group / groups * info.bytes,
          static_cast<int>(group % groups)};
}

}  // namespace

void decode_codes(GgmlType type, const std::byte* row, std::int64_t group, std::uint8_t* codes) {
  const auto [block, s] = place_of(type, row, group);
  switch (type) {
    case GgmlType::Q8_0:
      std::memcpy(codes, block + 2, kBlockGroup);
      return;
    case GgmlType::Q4_0:
    case GgmlType::IQ4_NL:
      return split_nibbles(block + 2, codes);
    case GgmlType::Q4_1:
      return split_nibbles(block + 4, codes);
    case GgmlType::Q5_0:
      split_nibbles(block + 6, codes);
      return add_fifth_bits(block + 2, -16, codes);
    case GgmlType::Q5_1:
      split_nibbles(block + 8, codes);
      return add_fifth_bits(block + 4, 0, codes);
    case GgmlType::Q4_K:
      return alternate_nibbles(block + 16, s, codes);
    case GgmlType::Q5_K:
      alternate_nibbles(block + 48, s, codes);
      for (int l = 0; l < kBlockGroup; ++l)
        codes[l] = static_cast<std::uint8_t>(codes[l] | ((block[16 + l] >> s) & 1) << 4);
      return;
    case GgmlType::Q6_K:
      return q6_k_codes(block, s, codes);
    case GgmlType::Q2_K:
      return pairs_of_bits(block + 16, s, codes);
    case GgmlType::Q3_K:  // values from -4 to 3, as codes of the table from -8 to 7
      pairs_of_bits(block + 32, s, codes);
      for (int l = 0; l < kBlockGroup; ++l)
        codes[l] = static_cast<std::uint8_t>(codes[l] + ((block[l] >> s) & 1 ? 8 : 4));
      return;
    case GgmlType::IQ4_XS:
      return split_nibbles(block + 8 + 16 * s, codes);
    default:
      break;
  }
  CB_CHECK(is_block_type(type));
}

void decode_scales(GgmlType type, const std::byte* row, std::int64_t group, GroupScales& to) {
  const auto [block, s] = place_of(type, row, group);
  switch (type) {
    case GgmlType::Q8_0:
    case GgmlType::Q4_0:
    case GgmlType::Q5_0:
    case GgmlType::IQ4_NL:
      to = same_scales(half_of(block));
      return;
    case GgmlType::Q4_1:
    case GgmlType::Q5_1:
      to = same_scales(half_of(block), half_of(block + 2));
      return;
    case GgmlType::Q4_K:
    case GgmlType::Q5_K:
      to = packed_scales(block, s);
      return;
    case GgmlType::Q6_K:
      to = q6_k_scales(block, s);
      return;
    case GgmlType::Q2_K:
      to = q2_k_scales(block, s);
      return;
    case GgmlType::Q3_K:
      to = q3_k_scales(block, s);
      return;
    case GgmlType::IQ4_XS:
      to = iq4_xs_scales(block, s);
      return;
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
