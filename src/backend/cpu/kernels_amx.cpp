// The bf16 GEMM, attention and the delta rule on AMX tiles; everything else is AVX-512 BF16.
//
// The GEMM takes rows in blocks of 16, padded with zeros, and panels of 32 columns as two tiles. Up
// to 48 rows (three blocks, six tiles of sums) need one pass over the weights, which prefetches its
// own stream: from memory into the L2 cache 16 KB ahead, from there into the L1 cache 4 KB ahead.
// More rows take two blocks at a time (four tiles of sums) while the next panel is prefetched.
//
// Codes are decoded by vector instructions into a buffer of bf16 weights: up to 48 rows, two steps
// ahead of the tiles, in the L1 cache; more rows, a panel at a time for all of them. Where groups
// are large, codes are decoded without their scales, and the sums of a group are scaled.
//
// Row invariance: a sum starts from the bias and the residual and is accumulated over the depth in
// ascending order, whatever the other rows are, also if it is stored and reloaded between two parts
// of the depth. One row gives the same bits as a thousand.
#include <utility>

#include "backend/cpu/amx_attention.h"
#include "backend/cpu/amx_delta.h"
#include "backend/cpu/amx_tiles.h"
#include "backend/cpu/exact_codes.h"
#include "backend/cpu/kernel_table.h"
#include "backend/cpu/simd_avx512.h"

