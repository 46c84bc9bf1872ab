// Products of rows in 8 bits with panels of whole codes (int8_rows.h) on AMX tiles. Rows are taken
// in blocks of 16, padded with zeros:
//   block: for every chunk, scales [16], first sums [16], scaled totals [16],
//          then tiles of 64 inputs [16][64], the last one of a chunk padded with zeros
// where a first sum is -zero * sum(q) and a scaled total is sum(q) * scale. Up to three blocks of
// rows need one pass over the weights. The tiles hold the sums of a chunk. They are stored, and
// scaled while the tiles are busy with the next chunk.
//
// Weights in 8 bits are read as they are; what a tile reads beyond its chunk is multiplied by the
// zeros of the inputs. Weights in 4 bits are unpacked first: for up to three blocks a chunk ahead,
// for more a whole panel.
#include "backend/cpu/amx_tiles.h"
#include "backend/cpu/int8_chunks.h"
#include "backend/cpu/product_kernels.h"

namespace counterbeam {
namespace {

struct AmxInt8 : Int8Vnni512 {};  // instantiates templates for this file alone
using V = AmxInt8;
using S = V::Simd;

constexpr int kInputs = 64;  // of a tile
constexpr int kHeader = 3 * kTileRows * 4;
constexpr int kLine = 4 * kPanel;  // bytes of four inputs of a panel
constexpr int kTileOfWeights = kInputs / 4 * kLine;
constexpr int kSlack = 2 * kTileOfWeights;  // that tiles read beyond what is unpacked
constexpr int kFromMemory = 16384, kFromCache = 4096;

int least(int a, int b) {
  return a < b ? a : b;
}
int blocks(int rows) {
  return (rows + kTileRows - 1) / kTileRows;
}
int tiles_of(const CodePanels& c, int chunk) {
  return (c.chunk_end(chunk) - chunk * c.chunk + kInputs - 1) / kInputs;
}
std::ptrdiff_t chunk_at(const CodePanels& c, int chunk) {
  return static_cast<std::ptrdiff_t>(chunk) * (kHeader + tiles_of(c, 0) * kTileBytes);
}
std::ptrdiff_t block_bytes(const CodePanels& c) {
  const int last = c.chunks - 1;
  return chunk_at(c, last) + kHeader + tiles_of(c, last) * kTileBytes;
}

std::size_t packed_bytes(int rows, const CodePanels& c) {
  return static_cast<std::size_t>(blocks(rows)) * static_cast<std::size_t>(block_bytes(c));
}

std::size_t scratch_floats(int, int depth) {
  return static_cast<std::size_t>(depth) * kPanel / 4 + kSlack / 4;
}

void pack(void* to, Rows x, int rows, int width, const CodePanels& c, int first_chunk,
          int last_chunk) {
  using Chunks = Int8Chunks<V>;
  alignas(64) std::int8_t q[Chunks::kBuffer + kInputs];
  for (int block = 0; block < blocks(rows); ++block) {
    for (int chunk = first_chunk; chunk < last_chunk; ++chunk) {
      const int from = chunk * c.chunk, until = c.chunk_end(chunk), tiles = tiles_of(c, chunk);
      char* at = static_cast<char*>(to) + block * block_bytes(c) + chunk_at(c, chunk);
      auto* scales = reinterpret_cast<float*>(at);
      auto* sums = reinterpret_cast<std::int32_t*>(scales + kTileRows);
      auto* totals = reinterpret_cast<float*>(sums + kTileRows);
      __builtin_memset(q + (until - from), 0, static_cast<std::size_t>(kInputs));
      for (int r = 0; r < kTileRows; ++r) {
        const int row = block * kTileRows + r;
        typename Chunks::Done done{0, 0};
        if (row < rows)
          done = Chunks::quantise(x.row(row), from, until, width, q);
        else
          __builtin_memset(q, 0, sizeof q);
        scales[r] = done.scale;
        sums[r] = -c.zero * done.total;
        totals[r] = static_cast<float>(done.total) * done.scale;
        for (int tile = 0; tile < tiles; ++tile)
          __builtin_memcpy(at + kHeader + tile * kTileBytes + r * kInputs, q + tile * kInputs,
                           kInputs);
      }
    }
  }
}

// The codes of a panel, chunk by chunk.
class PanelCodes {
 public:
  PanelCodes(const CodePanels& c, const char* panel) : c_(c), panel_(panel) {}

