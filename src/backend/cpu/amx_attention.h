// Attention on AMX tiles: up to kRows rows (a token and one of the query heads that share a key
// head) against pages of keys and values. Pages are taken in order, kPages at a time counted from
// the first of the sequence, each time with a step of the running softmax. A row's sums are its
// own and what it does not see adds nothing, so its bits do not depend on the rows beside it.
#pragma once

#include "backend/cpu/amx_tiles.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_avx512.h"
#include "backend/cpu/vector_math.h"

namespace counterbeam {

class AmxAttention {
 public:
  static constexpr int kRows = 2 * kTileRows;
  // Queries, scores and shares, sums, and a page of values.
  static_assert(attention_scratch(1, 32) >= (2 + 24 + 4 + 2) * kTileFloats);

  static void run(const AttentionHead& head, float* scratch) {
    const Tiles tiles;
    const int rows = head.tokens * head.group;
    for (int first = 0; first < rows; first += kRows) {
      const int count = rows - first < kRows ? rows - first : kRows;
      if (count > kTileRows) {
        AmxAttention(head, first, count, 2, scratch).attend<2>();
      } else {
        AmxAttention(head, first, count, 1, scratch).attend<1>();
      }
    }
  }

 private:
  using S = Avx512Bf16Simd;
  using F = S::F;
  static constexpr int kPages = 4;  // whose scores are made at once
  static constexpr float kNever = -3.0e38f;

  AmxAttention(const AttentionHead& head, int first, int count, int tiles, float* scratch)
      : head_(head), count_(count), steps_(round_up(head.width, kTileDepth) / kTileDepth) {
    queries_ = reinterpret_cast<std::uint16_t*>(scratch);  // [tile][step][row][kTileDepth]
    scores_ = scratch + tiles * steps_ * kTileFloats;      // [tile][page][half][row][16]
    shares_ = reinterpret_cast<std::uint16_t*>(            // [tile][page][row][kTileDepth]
        scores_ + tiles * kPages * 2 * kTileFloats);
    sums_ = scores_ + tiles * kPages * 3 * kTileFloats;  // [tile][column tile][row][16]
    values_ = sums_ + tiles * steps_ * 2 * kTileFloats;  // a page whose tokens are not all there
    int token = first / head.group, member = first % head.group;
    for (int r = 0; r < count; ++r) {
      rows_[r].query = head.queries + token * head.query_stride + member * head.width;
      rows_[r].out = head.out + token * head.out_stride + member * head.width;
      rows_[r].first = head.first_seen(token);
      rows_[r].last = head.last_seen(token);
      if (++member == head.group) {
        member = 0;
        ++token;
      }
    }
    for (int r = 0; r < tiles * kTileRows; ++r) {
      top_[r] = kNever;
      total_[r] = 0;
    }
    for (int i = 0; i < tiles * steps_ * 2 * kTileFloats; i += S::kWidth)
      S::store(sums_ + i, S::zero());
    pack_queries(tiles);
  }

  void pack_queries(int tiles) {
    std::uint16_t* to = queries_;
    for (int tile = 0; tile < tiles; ++tile) {
      for (int k = 0; k < steps_ * kTileDepth; k += kTileDepth) {
        for (int r = tile * kTileRows; r < (tile + 1) * kTileRows; ++r) {
          for (int half = 0; half < kTileDepth; half += S::kWidth, to += S::kWidth) {
            const int at = k + half;
            S::store_bf16(
                to, r < count_ ? S::load_part(rows_[r].query + at, head_.width - at) : S::zero());
          }
        }
      }
    }
  }

  static const char* keys_of(const AttentionHead& head, int page) {
    return reinterpret_cast<const char*>(head.store) +
           static_cast<std::ptrdiff_t>(head.pages[page]) * head.page_bytes;
  }
  const char* keys(int page) const { return keys_of(head_, page); }

  // The keys and values of up to kPages pages from `page` on, of this head or the next.
  void fetch(const AttentionHead& head, int page) const {
    const int pages = (head.last_seen(head.tokens - 1) + kPanel - 1) / kPanel;
    for (int i = page; i < pages && i < page + kPages; ++i) {
      const char* at = keys_of(head, i);
      if (&head != &head_ && i * kPanel < head_.position && at == keys(i)) continue;  // shared
      for (int line = 0; line < 2 * steps_ * kPanel; ++line)
        __builtin_prefetch(at + line * 64, 0, 2);
    }
  }
  static int first_page(const AttentionHead& head) {
    return head.first_seen(0) / kPanel / kPages * kPages;
  }

