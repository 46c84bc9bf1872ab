// Decodes codes to the fragments that wgmma takes from registers: per 16 inputs, four pairs of bf16
// a thread, of the rows lane / 4 and lane / 4 + 8 of its warp's 16.
//
// Codes of 8 bits: two words, {byte 1, byte 3} and {byte 0, byte 2} are the pairs of the upper and
// the lower row. Codes of 4 bits: one word, {nibble k, nibble k + 4} is pair k.
//
// The bf16 routes put the bits of a code into the mantissa of a tiny bf16 number, which is exact,
// and let one fused operation scale it up, shift it and round. FP8 bits are a bf16 number times
// 2^-120; whole numbers are subnormal ones times 2^-133 (8 bits) or 2^-129 (4 bits). Entries hold
// the scale times the inverse of that power.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "backend/cuda/barrier.cuh"
#include "backend/cuda/code_weights.h"

namespace counterbeam::cuda {

using Fragment = std::uint32_t[4];

__device__ __forceinline__ std::uint32_t multiply_pairs(std::uint32_t a, std::uint32_t b) {
  std::uint32_t d;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
__device__ __forceinline__ std::uint32_t add_pairs(std::uint32_t a, std::uint32_t b) {
  std::uint32_t d;
  asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
__device__ __forceinline__ std::uint32_t fma_pairs(std::uint32_t a, std::uint32_t b,
                                                   std::uint32_t c) {
  std::uint32_t d;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
__device__ __forceinline__ std::uint32_t round_pair(float low, float high) {
  std::uint32_t d;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(high), "f"(low));
  return d;
}
__device__ __forceinline__ std::uint32_t twice(std::uint32_t pair, bool upper) {
  return __byte_perm(pair, 0, upper ? 0x3232 : 0x1010);
}
__device__ __forceinline__ std::uint32_t twice(__nv_bfloat16 x) {
  return std::uint32_t(__bfloat16_as_ushort(x)) * 0x10001u;
}

// A place in shared memory. Loads keep their order with barriers.
struct SharedPlace {
  std::uint32_t address;
};
__device__ __forceinline__ SharedPlace operator+(SharedPlace at, int bytes) {
  return {at.address + std::uint32_t(bytes)};
}

// Loads 1, 2 or 4 words.
template <int kCount>
__device__ __forceinline__ void load(std::uint32_t* to, SharedPlace from) {
  if constexpr (kCount == 1) {
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(to[0]) : "r"(from.address));
  } else if constexpr (kCount == 2) {
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "r"(from.address));
  } else {
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from.address));
  }
}
template <int kCount>
__device__ __forceinline__ void load(std::uint32_t* to, const std::uint8_t* from) {
  if constexpr (kCount == 1) {
    to[0] = *reinterpret_cast<const std::uint32_t*>(from);
  } else if constexpr (kCount == 2) {
    const uint2 two = *reinterpret_cast<const uint2*>(from);
    to[0] = two.x, to[1] = two.y;
  } else {
    const uint4 four = *reinterpret_cast<const uint4*>(from);
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
  }
}

// Where the entry of a row of a block lies: the two rows of a thread are adjacent.
__device__ __forceinline__ int entry_of_row(int row) {
  return row / 16 * 16 + row % 8 * 2 + row / 8 % 2;
}
// The first entry of a thread.
__device__ __forceinline__ int entry_of_thread(int thread) {
  return thread / 32 * 16 + thread % 32 / 4 * 2;
}

// The least power of two in which the bf16 routes keep whole numbers, and its negative as bf16.
constexpr std::uint32_t kMinusTiniest = 0x80808080u;  // -2^-126, twice

template <CodeRoute kRoute>
struct Decoder {
  static constexpr int kWords = is_int4(kRoute) ? 1 : 2;  // of a fragment
  static constexpr bool kFp8 = kRoute == CodeRoute::Fp8Bf16 || kRoute == CodeRoute::Fp8Float;

