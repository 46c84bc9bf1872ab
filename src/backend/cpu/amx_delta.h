// The chunked gated delta rule on AMX tiles. Chunks of 16 tokens begin at multiples of 16 of the
// position. Between calls a head keeps S as of the beginning of the open chunk, and the keys,
// updates u and decays of the chunk's tokens so far. With G_i the product of the decays up to token
// i, and r_is the product of the decays after token s up to token i:
//   u_i = beta_i (v_i - G_i S^T k_i - sum of r_is (k_s k_i) u_s over s < i)
//   o_i = G_i S^T q_i + sum of r_is (k_s q_i) u_s over s <= i
// and after the last token S <- G S + sum of r_s k_s u_s^T. So S is read once for all tokens of a
// call and written once per chunk, by GEMMs. A token's numbers come from its own tile rows and from
// earlier tokens in ascending order: how calls split a sequence changes no bit.
//
// Tiles multiply bf16, so q, k, S and r u are split into the sum of two bf16 numbers (upper and
// rest, 16 bits of significand in all); S is stored split. The product of two rests is omitted,
// except in the update of S, where it is free.
#pragma once

#include "backend/cpu/amx_tiles.h"
#include "backend/cpu/delta_kernel.h"
#include "backend/cpu/split_bf16.h"

namespace counterbeam {

class AmxDelta {
 public:
  static void run(const DeltaHead& head, float* scratch) {
    const Tiles tiles;
    AmxDelta work(head, scratch);
    for (int first = 0; first < head.tokens;) {
      const int place = (head.position + first) % kChunk, left = head.tokens - first;
      const int count = left < kChunk - place ? left : kChunk - place;
      work.take(first, place, count);
      first += count;
    }
  }

 private:
  using S = Avx512Bf16Simd;
  using F = S::F;
  static constexpr int kChunk = kDeltaChunk;
  static constexpr int kHalf = kTileRows / 2;
  static constexpr int kGrown = kTileDepth * kStateColumns;
  static constexpr int kFromMemory = 16384;  // prefetch distance in bytes
  static_assert(kChunk == kTileRows && kStateColumns == kPanel && kDepthStep == kTileDepth);
  static_assert(delta_scratch(kTileDepth, kStateColumns) == 16 * kTileFloats + 2 * kGrown);

  AmxDelta(const DeltaHead& head, float* scratch)
      : head_(head),
        steps_(round_up(head.key_dim, kTileDepth) / kTileDepth),
        strips_(round_up(head.value_dim, kStateColumns) / kStateColumns) {
    const auto part = [&](int floats) {
      float* at = scratch;
      scratch += floats;
      return at;
    };
    inputs_ = part(4 * steps_ * kTileFloats);
    alike_ = part(2 * kTileFloats);
    read_ = part(4 * strips_ * kTileFloats);
    turned_ = part(4 * steps_ * kTileFloats);
    split_ = part(2 * strips_ * kTileFloats);
    grown_ = part(2 * kGrown);
    const DeltaChunk kept(head.key_dim, head.value_dim);
    keys_ = reinterpret_cast<std::uint32_t*>(head.state + kept.keys());
    updates_ = head.state + kept.updates();
    decays_ = head.state + kept.decays();
    s_ = head.state + kept.s();
  }

  // Tokens [first, first + count) of this call, which are the chunk's tokens from `place` on.
  void take(int first, int place, int count) {
    const bool few = count <= kHalf;
    queries_from_ = few ? kHalf : kTileRows;
    for (int i = 0; i < count; ++i) pack(i, first + i, place + i, few ? 1 : 2);
    settled();
    few ? compare<1>() : compare<2>();
    const auto read_strip = [&](int strip) { few ? read<1>(strip) : read<2>(strip); };
    read_strip(0);
    settled();
    for (int i = 0; i < count; ++i) weigh(i, place + i);
    // Software pipeline: tiles compute one strip ahead of the vector code.
    for (int strip = 0; strip < strips_; ++strip) {
      if (strip + 1 < strips_) read_strip(strip + 1);
      settled();
      update(first, place, count, strip);
    }
    if (place + count == kChunk) close();
    cold_ = false;
  }

