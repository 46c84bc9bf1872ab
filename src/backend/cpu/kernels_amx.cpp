// The bf16 product on AMX tiles; everything else is AVX-512 BF16. Rows are taken in blocks of 16,
// padded with zeros: an element of a tile is summed over the depth in ascending order whatever the
// other rows are, so one row gives the same bits as a thousand.
#include "backend/cpu/kernel_table.h"
#include "backend/cpu/simd_avx512.h"

namespace counterbeam {
namespace {

constexpr int kTileRows = 16;
constexpr int kTileDepth = 32;  // bf16 inputs of one tile row

// Palette 1: eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

// The tile registers of this thread, for the time of one call.
class Tiles {
 public:
  Tiles() {
    const TileConfig config;
    // gcc 12 does not know that the instruction reads `config`.
    __asm__ volatile("" : : "r"(&config) : "memory");
    _tile_loadconfig(&config);
    __asm__ volatile("" : : "r"(&config) : "memory");
  }
  ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

int blocks(int rows) {
  return (rows + kTileRows - 1) / kTileRows;
}

// [block][depth / kTileDepth][kTileRows][kTileDepth]
std::size_t packed_bytes(int rows, int depth) {
  return static_cast<std::size_t>(blocks(rows)) * kTileRows * depth * sizeof(std::uint16_t);
}

void pack(void* to, Rows x, int rows, int width, int depth, int first_block, int last_block) {
  using S = Avx512Bf16Simd;
  for (int block = first_block; block < last_block; ++block) {
    auto* out =
        static_cast<std::uint16_t*>(to) + static_cast<std::ptrdiff_t>(block) * kTileRows * depth;
    for (int k = 0; k < depth; k += kTileDepth) {
      for (int r = 0; r < kTileRows; ++r, out += kTileDepth) {
        const int row = block * kTileRows + r;
        for (int half = 0; half < kTileDepth; half += S::kWidth) {
          const int at = k + half;
          const auto values = row < rows ? S::load_part(x.row(row) + at, width - at) : S::zero();
          S::store_bf16(out + half, values);
        }
      }
    }
  }
}

void finish(const Product& p, const float* sums, int block, int column) {
  using S = Avx512Bf16Simd;
  const int left = p.columns - column;
  if (left <= 0) return;
  const auto bias = p.bias ? S::load_part(p.bias + column, left) : S::zero();
  const int first = block * kTileRows;
  for (int r = 0; r < kTileRows && first + r < p.rows; ++r) {
    float* out = p.out.row(first + r) + column;
    auto value = S::load(sums + r * S::kWidth);
    if (p.bias) value = S::add(value, bias);
    if (p.add) value = S::add(S::load_part(out, left), value);
    S::store_part(out, left, value);
  }
}

// One panel with one block of rows (kPair false) or two. Tiles 0 to 3 hold the sums, 4 and 5 the
// inputs, 6 and 7 the weights.
template <bool kPair>
void multiply_blocks(const Product& p, int panel, int block, const char* next, int lines) {
  constexpr int kTileBytes = 1024, kWeightStride = kPanel * 2 * 2;
  const int steps = p.depth / kTileDepth;
  const auto* a =
      static_cast<const char*>(p.inputs) + static_cast<std::ptrdiff_t>(block) * steps * kTileBytes;
  const char* b = a + static_cast<std::ptrdiff_t>(steps) * kTileBytes;
  const auto* w = static_cast<const char*>(p.weights) +
                  static_cast<std::ptrdiff_t>(panel) * p.depth * kPanel * 2;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int step = 0; step < steps; ++step) {
    for (int line = 0; line < lines; ++line, next += 64) __builtin_prefetch(next, 0, 2);
    _tile_loadd(6, w, kWeightStride);
    _tile_loadd(7, w + 64, kWeightStride);
    _tile_loadd(4, a, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (kPair) {
      _tile_loadd(5, b, 64);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    a += kTileBytes;
    b += kTileBytes;
    w += kTileDepth / 2 * kWeightStride;
  }
  alignas(64) float sums[4][kTileRows * 16];
  _tile_stored(0, sums[0], 64);
  _tile_stored(1, sums[1], 64);
  if constexpr (kPair) {
    _tile_stored(2, sums[2], 64);
    _tile_stored(3, sums[3], 64);
  }
  __asm__ volatile("" : : "r"(sums) : "memory");
  for (int tile = 0; tile < (kPair ? 4 : 2); ++tile)
    finish(p, sums[tile], block + tile / 2, panel * kPanel + tile % 2 * 16);
}

void multiply(const Product& p, int first_panel, int last_panel) {
  const Tiles tiles;
  const int all = blocks(p.rows), passes = (all + 1) / 2;
  // A panel is 32 lines for each step of the depth; every pass fetches its part of the next one.
  const int lines = (32 + passes - 1) / passes;
  const std::ptrdiff_t panel_bytes = static_cast<std::ptrdiff_t>(p.depth) * kPanel * 2;
  for (int panel = first_panel; panel < last_panel; ++panel) {
    const char* next = static_cast<const char*>(p.weights) + (panel + 1) * panel_bytes;
    const char* end = next + panel_bytes;
    for (int block = 0; block < all; block += 2) {
      const int fetched = next < end ? lines : 0;
      if (block + 1 < all) {
        multiply_blocks<true>(p, panel, block, next, fetched);
      } else {
        multiply_blocks<false>(p, panel, block, next, fetched);
      }
      next += static_cast<std::ptrdiff_t>(p.depth / kTileDepth) * fetched * 64;
    }
  }
}

constexpr Kernels table() {
  Kernels kernels = kernel_table<Avx512Bf16Simd>();
  kernels.bf16 = {packed_bytes, blocks, pack, multiply};
  return kernels;
}

}  // namespace

const Kernels& amx_kernels() {
  static constexpr Kernels kKernels = table();
  return kKernels;
}

}  // namespace counterbeam
