// The tile registers of AMX: eight tiles of 16 rows of 64 bytes. gcc 12 knows neither that loading
// the configuration nor that loading a tile reads memory, so what was written by vectors must be
// settled() first. Include only from files compiled for AMX.
#pragma once

#include <immintrin.h>

#include <cstdint>

#ifdef COUNTERBEAM_EMULATED_TILES
#include "backend/cpu/emulated_tiles.h"
#endif

namespace counterbeam {

inline constexpr int kTileRows = 16;
inline constexpr int kTileDepth = 32;  // bf16 inputs of one tile row
inline constexpr int kTileBytes = 1024;
inline constexpr int kTileFloats = 256;

// Weights, keys and values lie in panels of 32 columns, [depth / 2][32][2]: a tile of 16 columns
// starts 64 bytes behind the other and its rows are 128 bytes apart.
inline constexpr int kPanelStride = 128;
inline constexpr int kPanelStepBytes = 2 * kTileBytes;

inline void settled() {
  __asm__ volatile("" : : : "memory");
}

// The tile registers of this thread, for the time of one call.
class Tiles {
 public:
  Tiles() {
    const Config config;
    __asm__ volatile("" : : "r"(&config) : "memory");
    _tile_loadconfig(&config);
    __asm__ volatile("" : : "r"(&config) : "memory");
  }
  ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

 private:
  struct alignas(64) Config {
    std::uint8_t palette = 1;
    std::uint8_t start_row = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
  static_assert(sizeof(Config) == 64);
};

}  // namespace counterbeam