  // Rows of the inputs: k of token i is row i, q is row queries_from_ + i. The blocks of the upper
  // bits come first, then those of the rest. Other rows may hold anything: their sums are not read.
  void pack(int i, int token, int place, int blocks) {
    const int width = head_.key_dim;
    const float* q = head_.q + token * head_.stride;
    const float* k = head_.k + token * head_.stride;
    const F q_scale = S::set1(DeltaLoops<S>::query_scale(q, width));
    const F k_scale = S::set1(DeltaLoops<S>::key_scale(k, width));
    for (int step = 0; step < steps_; ++step) {
      auto* tiles = reinterpret_cast<std::uint16_t*>(inputs_ + step * 2 * blocks * kTileFloats);
      const int rest = blocks * kTileRows * kTileDepth;
      std::uint16_t* to_k = tiles + i * kTileDepth;
      std::uint16_t* to_q = tiles + (queries_from_ + i) * kTileDepth;
      for (int half = 0; half < kTileDepth; half += S::kWidth) {
        const int at = step * kTileDepth + half;
        store(S::mul(S::load_part(k + at, width - at), k_scale), to_k + half, rest);
        store(S::mul(S::load_part(q + at, width - at), q_scale), to_q + half, rest);
      }
      keep_key(to_k, keys_ + step * kTileFloats + place);
      keep_key(to_k + rest, keys_ + (steps_ + step) * kTileFloats + place);
    }
    decays_[place] = head_.decay[token];
  }
  static void store(F x, std::uint16_t* upper, int rest) {
    const F near = S::round_bf16(x);
    S::store_bf16(upper, near);
    S::store_bf16(upper + rest, S::sub(x, near));
  }
  static void keep_key(const std::uint16_t* key, std::uint32_t* to) {
    const auto* pairs = reinterpret_cast<const std::uint32_t*>(key);
    for (int pair = 0; pair < kTileDepth / 2; ++pair) to[pair * kChunk] = pairs[pair];
  }

  // The dot products of keys and queries with the keys of the chunk.
  template <int kBlocks>
  void compare() {
    zero_tile<0>();
    zero_tile<1>();
    for (int step = 0; step < steps_; ++step) {
      const float* a = inputs_ + step * 2 * kBlocks * kTileFloats;
      load_tile<6>(keys_ + step * kTileFloats, 64);
      load_tile<7>(keys_ + (steps_ + step) * kTileFloats, 64);
      load_tile<4>(a, 64);
      multiply_tiles<0, 4, 7>();
      multiply_tiles<0, 4, 6>();
      if constexpr (kBlocks == 2) {
        load_tile<5>(a + kTileFloats, 64);
        multiply_tiles<1, 5, 7>();
        multiply_tiles<1, 5, 6>();
      }
      load_tile<4>(a + kBlocks * kTileFloats, 64);
      multiply_tiles<0, 4, 6>();
      if constexpr (kBlocks == 2) {
        load_tile<5>(a + 3 * kTileFloats, 64);
        multiply_tiles<1, 5, 6>();
      }
    }
    store_tile<0>(alike_, 64);
    if constexpr (kBlocks == 2) store_tile<1>(alike_ + kTileFloats, 64);
  }

  // S^T k and S^T q of one strip.
  template <int kBlocks>
  void read(int strip) {
    const auto* w = reinterpret_cast<const char*>(s_ + strip * strip_floats());
    zero_tile<0>();
    zero_tile<1>();
    zero_tile<2>();
    zero_tile<3>();
    for (int step = 0; step < steps_; ++step, w += 2 * kPanelStepBytes) {
      const float* a = inputs_ + step * 2 * kBlocks * kTileFloats;
      load_inputs<kBlocks>(a);
      multiply_panel<kBlocks>(w + kPanelStepBytes);
      multiply_panel<kBlocks>(w);
      load_inputs<kBlocks>(a + kBlocks * kTileFloats);
      multiply_inputs<kBlocks>();
    }
    float* to = read_ + strip * 4 * kTileFloats;
    store_tile<0>(to, 4 * kStateColumns);
    store_tile<1>(to + 16, 4 * kStateColumns);
    if constexpr (kBlocks == 2) store_tile<2>(to + 2 * kTileFloats, 4 * kStateColumns);
    if constexpr (kBlocks == 2) store_tile<3>(to + 2 * kTileFloats + 16, 4 * kStateColumns);
  }
  template <int kBlocks>
  static void load_inputs(const float* a) {
    load_tile<4>(a, 64);
    if constexpr (kBlocks == 2) load_tile<5>(a + kTileFloats, 64);
  }
  template <int kBlocks>
  void multiply_panel(const char* w) {
    load_tile<6>(w, kPanelStride);
    ask(w, 0);
    load_tile<7>(w + 64, kPanelStride);
    ask(w, 1);
    multiply_inputs<kBlocks>();
    ask(w, 2);
    ask(w, 3);
  }
  template <int kBlocks>
  static void multiply_inputs() {
    multiply_tiles<0, 4, 6>();
    multiply_tiles<1, 4, 7>();
    if constexpr (kBlocks == 2) multiply_tiles<2, 5, 6>();
    if constexpr (kBlocks == 2) multiply_tiles<3, 5, 7>();
  }