  int group_of(int chunk) const { return least(chunk * c_.chunk / c_.group, c_.groups - 1); }
  const float* head(int chunk) const {
    return reinterpret_cast<const float*>(run(group_of(chunk)));
  }
  const std::uint8_t* codes(int chunk) const {
    const int group = group_of(chunk);
    return reinterpret_cast<const std::uint8_t*>(run(group)) + c_.head_bytes() +
           c_.code_bytes(chunk * c_.chunk - group * c_.group);
  }
  // Unpacks a chunk of 4-bit codes to bytes.
  void unpack(int chunk, std::uint8_t* to) const {
    const std::uint8_t* from = codes(chunk);
    const V::I table = V::table(c_.bytes.data());
    const int pairs = (c_.chunk_end(chunk) - chunk * c_.chunk) / 8;
    for (int pair = 0; pair < pairs; ++pair, from += kLine, to += 2 * kLine) {
#pragma GCC unroll 2
      for (int half = 0; half < kLine; half += 64) {
        __builtin_prefetch(from + half + kFromMemory, 0, 2);
        __builtin_prefetch(from + half + kFromCache, 0, 3);
        const V::I both = V::load(from + half);
        V::I low = V::low_half(both), high = V::high_half(both);
        if (c_.lookup) low = V::lookup(table, low), high = V::lookup(table, high);
        _mm512_storeu_si512(to + half, low);
        _mm512_storeu_si512(to + half + kLine, high);
      }
    }
  }

 private:
  const char* run(int group) const {
    return panel_ + group * (c_.head_bytes() + c_.code_bytes(c_.group));
  }
  const CodePanels& c_;
  const char* panel_;
};

// Where the tiles find the weights of a chunk.
struct Bytes {
  const PanelCodes& panel;
  bool from_memory;
  const std::uint8_t* weights(int chunk) const { return panel.codes(chunk); }
  void ahead(int) {}
  void fetch(const std::uint8_t* at) const {
    if (!from_memory) return;
#pragma GCC unroll 32
    for (int line = 0; line < kTileOfWeights; line += 64) {
      __builtin_prefetch(at + kFromMemory + line, 0, 2);
      __builtin_prefetch(at + kFromCache + line, 0, 3);
    }
  }
};
struct UnpackedAhead {
  const PanelCodes& panel;
  int chunks;
  static constexpr int kBytes = Int8Chunks<V>::kBuffer * kPanel + kSlack;
  alignas(64) std::uint8_t ring[2][kBytes];