namespace counterbeam {
namespace {

using S = Avx512Bf16Simd;

int least(int a, int b) {
  return a < b ? a : b;
}

constexpr int kInputBytes = 1 << 20;  // inputs of all rows that stay in the L2 cache

int blocks(int rows) {
  return (rows + kTileRows - 1) / kTileRows;
}

// [block][depth / kTileDepth][kTileRows][kTileDepth]
std::size_t packed_bytes(int rows, int depth) {
  return static_cast<std::size_t>(blocks(rows)) * kTileRows * depth * sizeof(std::uint16_t);
}

std::size_t scratch_floats(int rows, int depth) {
  return blocks(rows) > 3 ? static_cast<std::size_t>(depth) * kPanel / 2 : 0;
}

void pack(void* to, Rows x, int rows, int width, int depth, int from, int until) {
  for (int block = 0; block < blocks(rows); ++block) {
    auto* out = static_cast<std::uint16_t*>(to) +
                (static_cast<std::ptrdiff_t>(block) * depth + from) * kTileRows;
    for (int k = from; k < until; k += kTileDepth) {
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

// Parts of the depth for which the inputs of all rows stay in the L2 cache.
int depth_part(int rows, int depth) {
  const int fit = kInputBytes / 2 / rows;
  if (depth <= fit + fit / 4) return depth;
  const int parts = (depth + fit - 1) / fit;
  return round_up((depth + parts - 1) / parts, kTileDepth);
}
// The same for the callers. Rows that need several passes walk the parts themselves, for a few
// panels at a time.
int shared_part(int rows, int depth) {
  return blocks(rows) > 3 ? depth : depth_part(rows, depth);
}

// The loop order: depth_part() by depth_part(), or the one part that is asked for, with panels in
// groups whose outputs stay in the L2 cache while the parts of the depth are walked.
class Walk {
 public:
  Walk(const Product& p, int first_panel, int last_panel)
      : p_(p),
        last_(last_panel),
        group_(first_panel),
        panel_(first_panel),
        part_(p.until > 0 ? p.until - p.from : depth_part(p.rows, p.depth)),
        end_(p.until > 0 ? p.until : p.depth),
        from_(p.from) {
    constexpr int kOutputBytes = 1 << 19;
    panels_ = one_part() ? last_panel - first_panel : 1 + kOutputBytes / (p.rows * kPanel * 4);
  }
  bool done() const { return panel_ >= last_; }
  int panel() const { return panel_; }
  int from() const { return from_; }  // start of the current part of the depth
  int until() const { return least(end_, from_ + part_); }
  int steps() const { return (until() - from_) / kTileDepth; }
  bool one_part() const { return p_.from + part_ >= end_; }
  bool whole_depth() const { return part_ == p_.depth; }  // panels follow one another in memory
  const char* weights() const {
    return static_cast<const char*>(p_.weights) +
           (static_cast<std::ptrdiff_t>(panel_) * p_.depth + from_) * kPanel * 2;
  }
  void advance() {
    if (++panel_ < least(group_ + panels_, last_)) return;
    from_ += part_;
    if (from_ >= end_) {
      from_ = p_.from;
      group_ += panels_;
    }
    panel_ = group_;
  }

 private:
  const Product& p_;
  int last_, group_, panel_;
  int part_, end_, panels_;
  int from_;
};

// A stream of cache lines to prefetch, in the order of their use.
struct Hints {
  const char* at = nullptr;
  const char* end = nullptr;
  const char* then = nullptr;  // where the stream continues after `end`; null: nowhere

  template <int kCacheLevel>
  void ask(int lines) {
    for (int line = 0; line < lines; ++line, at += 64) __builtin_prefetch(at, 0, 4 - kCacheLevel);
  }
  bool turn() {
    if (at < end) return true;
    if (!then) return false;
    at = then;
    end = at + (1 << 30);
    then = nullptr;
    return true;
  }
};

// A few lines are prefetched between any two tile instructions: a burst would delay the loads that
// follow it.
struct Fetch {
  Hints memory{};  // from memory into the L2 cache
  int lines = 0;   // lines of `memory` at a time
  Hints cache{};   // from the L2 into the L1 cache
};

float* out_of(const Product& p, int row, int column) {
  return p.out.row(row) + (column - p.first_column);
}

// The initial sums of a tile that is partly outside the output or starts from a bias, in a buffer;
// if `going_on`, what the part of the depth before this one has stored.
void begin_sums(const Product& p, float* sums, int block, int column, bool going_on) {
  const int left = p.columns - column;
  const auto bias = p.bias && !going_on ? S::load_part(p.bias + column, left) : S::zero();
  for (int r = 0; r < kTileRows; ++r) {
    const int row = block * kTileRows + r;
    S::F sum = bias;
    if (row < p.rows && (p.add || going_on)) {
      sum = S::load_part(out_of(p, row, column), left);
      if (p.bias && !going_on) sum = S::add(sum, bias);
    }
    S::store(sums + r * S::kWidth, sum);
  }
}
void end_sums(const Product& p, const float* sums, int block, int column) {
  const int left = p.columns - column;
  for (int r = 0; r < kTileRows && block * kTileRows + r < p.rows; ++r)
    S::store_part(out_of(p, block * kTileRows + r, column), left, S::load(sums + r * S::kWidth));
}

// Where the tiles of sums are stored, two per block of rows: the first tile, the distance of its
// rows, and the distances to the tiles right of it and below it.
struct SumPlace {
  float* at;
  std::ptrdiff_t row_bytes, right, below;
  float* tile(int i) const { return at + i / 2 * below + i % 2 * right; }
};
template <int... kTile>
void load_sums(const SumPlace& place, std::integer_sequence<int, kTile...>) {
  (load_tile<kTile>(place.tile(kTile), place.row_bytes), ...);
}
template <int... kTile>
void zero_sums(std::integer_sequence<int, kTile...>) {
  (zero_tile<kTile>(), ...);
}
template <int... kTile>
void store_sums(const SumPlace& place, std::integer_sequence<int, kTile...>) {
  (store_tile<kTile>(place.tile(kTile), place.row_bytes), ...);
}

// One step of kTileDepth inputs for one to three blocks of rows. The first block is at `a`, the
// next ones follow at a distance of `block_bytes`. Tiles 0 to 5 hold sums, the others weights and
// inputs. With two blocks, weights and inputs have two tiles each, loaded first by begin_pair() and
// then for the next step, whose weights are at `next` (null: there is none), right after their last
// use. kOnce: this is the only pass over the weights,
// so it prefetches as many lines as it consumes.
template <int kBlocks, bool kOnce>
void multiply_step(const char* a, std::ptrdiff_t block_bytes, const char* w, const char* next,
                   Fetch& fetch) {
  constexpr int kSlots = kBlocks == 1 ? 3 : kBlocks == 2 ? 4 : 7;
  const auto ask = [&](int slot) {
    constexpr int kLines = kPanelStepBytes / 64;
    const int share = kLines * (slot + 1) / kSlots - kLines * slot / kSlots;
    fetch.memory.ask<2>(kOnce ? share : fetch.lines);
    if constexpr (kOnce) fetch.cache.ask<1>(share);
  };
  if constexpr (kBlocks == 1) {
    load_tile<6>(w, kPanelStride);
    ask(0);
    load_tile<4>(a, 64);
    multiply_tiles<0, 4, 6>();
    ask(1);
    load_tile<7>(w + 64, kPanelStride);
    multiply_tiles<1, 4, 7>();
    ask(2);
  } else if constexpr (kBlocks == 2) {
    multiply_tiles<0, 4, 6>();
    ask(0);
    multiply_tiles<1, 4, 7>();
    ask(1);
    if (next) reload_tile<4>(a + kTileBytes, 64);
    multiply_tiles<2, 5, 6>();
    ask(2);
    if (next) reload_tile<6>(next, kPanelStride);
    multiply_tiles<3, 5, 7>();
    ask(3);
    if (next) reload_tile<7>(next + 64, kPanelStride);
    if (next) reload_tile<5>(a + block_bytes + kTileBytes, 64);
  } else {
    load_tile<6>(w, kPanelStride);
    ask(0);
    load_tile<7>(a, 64);
    multiply_tiles<0, 7, 6>();
    ask(1);
    load_tile<7>(a + block_bytes, 64);
    multiply_tiles<2, 7, 6>();
    ask(2);
    load_tile<7>(a + 2 * block_bytes, 64);
    multiply_tiles<4, 7, 6>();
    ask(3);
    load_tile<6>(w + 64, kPanelStride);
    multiply_tiles<5, 7, 6>();
    ask(4);
    load_tile<7>(a + block_bytes, 64);
    multiply_tiles<3, 7, 6>();
    ask(5);
    load_tile<7>(a, 64);
    multiply_tiles<1, 7, 6>();
    ask(6);
  }
  if (!fetch.memory.turn()) fetch.lines = 0;
  if constexpr (kOnce) fetch.cache.turn();
}

void begin_pair(const char* a, std::ptrdiff_t block_bytes, const char* w) {
  load_tile<6>(w, kPanelStride);
  load_tile<4>(a, 64);
  load_tile<7>(w + 64, kPanelStride);
  load_tile<5>(a + block_bytes, 64);
}

// Where multiply_blocks() finds the weights of a step: numbers in memory, or codes that it decodes
// two steps ahead.
struct Numbers {
  const char* at;
  void begin(int) {}
  const char* weights(int step) const {
    return at + static_cast<std::ptrdiff_t>(step) * kPanelStepBytes;
  }
  void ahead(int) {}
};
struct Decoded {
  static constexpr int kSteps = 4;
  const CodePanels& codes;
  const char* panel;
  int steps;
  alignas(64) char ring[kSteps][kPanelStepBytes];

  Decoded(const Product& p, int index)
      : codes(*p.codes),
        panel(static_cast<const char*>(p.weights) + index * p.codes->panel_bytes()),
        steps(p.depth / kTileDepth) {}
  void decode(int step) {
    if (step < steps)
      Decode<S, 2>::run(codes, panel, step * kTileDepth, (step + 1) * kTileDepth,
                        ring[step % kSteps]);
  }
  void begin(int step) {
    decode(step);
    decode(step + 1);
    settled();
  }
  const char* weights(int step) const { return ring[step % kSteps]; }
  void ahead(int step) {
    decode(step + 2);
    settled();
  }
};

// One panel times one to three blocks of rows, over a part of the depth.
template <int kBlocks, bool kOnce, typename Weights>
void multiply_blocks(const Product& p, int panel, int block, int from, int until, Weights& weights,
                     Fetch& fetch) {
  const auto* a = static_cast<const char*>(p.inputs) +
                  (static_cast<std::ptrdiff_t>(block) * p.depth + from) * kTileRows * 2;
  const std::ptrdiff_t block_bytes = static_cast<std::ptrdiff_t>(p.depth) * kTileRows * 2;
  const int column = panel * kPanel;
  const bool whole = (block + kBlocks) * kTileRows <= p.rows && column + kPanel <= p.columns;
  const bool made = !whole || (p.bias && from == 0);
  constexpr std::make_integer_sequence<int, 2 * kBlocks> kSums;
  alignas(64) float sums[2 * kBlocks][kTileFloats];
  const SumPlace beside{sums[0], 64, kTileFloats, 2 * kTileFloats};
  const SumPlace straight{out_of(p, block * kTileRows, column), p.out.stride * 4, 16,
                          kTileRows * p.out.stride};
  if (made) {
    for (int tile = 0; tile < 2 * kBlocks; ++tile)
      begin_sums(p, sums[tile], block + tile / 2, column + tile % 2 * 16, from > 0);
    settled();
  }
  if (made || p.add || from > 0) {
    load_sums(made ? beside : straight, kSums);
  } else {
    zero_sums(kSums);
  }
  weights.begin(0);
  if constexpr (kBlocks == 2) begin_pair(a, block_bytes, weights.weights(0));
  // Prefetches the next outputs, up to two rows per step: storing a tile to lines that are not in
  // the cache is slow.
  int row = kOnce ? p.rows : (block + kBlocks) * kTileRows;
  const int last_row = least(p.rows, row + kBlocks * kTileRows);
  const int steps = (until - from) / kTileDepth;
  for (int step = 0; step < steps; ++step, a += kTileBytes) {
    for (int ahead = 0; ahead < 2 && row < last_row; ++ahead, ++row) {
      __builtin_prefetch(out_of(p, row, column), 1, 3);
      __builtin_prefetch(out_of(p, row, column + 16), 1, 3);
    }
    weights.ahead(step);
    multiply_step<kBlocks, kOnce>(a, block_bytes, weights.weights(step),
                                  step + 1 < steps ? weights.weights(step + 1) : nullptr, fetch);
  }
  store_sums(whole ? straight : beside, kSums);
  if (whole) return;
  for (int tile = 0; tile < 2 * kBlocks; ++tile)
    end_sums(p, sums[tile], block + tile / 2, column + tile % 2 * 16);
}

// One pass over the weights, for up to three blocks of rows. Prefetches its own stream from memory
// into the L2 cache and from there into the L1 cache.
template <int kBlocks>
void multiply_once(const Product& p, Walk walk, const char* end) {
  constexpr int kFromMemory = 16384, kFromCache = 4096;
  const char* next = static_cast<const char*>(p.next_weights);
  const char* until = next ? end : end + (1 << 30);
  Fetch fetch;
  const auto fetch_from = [&](const char* weights) {
    fetch.memory = {weights + kFromMemory, until, next};
    fetch.cache = {weights + kFromCache, until, next};
  };
  fetch_from(walk.weights());
  while (!walk.done()) {
    const Walk now = walk;
    walk.advance();
    if (!now.whole_depth()) {
      until = now.weights() + now.steps() * kPanelStepBytes;
      next = walk.done() ? end : walk.weights();
      fetch_from(now.weights());
    }
    Numbers weights{now.weights()};
    multiply_blocks<kBlocks, true>(p, now.panel(), 0, now.from(), now.until(), weights, fetch);
  }
}

// The same from codes: decoding prefetches its own stream.
template <int kBlocks>
void multiply_codes_once(const Product& p, int first_panel, int last_panel) {
  Fetch fetch;
  for (int panel = first_panel; panel < last_panel; ++panel) {
    Decoded weights(p, panel);
    multiply_blocks<kBlocks, false>(p, panel, 0, 0, p.depth, weights, fetch);
  }
}

// Whether a tile of sums is partly outside the output. Such tiles have no place to keep partial
// sums: they take the whole depth in the first part.
bool at_edge(const Product& p, int panel, int last_block) {
  return last_block * kTileRows > p.rows || (panel + 1) * kPanel > p.columns;
}

// The work of one position of a walk, two blocks of rows at a time. `first` is the Fetch of the
// first pair, `others` that of the others; `w`: the weights from the start of the part.
void multiply_part(const Product& p, const Walk& now, const char* w, Fetch& first, Fetch& others) {
  const int all = blocks(p.rows);
  for (int block = 0; block < all; block += 2) {
    int until = now.until();
    if (!now.one_part() && at_edge(p, now.panel(), least(block + 2, all))) {
      if (now.from() > 0) continue;
      until = p.depth;
    }
    Numbers weights{w};
    Fetch& fetch = block == 0 ? first : others;
    if (block + 1 < all) {
      multiply_blocks<2, false>(p, now.panel(), block, now.from(), until, weights, fetch);
    } else {
      multiply_blocks<1, false>(p, now.panel(), block, now.from(), until, weights, fetch);
    }
  }
}

// Decodes a part of a panel once for all rows. The first part is decoded whole where tiles at an
// edge need it.
void multiply_codes_pairs(const Product& p, Walk walk) {
  Fetch none;
  const int all = blocks(p.rows);
  auto* decoded = reinterpret_cast<char*>(p.scratch);
  for (; !walk.done(); walk.advance()) {
    const bool whole = walk.from() == 0 && at_edge(p, walk.panel(), all);
    const char* panel = static_cast<const char*>(p.weights) + walk.panel() * p.codes->panel_bytes();
    Decode<S, 2>::run(*p.codes, panel, walk.from(), whole ? p.depth : walk.until(), decoded);
    settled();
    multiply_part(p, walk, decoded, none, none);
  }
}

// Two blocks of rows at a time; the next panel's weights are prefetched meanwhile.
void multiply_pairs(const Product& p, Walk walk, const char* end) {
  constexpr int kAhead = 8192, kStepLines = kPanelStepBytes / 64, kSlots = 4;
  const int all = blocks(p.rows), passes = (all + 1) / 2;
  const char* next = p.next_weights ? static_cast<const char*>(p.next_weights) : end;
  Fetch near{{walk.weights() + kAhead, end, next}, kStepLines / kSlots};
  for (bool first = true; !walk.done(); first = false) {
    const Walk now = walk;
    walk.advance();
    Fetch ahead;
    ahead.memory.at = walk.done() ? next : walk.weights();
    ahead.memory.end = ahead.memory.at + static_cast<std::ptrdiff_t>(now.steps()) * kPanelStepBytes;
    const int asked = kSlots * least(passes, 8);
    ahead.lines = (kStepLines + asked - 1) / asked;
    multiply_part(p, now, now.weights(), first ? near : ahead, ahead);
  }
}

static_assert(ExactCodes::kStep == kTileDepth && ExactCodes::kStepBytes == kPanelStepBytes);

// Exact codes, decoded two steps ahead.
struct ExactAhead {
  static constexpr int kSteps = 4;
  ExactCodes& codes;
  int steps;
  alignas(64) char ring[kSteps][kPanelStepBytes];

  ExactAhead(ExactCodes& exact, int depth) : codes(exact), steps(depth / kTileDepth) {
    decode(0);
    decode(1);
    settled();
  }
  void decode(int step) {
    if (step < steps) codes.decode(step * kTileDepth, ring[step % kSteps]);
  }
  const char* weights(int step) const { return ring[step % kSteps]; }
  void ahead(int step) {
    decode(step + 2);
    settled();
  }
};

// The sums of one tile of the output over all groups: bias and residual first, then the sums of
// every group times their scales. They wait in `sums` between two groups.
struct ScaledSums {
  alignas(64) float sums[kTileFloats];

  void add(const Product& p, const float* tile, int block, int column, S::F scale, bool first,
           bool last) {
    const int rows = least(kTileRows, p.rows - block * kTileRows), left = p.columns - column;
    const auto bias = first && p.bias ? S::load_part(p.bias + column, left) : S::zero();
    for (int r = 0; r < rows; ++r) {
      float* kept = sums + r * S::kWidth;
      float* out = out_of(p, block * kTileRows + r, column);
      S::F before = bias;
      if (!first) {
        before = S::load(kept);
      } else if (p.add) {
        before = S::add(S::load_part(out, left), bias);
      }
      const S::F sum = S::fma(S::load(tile + r * S::kWidth), scale, before);
      if (!last) {
        S::store(kept, sum);
      } else if (left >= S::kWidth) {
        S::store(out, sum);
      } else {
        S::store_part(out, left, sum);
      }
    }
  }
};

// One panel times one to three blocks of rows, group by group: the tiles hold the sums of a group.
// They are stored, and scaled while the tiles are busy with the next group.
template <int kBlocks, typename Weights>
void multiply_groups(const Product& p, int panel, int block, const ExactCodes& codes,
                     Weights& weights) {
  const auto* a = static_cast<const char*>(p.inputs) +
                  static_cast<std::ptrdiff_t>(block) * p.depth * kTileRows * 2;
  const std::ptrdiff_t block_bytes = static_cast<std::ptrdiff_t>(p.depth) * kTileRows * 2;
  const int steps = p.depth / kTileDepth, groups = codes.groups();
  constexpr std::make_integer_sequence<int, 2 * kBlocks> kSums;
  ScaledSums sums[2 * kBlocks];
  alignas(64) float tiles[2][2 * kBlocks][kTileFloats];
  const auto scale = [&](int group) {
    const S::F left = codes.scales(group, 0), right = codes.scales(group, 16);
    for (int tile = 0; tile < 2 * kBlocks; ++tile)
      sums[tile].add(p, tiles[group % 2][tile], block + tile / 2, panel * kPanel + tile % 2 * 16,
                     tile % 2 == 0 ? left : right, group == 0, group + 1 == groups);
  };
  if constexpr (kBlocks == 2) begin_pair(a, block_bytes, weights.weights(0));
  Fetch none;
  // Prefetches the outputs, two rows per step: they are stored at the end.
  int row = block * kTileRows;
  const int last_row = least(p.rows, row + kBlocks * kTileRows);
  for (int step = 0, group = 0; group < groups; ++group) {
    zero_sums(kSums);
    for (const int end = codes.group_end(group) / kTileDepth; step < end; ++step, a += kTileBytes) {
      for (int ahead = 0; ahead < 2 && row < last_row; ++ahead, ++row) {
        __builtin_prefetch(out_of(p, row, panel * kPanel), 1, 3);
        __builtin_prefetch(out_of(p, row, panel * kPanel + 16), 1, 3);
      }
      weights.ahead(step);
      multiply_step<kBlocks, false>(a, block_bytes, weights.weights(step),
                                    step + 1 < steps ? weights.weights(step + 1) : nullptr, none);
    }
    store_sums(SumPlace{tiles[group % 2][0], 64, kTileFloats, 2 * kTileFloats}, kSums);
    settled();
    if (group > 0) scale(group - 1);
  }
  scale(groups - 1);
}

// Up to three blocks of rows decode a panel on the way; more decode it first, for all blocks.
void multiply_late_panel(const Product& p, int panel) {
  ExactCodes codes(*p.codes, static_cast<const char*>(p.weights) + panel * p.codes->panel_bytes());
  const int all = blocks(p.rows);
  if (all <= 3) {
    ExactAhead weights(codes, p.depth);
    if (all == 1) return multiply_groups<1>(p, panel, 0, codes, weights);
    if (all == 2) return multiply_groups<2>(p, panel, 0, codes, weights);
    return multiply_groups<3>(p, panel, 0, codes, weights);
  }
  auto* decoded = reinterpret_cast<char*>(p.scratch);
  for (int step = 0; step < p.depth / kTileDepth; ++step)
    codes.decode(step * kTileDepth, decoded + static_cast<std::ptrdiff_t>(step) * kPanelStepBytes);
  settled();
  Numbers weights{decoded};
  for (int block = 0; block < all; block += 2) {
    if (block + 1 < all) {
      multiply_groups<2>(p, panel, block, codes, weights);
    } else {
      multiply_groups<1>(p, panel, block, codes, weights);
    }
  }
}

void multiply_code_rows(const Product& p, int first_panel, int last_panel) {
  if (p.codes->late) {
    for (int panel = first_panel; panel < last_panel; ++panel) multiply_late_panel(p, panel);
    return;
  }
  const int all = blocks(p.rows);
  if (all == 1) return multiply_codes_once<1>(p, first_panel, last_panel);
  if (all == 2) return multiply_codes_once<2>(p, first_panel, last_panel);
  if (all == 3) return multiply_codes_once<3>(p, first_panel, last_panel);
  multiply_codes_pairs(p, Walk(p, first_panel, last_panel));
}

void multiply_rows(const Product& p, int first_panel, int last_panel) {
  if (p.codes) return multiply_code_rows(p, first_panel, last_panel);
  const Walk walk(p, first_panel, last_panel);
  const char* end =
      walk.weights() + static_cast<std::ptrdiff_t>(last_panel - first_panel) * p.depth * kPanel * 2;
  const int all = blocks(p.rows);
  const auto work = all > 3    ? multiply_pairs
                    : all == 3 ? multiply_once<3>
                    : all == 2 ? multiply_once<2>
                               : multiply_once<1>;
  work(p, walk, end);
}

// If the inputs of all rows exceed the cache, rows are split into groups that each read the weights
// once: that costs less than storing and reloading sums for every part of the depth.
void multiply(const Product& p, int first_panel, int last_panel) {
  const Tiles tiles;
  const int fit = kInputBytes / 2 / p.depth;
  int most = fit > 256 ? fit + fit / 4 : 320;
  // The sums of groups are not split along the depth: the inputs of all rows must fit.
  if (p.codes && p.codes->late) most = fit > 64 ? fit + fit / 4 : 64;
  const int groups = (p.rows + most - 1) / most;
  const int together = round_up((p.rows + groups - 1) / groups, kTileRows);
  for (int first = 0; first < p.rows; first += together) {
    Product part = p;
    part.rows = least(together, p.rows - first);
    part.inputs = static_cast<const char*>(p.inputs) + packed_bytes(first, p.depth);
    part.out.data = p.out.row(first);
    multiply_rows(part, first_panel, last_panel);
  }
}

constexpr Kernels table() {
  Kernels kernels = kernel_table<S>();
  kernels.bf16 = {packed_bytes, pack, multiply, scratch_floats, shared_part};
  kernels.attention_bf16 = kernels.attention_codes_bf16 = AmxAttention::run;
  kernels.attention_rows = AmxAttention::kRows;
  kernels.delta_chunks = AmxDelta::run;
  return kernels;
}

}  // namespace

const Kernels& amx_kernels() {
  static constexpr Kernels kKernels = table();
  return kKernels;
}

}  // namespace counterbeam