  // Prefetches S: the first chunk of a call reads it from memory, later ones from the L2 cache.
  void ask(const char* w, int quarter) const {
    constexpr int kFromCache = 4096, kQuarter = kPanelStepBytes / 4;
    w += quarter * kQuarter;
    for (int at = 0; at < kQuarter; at += 64) {
      __builtin_prefetch(w + kFromCache + at, 0, 3);
      if (cold_) __builtin_prefetch(w + kFromMemory + at, 0, 2);
    }
  }
  // The next head in memory is probably computed next: prefetches what ask() did not reach of its
  // S.
  void ask_next(int strip) const {
    if (!cold_) return;
    const auto* end = reinterpret_cast<const char*>(s_ + strips_ * strip_floats());
    const auto part = (s_ - head_.state) * 4 / strips_;
    for (int at = 0; at < part; at += 64)
      __builtin_prefetch(end + kFromMemory + strip * part + at, 0, 2);
  }

  // The weights of earlier tokens for this one: G, and r times the dot products of keys.
  void weigh(int i, int place) {
    const float* k = alike_ + i * kChunk;
    const float* q = alike_ + (queries_from_ + i) * kChunk;
    float since = 1.0f;
    for (int s = place; s >= 0; --s) {
      by_key_[i][s] = since * k[s];
      by_query_[i][s] = since * q[s];
      since *= decays_[s];
    }
    decay_[i] = since;
  }

  // Updates and outputs of one strip.
  void update(int first, int place, int count, int strip) {
    ask_next(strip);
    const int column = strip * kStateColumns;
    const int lanes[2] = {head_.value_dim - column, head_.value_dim - column - S::kWidth};
    const float* k_sums = read_ + strip * 4 * kTileFloats;
    const float* q_sums = k_sums + queries_from_ * kStateColumns;
    float* updates = updates_ + strip * kChunk * kStateColumns;
    for (int i = 0; i < count; ++i, k_sums += kStateColumns, q_sums += kStateColumns) {
      const F decay = S::set1(decay_[i]), beta = S::set1(head_.beta[first + i]);
      F m[2], o[2];
      for (int j = 0; j < 2; ++j) {
        m[j] = S::mul(S::load(k_sums + j * S::kWidth), decay);
        o[j] = S::mul(S::load(q_sums + j * S::kWidth), decay);
      }
      for (int s = 0; s < place + i; ++s) {
        const F by_key = S::set1(by_key_[i][s]), by_query = S::set1(by_query_[i][s]);
        for (int j = 0; j < 2; ++j) {
          const F u = S::load(updates + s * kStateColumns + j * S::kWidth);
          m[j] = S::fma(by_key, u, m[j]);
          o[j] = S::fma(by_query, u, o[j]);
        }
      }
      const F own = S::set1(by_query_[i][place + i]);
      const float* v = head_.v + (first + i) * head_.stride + column;
      float* out = head_.out.row(first + i) + column;
      for (int j = 0; j < 2; ++j) {
        const F u = S::mul(beta, S::sub(S::load_part(v + j * S::kWidth, lanes[j]), m[j]));
        S::store(updates + (place + i) * kStateColumns + j * S::kWidth, u);
        S::store_part(out + j * S::kWidth, lanes[j], S::fma(own, u, o[j]));
      }
    }
  }

  // The chunk is full: computes S for the next one, 32 rows of a strip at a time, with tiles one
  // step ahead of the vector code.
  void close() {
    turn_keys();
    float since[kChunk + 1];
    since[kChunk] = 1.0f;
    for (int s = kChunk; s > 0; --s) since[s - 1] = since[s] * decays_[s - 1];
    for (int strip = 0; strip < strips_; ++strip) split_updates(strip, since + 1);
    const F decay = S::set1(since[0]);
    const int parts = strips_ * steps_;
    for (int part = 0; part <= parts; ++part) {
      settled();
      if (part < parts) grow(part / steps_, part % steps_, grown_ + part % 2 * kGrown);
      settled();
      if (part > 0)
        add(s_ + std::ptrdiff_t{part - 1} * 4 * kTileFloats, grown_ + (part - 1) % 2 * kGrown,
            decay);
    }
  }

