// The tile registers of AMX: eight tiles of 16 rows of 64 bytes. Between vectors and tiles that
// touch the same memory, in either order, stands settled(). Include only from files compiled for
// AMX.
#pragma once

#include <cstdint>

#ifdef COUNTERBEAM_EMULATED_TILES
#include "backend/cpu/emulated_tiles.h"
#else
#include "backend/cpu/amx_instructions.h"
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

// Where a tile was used a moment ago and another thread runs on the same core, this is faster than
// loading it alone.
template <int kTile>
void reload_tile(const void* from, std::ptrdiff_t stride) {
  zero_tile<kTile>();
  load_tile<kTile>(from, stride);
}

// The tile registers of this thread, for the time of one call.
class Tiles {
 public:
  Tiles() { configure_tiles(Config()); }
  ~Tiles() { release_tiles(); }
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
};

}  // namespace counterbeam
