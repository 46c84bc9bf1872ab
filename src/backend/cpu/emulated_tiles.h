// The AMX tile instructions emulated with AVX-512 BF16 and VNNI, to test the tile path on machines
// without AMX (COUNTERBEAM_EMULATED_TILES). A product adds pairs of inputs to each sum in ascending
// order; the real instruction may round differently. Releasing the tiles clears them.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace counterbeam::emulated_tiles {

class EmulatedTiles {
 public:
  static void load(int tile, const void* from, std::ptrdiff_t stride) {
    for (int row = 0; row < kRows; ++row)
      std::memcpy(tiles_[tile][row], static_cast<const char*>(from) + row * stride, kRowBytes);
  }
  static void store(int tile, void* to, std::ptrdiff_t stride) {
    for (int row = 0; row < kRows; ++row)
      std::memcpy(static_cast<char*>(to) + row * stride, tiles_[tile][row], kRowBytes);
  }
  static void zero(int tile) { std::memset(tiles_[tile], 0, sizeof tiles_[tile]); }
  static void multiply(int sums, int inputs, int weights) {
    for (int row = 0; row < kRows; ++row) {
      __m512 sum = _mm512_load_ps(tiles_[sums][row]);
      for (int pair = 0; pair < kRows; ++pair) {
        const __m512i x = _mm512_set1_epi32(static_cast<int>(tiles_[inputs][row][pair]));
        const __m512i w = _mm512_load_si512(tiles_[weights][pair]);
        sum = _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)w);
      }
      _mm512_store_ps(tiles_[sums][row], sum);
    }
  }
  static void multiply_bytes(int sums, int inputs, int weights) {
    for (int row = 0; row < kRows; ++row) {
      __m512i sum = _mm512_load_si512(tiles_[sums][row]);
      for (int quad = 0; quad < kRows; ++quad) {
        const __m512i x = _mm512_set1_epi32(static_cast<int>(tiles_[inputs][row][quad]));
        sum = _mm512_dpbusd_epi32(sum, _mm512_load_si512(tiles_[weights][quad]), x);
      }
      _mm512_store_si512(tiles_[sums][row], sum);
    }
  }
  static void release() { std::memset(tiles_, 0x7f, sizeof tiles_); }

 private:
  static constexpr int kTiles = 8, kRows = 16, kRowBytes = 64;
  alignas(64) static inline thread_local std::uint32_t tiles_[kTiles][kRows][kRowBytes / 4];
};

template <typename Config>
void configure_tiles(const Config&) {}
inline void release_tiles() {
  EmulatedTiles::release();
}
template <int kTile>
void load_tile(const void* from, std::ptrdiff_t stride) {
  EmulatedTiles::load(kTile, from, stride);
}
template <int kTile>
void store_tile(void* to, std::ptrdiff_t stride) {
  EmulatedTiles::store(kTile, to, stride);
}
template <int kTile>
void zero_tile() {
  EmulatedTiles::zero(kTile);
}
template <int kSums, int kInputs, int kWeights>
void multiply_tiles() {
  EmulatedTiles::multiply(kSums, kInputs, kWeights);
}

template <int kSums, int kInputs, int kWeights>
void multiply_bytes() {
  EmulatedTiles::multiply_bytes(kSums, kInputs, kWeights);
}

}  // namespace counterbeam::emulated_tiles