  std::uint32_t scale[2], shift[2];  // pairs of bf16 for both rows
  std::uint32_t rest[2];             // Int4Half: what the bf16 scale lacks
  float factor[2], offset[2];        // Float
  float zero;                        // Float, whole numbers: subtracted from 2^23 + code

  // The entries of a thread as they lie in memory.
  static constexpr int kEntryWords = is_float(kRoute) ? 4 : kRoute == CodeRoute::Int4Half ? 2 : 1;
  using Entries = std::uint32_t[kEntryWords];

  // `at`: the thread's first entry of a slot.
  template <typename Place>
  __device__ __forceinline__ static void read(Entries& entries, Place at, bool offsets) {
    if constexpr (is_float(kRoute)) {
      if (offsets)
        cuda::load<4>(entries, at);
      else
        cuda::load<2>(entries, at);
    } else {
      cuda::load<kEntryWords>(entries, at);
    }
  }

  __device__ __forceinline__ void use(const Entries& entries, const CodeWeights& codes) {
    if constexpr (is_float(kRoute)) {
#pragma unroll
      for (int row = 0; row < 2; ++row) {
        factor[row] = __uint_as_float(codes.offsets ? entries[2 * row] : entries[row]);
        offset[row] = codes.offsets ? __uint_as_float(entries[2 * row + 1]) : -0.0f;
      }
      zero = 0x1p23f + (!is_int4(kRoute) ? 128.0f : codes.centred ? 8.0f : 0.0f);
    } else if constexpr (kRoute == CodeRoute::Int4Half) {
#pragma unroll
      for (int row = 0; row < 2; ++row) {
        const std::uint32_t entry = entries[row];
        const float all = __half2float(__ushort_as_half(std::uint16_t(entry))) * 0x1p64f * 0x1p65f;
        const __nv_bfloat16 most = __float2bfloat16_rn(all);
        scale[row] = twice(most);
        rest[row] = twice(__float2bfloat16_rn(all - __bfloat162float(most)));
        shift[row] = twice(entry, true);
      }
    } else {
#pragma unroll
      for (int row = 0; row < 2; ++row) {
        scale[row] = twice(entries[0], row == 1);
        shift[row] = multiply_pairs(scale[row], kMinusTiniest);
      }
    }
  }

  __device__ __forceinline__ void decode(Fragment& a, const std::uint32_t* words) const {
    if constexpr (kRoute == CodeRoute::Fp8Bf16) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const std::uint32_t high = words[i], low = words[i] << 8;
        a[2 * i] = multiply_pairs((high & 0x80008000u) | (high >> 4 & 0x07f007f0u), scale[0]);
        a[2 * i + 1] =
            multiply_pairs((low & 0x80008000u) | (words[i] << 4 & 0x07f007f0u), scale[1]);
      }
    } else if constexpr (kRoute == CodeRoute::Int8Bf16) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        a[2 * i] = fma_pairs(__byte_perm(words[i], 0, 0x4341), scale[0], shift[0]);
        a[2 * i + 1] = fma_pairs(words[i] & 0x00ff00ffu, scale[1], shift[1]);
      }
    } else if constexpr (kRoute == CodeRoute::Int4Bf16 || kRoute == CodeRoute::Int4Half) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const std::uint32_t bits = (k == 0 ? words[0] << 4 : words[0] >> (4 * k - 4)) & 0x00f000f0u;
        if constexpr (kRoute == CodeRoute::Int4Bf16) {
          a[k] = fma_pairs(bits, scale[k % 2], shift[k % 2]);
        } else {
          const std::uint32_t whole = add_pairs(bits, shift[k % 2]);
          a[k] = fma_pairs(whole, scale[k % 2], multiply_pairs(whole, rest[k % 2]));
        }
      }
    } else {
      decode_floats(a, words);
    }
  }

 private:
  __device__ __forceinline__ float finish(float code, int row) const {
    return __fmaf_rn(code, factor[row], offset[row]);
  }

  __device__ __forceinline__ void decode_floats(Fragment& a, const std::uint32_t* words) const {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      float code[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        if constexpr (is_int4(kRoute)) {
          code[j] = __uint_as_float((words[0] >> (4 * (k + 4 * j)) & 15u) | 0x4b000000u) - zero;
        } else {
          const int byte = 2 * j + 1 - k % 2;
          if constexpr (kFp8) {
            code[j] = from_fp8(words[k / 2], byte);
          } else {
            code[j] = __uint_as_float(__byte_perm(words[k / 2], 0x4b000000u, 0x7440 + byte)) - zero;
          }
        }
      }
      a[k] = round_pair(finish(code[0], k % 2), finish(code[1], k % 2));
    }
  }

  __device__ __forceinline__ static float from_fp8(std::uint32_t word, int byte) {
    std::uint32_t both;
    const auto pair = static_cast<std::uint16_t>(byte < 2 ? word : word >> 16);
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(both) : "h"(pair));
    return __half2float(__ushort_as_half(std::uint16_t(byte % 2 == 0 ? both : both >> 16)));
  }
};