  template <int Q>
  void attend() {
    const int last = rows_[count_ - 1].last, pages = (last + kPanel - 1) / kPanel;
    // One token finds its pages in memory; many share them, in the cache.
    const bool alone = head_.tokens == 1;
    for (int page = rows_[0].first / kPanel / kPages * kPages; page < pages; page += kPages) {
      const int count = pages - page < kPages ? pages - page : kPages;
      settled();
      for (int i = 0; i < count; ++i) score<Q>(keys(page + i), i);
      if (alone && page + kPages < pages) fetch(head_, page + kPages);
      if (alone && page + kPages >= pages && head_.next)
        fetch(*head_.next, first_page(*head_.next));
      softmax<Q>(page * kPanel, count);
      mix<Q>(page, count, last);
    }
    for (int r = 0; r < count_; ++r) {
      const F total = S::set1(total_[r]);
      for (int i = 0; i < head_.width; i += S::kWidth)
        S::store_part(rows_[r].out + i, head_.width - i, S::div(S::load(sum(r, i / 16)), total));
    }
  }

  float* score_of(int row, int vector) const {
    return scores_ + (row / kTileRows * kPages * 2 + vector) * kTileFloats + row % kTileRows * 16;
  }
  float* sum(int row, int column_tile) const {
    return sums_ + (row / kTileRows * steps_ * 2 + column_tile) * kTileFloats +
           row % kTileRows * 16;
  }

  template <int Q>
  void score(const char* w, int page) {
    _tile_zero(0);
    _tile_zero(1);
    if constexpr (Q == 2) {
      _tile_zero(2);
      _tile_zero(3);
    }
    const char* a = reinterpret_cast<const char*>(queries_);
    const char* b = a + steps_ * kTileBytes;
    for (int step = 0; step < steps_; ++step) {
      _tile_loadd(6, w, kPanelStride);
      _tile_loadd(7, w + 64, kPanelStride);
      _tile_loadd(4, a, 64);
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      if constexpr (Q == 2) {
        _tile_loadd(5, b, 64);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
      }
      a += kTileBytes;
      b += kTileBytes;
      w += kPanelStepBytes;
    }
    _tile_stored(0, score_of(0, 2 * page), 64);
    _tile_stored(1, score_of(0, 2 * page + 1), 64);
    if constexpr (Q == 2) {
      _tile_stored(2, score_of(kTileRows, 2 * page), 64);
      _tile_stored(3, score_of(kTileRows, 2 * page + 1), 64);
    }
  }

  // Scores of `pages` pages, whose first token is `start`, into shares; fades the sums.
  template <int Q>
  void softmax(int start, int pages) {
    const int end = start + pages * kPanel;
    for (int r = 0; r < count_; ++r) {
      if (rows_[r].first <= start && rows_[r].last >= end) {
        next_top_[r] = scale_row<false>(r, start, pages);
      } else {
        next_top_[r] = scale_row<true>(r, start, pages);
      }
    }
    for (int r = 0; r < Q * kTileRows; r += S::kWidth) {
      const F now = S::load(next_top_ + r);
      S::store(fade_ + r, exp_of<S>(S::sub(S::load(top_ + r), now)));
      S::store(top_ + r, now);
    }
    for (int r = 0; r < count_; ++r) {
      if (rows_[r].first <= start && rows_[r].last >= end) {
        share_row<false>(r, start, pages);
      } else {
        share_row<true>(r, start, pages);
      }
      if (fade_[r] == 1.0f) continue;
      const F fade = S::set1(fade_[r]);
      for (int i = 0; i < 2 * steps_; ++i) S::store(sum(r, i), S::mul(S::load(sum(r, i)), fade));
    }
    settled();
  }