  // r u of a strip, split into two bf16 numbers.
  void split_updates(int strip, const float* since) {
    const float* updates = updates_ + strip * kChunk * kStateColumns;
    for (int s = 0; s < kChunk; s += 2, updates += 2 * kStateColumns) {
      const F even = S::set1(since[s]), odd = S::set1(since[s + 1]);
      for (int column = 0; column < kStateColumns; column += S::kWidth) {
        float* to = split_ + strip * 2 * kTileFloats + s / 2 * kPanel + column;
        SplitBf16::split(S::mul(S::load(updates + column), even),
                         S::mul(S::load(updates + kStateColumns + column), odd), to,
                         to + kTileFloats);
      }
    }
  }

  // The sum of r k u^T, 32 rows of a strip.
  void grow(int strip, int step, float* to) const {
    if (step == 0) {
      load_tile<6>(split_ + strip * 2 * kTileFloats, kPanelStride);
      load_tile<7>(split_ + strip * 2 * kTileFloats + 16, kPanelStride);
    }
    const float* keys = turned_ + step * 2 * kTileFloats;
    outer<0, 1>(to, keys);
    outer<2, 3>(to + 2 * kTileFloats, keys + kTileFloats);
  }
  template <int kLeft, int kRight>
  void outer(float* to, const float* keys) const {
    zero_tile<kLeft>();
    zero_tile<kRight>();
    load_tile<4>(keys, 64);
    load_tile<5>(keys + 2 * steps_ * kTileFloats, 64);
    multiply_tiles<kLeft, 4, 6>();
    multiply_tiles<kRight, 4, 7>();
    multiply_tiles<kLeft, 5, 6>();
    multiply_tiles<kRight, 5, 7>();
    store_tile<kLeft>(to, 4 * kStateColumns);
    store_tile<kRight>(to + 16, 4 * kStateColumns);
  }

  // S <- decay S + grown, for one step of a strip.
  static void add(float* state, const float* grown, F decay) {
    for (int pair = 0; pair < kTileRows; ++pair, state += kPanel, grown += 2 * kStateColumns) {
      for (int column = 0; column < kStateColumns; column += S::kWidth) {
        float* upper = state + column;
        float* rest = upper + 2 * kTileFloats;
        const F even = S::fma(SplitBf16::even(upper, rest), decay, S::load(grown + column));
        const F odd =
            S::fma(SplitBf16::odd(upper, rest), decay, S::load(grown + kStateColumns + column));
        SplitBf16::split(even, odd, upper, rest);
      }
    }
  }

  // The keys transposed, [key_dim][token, twice]: once for the upper bits of the updates, once for
  // the rest.
  void turn_keys() {
    auto* to = reinterpret_cast<__m256i*>(turned_);
    for (int pair = 0; pair < 2 * steps_ * kTileRows; ++pair, to += 4) {
      const __m512i two = _mm512_loadu_si512(keys_ + pair * kChunk);
      to[0] = to[1] = _mm512_cvtepi32_epi16(two);
      to[2] = to[3] = _mm512_cvtepi32_epi16(_mm512_srli_epi32(two, 16));
    }
  }

  std::ptrdiff_t strip_floats() const { return std::ptrdiff_t{steps_} * 4 * kTileFloats; }

  const DeltaHead& head_;
  const int steps_, strips_;
  int queries_from_ = 0;
  bool cold_ = true;
  float* inputs_;        // [step][upper, rest][block][kTileRows][kTileDepth] bf16
  float* alike_;         // [row of the inputs][kChunk]
  float* read_;          // [strip][2 * kTileRows][kStateColumns]; one block uses the first half
  float* turned_;        // [upper, rest][padded key_dim][2][kChunk] bf16
  float* split_;         // r u: [strip][upper, rest][kChunk / 2][kPanel][2] bf16
  float* grown_;         // [2][kTileDepth][kStateColumns]
  std::uint32_t* keys_;  // [upper, rest][step][kTileDepth / 2][kChunk][2] bf16
  float* updates_;       // [strip][kChunk][kStateColumns]
  float* decays_;        // [kChunk]
  float* s_;             // [strip][step][upper, rest][kTileDepth / 2][kStateColumns][2] bf16
  float decay_[kChunk];  // G
  float by_key_[kChunk][kChunk], by_query_[kChunk][kChunk];
};

}  // namespace counterbeam
