// The tile instructions of AMX in software, with the products of AVX-512 BF16: tests of the tile
// path on machines without it (COUNTERBEAM_EMULATED_TILES). A product adds pairs of inputs in
// ascending order to each sum, as the instruction does. What tiles hold is lost with the release.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace counterbeam {

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
  static void release() { std::memset(tiles_, 0x7f, sizeof tiles_); }

 private:
  static constexpr int kTiles = 8, kRows = 16, kRowBytes = 64;
  alignas(64) static inline thread_local std::uint32_t tiles_[kTiles][kRows][kRowBytes / 4];
};

}  // namespace counterbeam

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbf16ps
#define _tile_loadconfig(config) static_cast<void>(config)
#define _tile_release() EmulatedTiles::release()
#define _tile_loadd(tile, from, stride) EmulatedTiles::load(tile, from, stride)
#define _tile_stored(tile, to, stride) EmulatedTiles::store(tile, to, stride)
#define _tile_zero(tile) EmulatedTiles::zero(tile)
#define _tile_dpbf16ps(sums, inputs, weights) EmulatedTiles::multiply(sums, inputs, weights)