// Where the words of a thread's fragment lie in a block: `quarter` is the sixteenth of inputs.
template <CodeRoute kRoute>
__device__ __forceinline__ int fragment_place(int thread, int quarter) {
  if constexpr (is_int4(kRoute)) return thread * 16 + quarter * 4;
  return thread / 32 * 1024 + quarter / 2 * 512 + thread % 32 * 16 + quarter % 2 * 8;
}

// All words of a thread in a block, kWords * 4 of them. `at`: those of the first fragment.
template <CodeRoute kRoute, typename Place>
__device__ __forceinline__ void load_words(std::uint32_t* words, Place at) {
  load<4>(words, at);
  if constexpr (!is_int4(kRoute)) load<4>(words + 4, at + 512);
}

// Where the scales of a thread lie in a record. The scales change with every sixteenth or eighth of
// the inputs (`fine`), or at most with every half.
struct EntryPlaces {
  int first, half, two_quarters, quarter;
  bool fine;

  __device__ EntryPlaces(const CodeWeights& codes, int thread) {
    const int slot = 64 * codes.entry_bytes();
    first = entry_of_thread(thread) * codes.entry_bytes();
    half = codes.slots / 2 * slot;
    two_quarters = codes.slots / 4 * slot;
    quarter = codes.slots / 8 * slot;
    fine = codes.slots > 2;
  }
  __device__ __forceinline__ int of(int in_half, int in_quarter) const {
    return first + in_half * half + in_quarter / 2 * two_quarters + in_quarter % 2 * quarter;
  }
};

// Calls f(decoder, words, quarter) for the four fragments of half a record. `coarse`: the
// entries of the half unless places.fine, else they are read from the record.
template <CodeRoute kRoute, typename Place, typename F>
__device__ __forceinline__ void decode_half(const std::uint32_t* words,
                                            const typename Decoder<kRoute>::Entries& coarse,
                                            Place record, const EntryPlaces& places,
                                            const CodeWeights& codes, int half, const F& f) {
  Decoder<kRoute> decoder;
  if (places.fine) {
    typename Decoder<kRoute>::Entries entries[4];
#pragma unroll
    for (int quarter = 0; quarter < 4; ++quarter)
      Decoder<kRoute>::read(entries[quarter], record + places.of(half, quarter), codes.offsets);
#pragma unroll
    for (int quarter = 0; quarter < 4; ++quarter) {
      decoder.use(entries[quarter], codes);
      f(decoder, words + quarter * Decoder<kRoute>::kWords, quarter);
    }
  } else {
    decoder.use(coarse, codes);
#pragma unroll
    for (int quarter = 0; quarter < 4; ++quarter)
      f(decoder, words + quarter * Decoder<kRoute>::kWords, quarter);
  }
}

}  // namespace counterbeam::cuda