  UnpackedAhead(const PanelCodes& own_panel, int count) : panel(own_panel), chunks(count) {
    for (auto& part : ring) __builtin_memset(part, 0, kBytes);
    panel.unpack(0, ring[0]);
  }
  const std::uint8_t* weights(int chunk) const { return ring[chunk % 2]; }
  void ahead(int chunk) {
    if (chunk + 1 < chunks) panel.unpack(chunk + 1, ring[(chunk + 1) % 2]);
  }
  void fetch(const std::uint8_t*) const {}
};
struct Unpacked {
  const std::uint8_t* at;
  int chunk_bytes;
  const std::uint8_t* weights(int chunk) const {
    return at + static_cast<std::ptrdiff_t>(chunk) * chunk_bytes;
  }
  void ahead(int) {}
  void fetch(const std::uint8_t*) const {}
};

// 64 inputs for one to three blocks of rows.
template <int kBlocks>
void multiply_tile(const char* a, std::ptrdiff_t next_block, const std::uint8_t* w) {
  if constexpr (kBlocks <= 2) {
    load_tile<6>(w, kLine);
    load_tile<4>(a, kInputs);
    multiply_bytes<0, 4, 6>();
    load_tile<7>(w + 64, kLine);
    multiply_bytes<1, 4, 7>();
    if constexpr (kBlocks == 1) return;
    load_tile<5>(a + next_block, kInputs);
    multiply_bytes<2, 5, 6>();
    multiply_bytes<3, 5, 7>();
  } else {
    load_tile<6>(w, kLine);
    load_tile<7>(a, kInputs);
    multiply_bytes<0, 7, 6>();
    load_tile<7>(a + next_block, kInputs);
    multiply_bytes<2, 7, 6>();
    load_tile<7>(a + 2 * next_block, kInputs);
    multiply_bytes<4, 7, 6>();
    load_tile<6>(w + 64, kLine);
    multiply_bytes<5, 7, 6>();
    load_tile<7>(a + next_block, kInputs);
    multiply_bytes<3, 7, 6>();
    load_tile<7>(a, kInputs);
    multiply_bytes<1, 7, 6>();
  }
}

template <int... kTile>
void zero_sums(std::integer_sequence<int, kTile...>) {
  (zero_tile<kTile>(), ...);
}
template <int... kTile>
void store_sums(std::int32_t (*to)[kTileFloats], std::integer_sequence<int, kTile...>) {
  (store_tile<kTile>(to[kTile], 64), ...);
}

// Adds the sums of a chunk, [16 rows][16 columns] of one tile, to the totals. `inputs`: the header
// of the chunk; `weights`: the scales of the columns, their offsets kPanel floats later.
void add_chunk(float* total, const std::int32_t* sums, const char* inputs, const float* weights,
               bool offsets, bool first) {
  const auto* scales = reinterpret_cast<const float*>(inputs);
  const auto* begin = reinterpret_cast<const std::int32_t*>(scales + kTileRows);
  const auto* totals = reinterpret_cast<const float*>(begin + kTileRows);
  const S::F w = S::load(weights), o = offsets ? S::load(weights + kPanel) : S::zero();
#pragma GCC unroll 4
  for (int r = 0; r < kTileRows; ++r, total += S::kWidth, sums += S::kWidth) {
    const S::F sum = V::to_float(V::add(_mm512_load_si512(sums), V::set1(begin[r])));
    S::F all = first ? S::zero() : S::load(total);
    all = S::fma(sum, S::mul(S::set1(scales[r]), w), all);
    if (offsets) all = S::fma(S::set1(totals[r]), o, all);
    S::store(total, all);
  }
}

void store_totals(const Product& p, const float* total, int block, int column) {
  const int left = p.columns - column;
  if (left <= 0) return;
  const S::F bias = p.bias ? S::load_part(p.bias + column, left) : S::zero();
  for (int r = 0; r < kTileRows && block * kTileRows + r < p.rows; ++r, total += S::kWidth) {
    float* out = p.out.row(block * kTileRows + r) + (column - p.first_column);
    const S::F sum = S::add(S::load(total), bias);
    S::store_part(out, left, p.add ? S::add(S::load_part(out, left), sum) : sum);
  }
}

// One panel times one to three blocks of rows.
template <int kBlocks, typename Weights>
void multiply_blocks(const Product& p, int panel, int block, const PanelCodes& codes,
                     Weights& weights) {
  const CodePanels& c = *p.codes;
  const std::ptrdiff_t next_block = block_bytes(c);
  const char* inputs = static_cast<const char*>(p.inputs) + block * next_block;
  constexpr std::make_integer_sequence<int, 2 * kBlocks> kSums;
  alignas(64) std::int32_t sums[2][2 * kBlocks][kTileFloats];
  alignas(64) float totals[2 * kBlocks][kTileFloats];
  const auto add = [&](int chunk) {
    for (int tile = 0; tile < 2 * kBlocks; ++tile)
      add_chunk(totals[tile], sums[chunk % 2][tile],
                inputs + tile / 2 * next_block + chunk_at(c, chunk),
                codes.head(chunk) + tile % 2 * 16, c.offsets, chunk == 0);
  };
  for (int chunk = 0; chunk < c.chunks; ++chunk) {
    const char* a = inputs + chunk_at(c, chunk) + kHeader;
    const std::uint8_t* w = weights.weights(chunk);
    settled();
    zero_sums(kSums);
    for (int tile = 0; tile < tiles_of(c, chunk); ++tile, a += kTileBytes, w += kTileOfWeights) {
      multiply_tile<kBlocks>(a, next_block, w);
      weights.fetch(w);
    }
    store_sums(sums[chunk % 2], kSums);
    settled();
    weights.ahead(chunk);
    if (chunk > 0) add(chunk - 1);
  }
  add(c.chunks - 1);
  for (int tile = 0; tile < 2 * kBlocks; ++tile)
    store_totals(p, totals[tile], block + tile / 2, panel * kPanel + tile % 2 * 16);
}

template <typename Weights>
void multiply_some(const Product& p, int panel, int block, int count, const PanelCodes& codes,
                   Weights& weights) {
  if (count == 1) return multiply_blocks<1>(p, panel, block, codes, weights);
  if (count == 2) return multiply_blocks<2>(p, panel, block, codes, weights);
  return multiply_blocks<3>(p, panel, block, codes, weights);
}

// Rows in groups of three blocks; four are two and two.
template <typename Weights>
void multiply_rows(const Product& p, int panel, const PanelCodes& codes, Weights& weights) {
  const int all = blocks(p.rows), turns = (all + 2) / 3;
  for (int turn = 0; turn < turns; ++turn) {
    const int block = all * turn / turns, end = all * (turn + 1) / turns;
    multiply_some(p, panel, block, end - block, codes, weights);
  }
}

void multiply_panel(const Product& p, int panel) {
  const CodePanels& c = *p.codes;
  const PanelCodes codes(c, static_cast<const char*>(p.weights) + panel * c.panel_bytes());
  if (c.kind == CodeKind::Int8) {
    Bytes weights{codes, true};
    return multiply_rows(p, panel, codes, weights);
  }
  if (blocks(p.rows) <= 3) {
    UnpackedAhead weights(codes, c.chunks);
    return multiply_rows(p, panel, codes, weights);
  }
  auto* unpacked = reinterpret_cast<std::uint8_t*>(p.scratch);
  for (int chunk = 0; chunk < c.chunks; ++chunk)
    codes.unpack(chunk, unpacked + static_cast<std::ptrdiff_t>(chunk) * c.chunk * kPanel);
  Unpacked weights{unpacked, c.chunk * kPanel};
  multiply_rows(p, panel, codes, weights);
}

void multiply(const Product& p, int first_panel, int last_panel) {
  const Tiles tiles;
  for (int panel = first_panel; panel < last_panel; ++panel) multiply_panel(p, panel);
}

}  // namespace

const IntegerKernels& int8_amx_kernels() {
  static constexpr IntegerKernels kKernels{packed_bytes, pack, multiply, scratch_floats};
  return kKernels;
}

}  // namespace counterbeam
