// The rows of attention on AMX tiles and their online softmax. A step takes the scores of up to
// kPages pages (page numbers counted from the start of the sequence), and leaves each row's shares
// (the softmax weights) and its rescaled sums. A row reads and writes only its own lines, so its
// bits do not depend on other rows.
//
// In all arrays rows are contiguous, one tile row (64 bytes) each, so that a tile may begin at any
// row.
#pragma once

#include "backend/cpu/amx_tiles.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_avx512.h"
#include "backend/cpu/vector_math.h"

namespace counterbeam {

class AmxSoftmax {
 public:
  using S = Avx512Bf16Simd;
  using F = S::F;
  static constexpr int kRows = 2 * kTileRows;
  static constexpr int kPages = AttentionHead::kStepPages;

  struct Row {
    const float* query;
    float* out;
    int first, last;  // tokens [first, last) are seen
    int pages;        // of its sequence
  };

  // `lines`: rows that fit, `column_tiles`: tiles of 16 columns in a row of sums. The caller fills
  // in the rows next.
  AmxSoftmax(int count, int lines, int column_tiles, float scale, float* scratch)
      : count_(count), lines_(lines), column_tiles_(column_tiles), scale_(scale * kLog2E) {
    scores_ = scratch;
    shares_ = reinterpret_cast<std::uint16_t*>(scores_ + kPages * 2 * lines * 16);
    sums_ = scores_ + kPages * 3 * lines * 16;
    for (int r = 0; r < count; ++r) {
      top_[r] = kNever;
      S::store(totals_[r], S::zero());
    }
    for (int i = 0; i < column_tiles * lines * 16; i += S::kWidth) S::store(sums_ + i, S::zero());
  }
  static constexpr int floats(int lines, int column_tiles) {
    return (kPages * 3 + 2 * column_tiles) * lines * 16;
  }

  Row& row(int r) { return rows_[r]; }
  int count() const { return count_; }
  // The beginning of a tile. Layouts: scores [page][half], shares [page], sums [column tile], each
  // of [line][64 bytes].
  float* scores(int row, int page, int half) const {
    return scores_ + ((page * 2 + half) * lines_ + row) * 16;
  }
  std::uint16_t* shares(int row, int page) const {
    return shares_ + (page * lines_ + row) * kTileDepth;
  }
  float* sums(int row, int column_tile) const { return sums_ + (column_tile * lines_ + row) * 16; }
  // The other buffer of sums, which becomes current with swap_sums().
  float* next_sums(int row, int column_tile) const {
    return sums(row, column_tile) + (swapped_ ? -1 : 1) * column_tiles_ * lines_ * 16;
  }
  void swap_sums() {
    sums_ = next_sums(0, 0);
    swapped_ = !swapped_;
  }

  // A step over the pages whose first token is `start`. `between()` is called after every row.
  template <typename Between>
  void step(int start, const Between& between) {
    for (int r = 0; r < count_; ++r) {
      const int pages = least(rows_[r].pages - start / kPanel, kPages);
      const bool all = rows_[r].first <= start && rows_[r].last >= start + pages * kPanel;
      if (pages > 0) all ? step_row<false>(r, start, pages) : step_row<true>(r, start, pages);
      between();
    }
  }

  void finish(int width) const {
    for (int r = 0; r < count_; ++r) {
      const F part = S::set1(1.0f / S::sum(S::load(totals_[r])));
      for (int i = 0; i < width; i += S::kWidth)
        S::store_part(rows_[r].out + i, width - i, S::mul(S::load(sums(r, i / 16)), part));
    }
  }

 private:
  static constexpr float kNever = -3.0e38f;

  static int least(int a, int b) { return a < b ? a : b; }

  // 16 scores or shares from token `at` on, with `other` for tokens that the row does not see.
  template <bool kMasked>
  static F seen(const Row& row, int at, F x, F other) {
    if constexpr (!kMasked) return x;
    return S::first(row.first - at, other, S::first(row.last - at, x, other));
  }

  template <bool kMasked>
  void step_row(int r, int start, int pages) {
    const Row& row = rows_[r];
    const float* from = scores(r, 0, 0);
    const int pitch = lines_ * 16;
    const F before = S::set1(top_[r]), scale = S::set1(scale_);
    F top = before;
    for (int i = 0; i < 2 * pages; ++i) {
      const F score = S::load(from + i * pitch);
      top = S::max(seen<kMasked>(row, start + i * S::kWidth, score, S::set1(kNever)), top);
    }
    top_[r] = S::largest(top);
    top = S::set1(top_[r]);
    const F offset = S::mul(top, S::sub(S::zero(), scale));
    F sum = S::zero();
    const auto share = [&](int i) {
      const F x = exp2_of<S>(S::fma(S::load(from + i * pitch), scale, offset));
      return seen<kMasked>(row, start + i * S::kWidth, x, S::zero());
    };
    for (int page = 0; page < pages; ++page) {
      const F lower = share(2 * page), upper = share(2 * page + 1);
      sum = S::add(S::add(sum, lower), upper);
      _mm512_storeu_si512(shares(r, page), (__m512i)_mm512_cvtne2ps_pbh(upper, lower));
    }
    const F fade = exp2_of<S>(S::mul(S::sub(before, top), scale));
    S::store(totals_[r], S::fma(S::load(totals_[r]), fade, sum));
    for (int i = 0; i < column_tiles_; ++i) S::store(sums(r, i), S::mul(S::load(sums(r, i)), fade));
  }

  const int count_, lines_, column_tiles_;
  const float scale_;  // turns a score into an exponent of 2
  float* scores_;
  std::uint16_t* shares_;
  float* sums_;
  bool swapped_ = false;
  Row rows_[kRows];
  float top_[kRows];                     // the largest score so far
  alignas(64) float totals_[kRows][16];  // sums of shares, one per lane
};

}  // namespace counterbeam
