// The tile registers of AMX: eight tiles of 16 rows of 64 bytes. A compiler barrier, settled(), is
// needed between vector code and tile instructions that touch the same memory, in either order.
// Include only from files compiled for AMX.
#pragma once

#include <cstdint>

#ifdef COUNTERBEAM_EMULATED_TILES
#include "backend/cpu/emulated_tiles.h"
#else
#include "backend/cpu/amx_instructions.h"
#endif

namespace counterbeam {

#ifdef COUNTERBEAM_EMULATED_TILES
using namespace emulated_tiles;
#else
using namespace hardware_tiles;
#endif

inline constexpr int kTileRows = 16;
inline constexpr int kTileDepth = 32;  // bf16 inputs of one tile row
inline constexpr int kTileBytes = 1024;
inline constexpr int kTileFloats = 256;

// Weights, keys and values are stored in panels of 32 columns, [depth / 2][32][2]. A panel is two
// tiles of 16 columns: the second starts 64 bytes after the first, rows are 128 bytes apart.
inline constexpr int kPanelStride = 128;
inline constexpr int kPanelStepBytes = 2 * kTileBytes;

inline void settled() {
  __asm__ volatile("" : : : "memory");
}

// Zeroing a recently used tile before the load is faster while the sibling hardware thread of the
// core is busy, and costs nothing otherwise.
template <int kTile>
void reload_tile(const void* from, std::ptrdiff_t stride) {
  zero_tile<kTile>();
  load_tile<kTile>(from, stride);
}

// Configures the tile registers of this thread and releases them at the end of the scope.
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
