// The rows of attention on AMX tiles and their running softmax. A step of it takes the scores of up
// to kPages pages, counted from the first of the sequence, and leaves each row's shares and faded
// sums. A row reads and writes nothing but its own lines, so its bits do not depend on the others.
//
// In all arrays the rows lie one after the other, a tile row (64 bytes) each, so that a tile may
// begin at any row.
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

  // `lines`: places for rows, `column_tiles` tiles of 16 columns to a row of sums. REQUIRES the
  // rows to be filled in next.
  AmxSoftmax(int count, int lines, int column_tiles, float scale, float* scratch)
      : count_(count), lines_(lines), column_tiles_(column_tiles), scale_(scale) {
    scores_ = scratch;
    shares_ = reinterpret_cast<std::uint16_t*>(scores_ + kPages * 2 * lines * 16);
    sums_ = scores_ + kPages * 3 * lines * 16;
    for (int r = 0; r < kRows; ++r) {
      top_[r] = kNever;
      total_[r] = 0;
    }
    for (int i = 0; i < column_tiles * lines * 16; i += S::kWidth) S::store(sums_ + i, S::zero());
  }
  static constexpr int floats(int lines, int column_tiles) {
    return (kPages * 3 + 2 * column_tiles) * lines * 16;
  }

  Row& row(int r) { return rows_[r]; }
  int count() const { return count_; }
  // Where a tile of them begins: [page][half], [page], [column tile] of [line][64 bytes].
  float* scores(int row, int page, int half) const {
    return scores_ + ((page * 2 + half) * lines_ + row) * 16;
  }
  std::uint16_t* shares(int row, int page) const {
    return shares_ + (page * lines_ + row) * kTileDepth;
  }
  float* sums(int row, int column_tile) const { return sums_ + (column_tile * lines_ + row) * 16; }
  // The other place for sums; what is there are the sums after swap_sums().
  float* next_sums(int row, int column_tile) const {
    return sums(row, column_tile) + (swapped_ ? -1 : 1) * column_tiles_ * lines_ * 16;
  }
  void swap_sums() {
    sums_ = next_sums(0, 0);
    swapped_ = !swapped_;
  }

  // A step over the pages whose first token is `start`. `between()` is called twice for every row.
  template <typename Between>
  void step(int start, const Between& between) {
    for (int r = 0; r < count_; ++r) {
      next_top_[r] = sees_all(r, start) ? scale_row<false>(r, start) : scale_row<true>(r, start);
      between();
    }
    for (int r = 0; r < count_; r += S::kWidth) {
      const F now = S::load(next_top_ + r);
      S::store(fade_ + r, exp_of<S>(S::sub(S::load(top_ + r), now)));
      S::store(top_ + r, now);
    }
    for (int r = 0; r < count_; ++r) {
      if (pages(r, start) > 0) {
        sees_all(r, start) ? share_row<false>(r, start) : share_row<true>(r, start);
        fade_row(r);
      }
      between();
    }
  }

  void finish(int width) const {
    for (int r = 0; r < count_; ++r) {
      const F total = S::set1(total_[r]);
      for (int i = 0; i < width; i += S::kWidth)
        S::store_part(rows_[r].out + i, width - i, S::div(S::load(sums(r, i / 16)), total));
    }
  }

 private:
  static constexpr float kNever = -3.0e38f;

  // Of this step and the sequence of row r.
  int pages(int r, int start) const {
    const int pages = rows_[r].pages - start / kPanel;
    return pages < kPages ? pages : kPages;
  }
  bool sees_all(int r, int start) const {
    return rows_[r].first <= start && rows_[r].last >= start + pages(r, start) * kPanel;
  }

  template <bool kMasked>
  float scale_row(int r, int start) {
    const F scale = S::set1(scale_), never = S::set1(kNever);
    F top = S::set1(top_[r]);
    for (int i = 0; i < 2 * pages(r, start); ++i) {
      float* at = scores(r, i / 2, i % 2);
      F s = S::mul(S::load(at), scale);
      if constexpr (kMasked) {
        const int token = start + i * S::kWidth;
        s = S::first(rows_[r].first - token, never, S::first(rows_[r].last - token, s, never));
      }
      S::store(at, s);
      top = S::max(s, top);
    }
    return S::largest(top);
  }

  template <bool kMasked>
  void share_row(int r, int start) {
    const F top = S::set1(top_[r]);
    F sum = S::zero();
    for (int i = 0; i < 2 * pages(r, start); ++i) {
      F share = exp_of<S>(S::sub(S::load(scores(r, i / 2, i % 2)), top));
      if constexpr (kMasked) {
        const int token = start + i * S::kWidth;
        share = S::first(rows_[r].first - token, S::zero(),
                         S::first(rows_[r].last - token, share, S::zero()));
      }
      sum = S::add(sum, share);
      S::store_bf16(shares(r, i / 2) + i % 2 * 16, share);
    }
    total_[r] = total_[r] * fade_[r] + S::sum(sum);
  }

  void fade_row(int r) {
    if (fade_[r] == 1.0f) return;
    const F fade = S::set1(fade_[r]);
    for (int i = 0; i < column_tiles_; ++i) S::store(sums(r, i), S::mul(S::load(sums(r, i)), fade));
  }

  const int count_, lines_, column_tiles_;
  const float scale_;
  float* scores_;
  std::uint16_t* shares_;
  float* sums_;
  bool swapped_ = false;
  Row rows_[kRows];
  alignas(64) float top_[kRows], next_top_[kRows] = {}, total_[kRows], fade_[kRows];
};

}  // namespace counterbeam