  template <bool kMasked>
  float scale_row(int r, int start, int pages) {
    const F scale = S::set1(head_.scale), never = S::set1(kNever);
    F top = S::set1(top_[r]);
    for (int i = 0; i < 2 * pages; ++i) {
      F s = S::mul(S::load(score_of(r, i)), scale);
      if constexpr (kMasked) {
        const int at = start + i * S::kWidth;
        s = S::first(rows_[r].first - at, never, S::first(rows_[r].last - at, s, never));
      }
      S::store(score_of(r, i), s);
      top = S::max(s, top);
    }
    return S::largest(top);
  }

  template <bool kMasked>
  void share_row(int r, int start, int pages) {
    const F top = S::set1(top_[r]);
    F sum = S::zero();
    for (int i = 0; i < 2 * pages; ++i) {
      F share = exp_of<S>(S::sub(S::load(score_of(r, i)), top));
      if constexpr (kMasked) {
        const int at = start + i * S::kWidth;
        share = S::first(rows_[r].first - at, S::zero(),
                         S::first(rows_[r].last - at, share, S::zero()));
      }
      sum = S::add(sum, share);
      S::store_bf16(share_of(r / kTileRows, i / 2) + r % kTileRows * kTileDepth + i % 2 * 16,
                    share);
    }
    total_[r] = total_[r] * fade_[r] + S::sum(sum);
  }

  std::uint16_t* share_of(int tile, int page) const {
    return shares_ + (tile * kPages + page) * kTileRows * kTileDepth;
  }

  // sums += shares * values. Tokens from `last` on hold anything, NaN too.
  template <int Q>
  void mix(int page, int count, int last) {
    const char* values[kPages];
    for (int i = 0; i < count; ++i) {
      values[i] = keys(page + i) + steps_ * kPanelStepBytes;
      const int tokens = last - (page + i) * kPanel;
      if (tokens < kPanel) values[i] = first_tokens(values[i], tokens);
    }
    settled();
    for (int panel = 0; panel < steps_; ++panel) {
      float* at = sum(0, 2 * panel);
      float* at_b = sum(kTileRows, 2 * panel);
      _tile_loadd(0, at, 64);
      _tile_loadd(1, at + kTileFloats, 64);
      if constexpr (Q == 2) {
        _tile_loadd(2, at_b, 64);
        _tile_loadd(3, at_b + kTileFloats, 64);
      }
      for (int i = 0; i < count; ++i) {
        const char* w = values[i] + panel * kPanelStepBytes;
        _tile_loadd(6, w, kPanelStride);
        _tile_loadd(7, w + 64, kPanelStride);
        _tile_loadd(4, share_of(0, i), 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        if constexpr (Q == 2) {
          _tile_loadd(5, share_of(1, i), 64);
          _tile_dpbf16ps(2, 5, 6);
          _tile_dpbf16ps(3, 5, 7);
        }
      }
      _tile_stored(0, at, 64);
      _tile_stored(1, at + kTileFloats, 64);
      if constexpr (Q == 2) {
        _tile_stored(2, at_b, 64);
        _tile_stored(3, at_b + kTileFloats, 64);
      }
    }
  }

  // A page of values with zeros behind its first tokens.
  const char* first_tokens(const char* values, int tokens) {
    const auto* from = reinterpret_cast<const std::uint32_t*>(values);
    auto* to = reinterpret_cast<std::uint32_t*>(values_);
    for (int line = 0; line < steps_ * kPanel; ++line, from += 16, to += 16) {
      const int pair = line / 2 % 16;  // two lines of 16 columns each
      S::Pairs pairs = S::load_pairs(from);
      if (2 * pair >= tokens) {
        pairs = _mm512_setzero_si512();
      } else if (2 * pair + 1 == tokens) {
        pairs = S::lower_only(pairs);
      }
      _mm512_storeu_si512(to, pairs);
    }
    return reinterpret_cast<const char*>(values_);
  }

  struct Row {
    const float* query;
    float* out;
    int first, last;  // tokens [first, last) are seen
  };

  const AttentionHead& head_;
  const int count_, steps_;
  std::uint16_t* queries_;
  float* scores_;
  std::uint16_t* shares_;
  float* sums_;
  float* values_;
  Row rows_[kRows];
  alignas(64) float top_[kRows], next_top_[kRows] = {}, total_[kRows], fade_[kRows];
};

}  // namespace counterbeam
