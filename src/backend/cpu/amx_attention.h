// Attention on AMX tiles. A job has up to 32 rows (one row is a token and one of the query heads
// that share a key head) in two tiles, and scores four pages before each step of the online
// softmax. The shared prefix of a job's sequences is loaded once for all rows; each sequence then
// continues with its own pages.
//
// Row invariance: a row is a tile row of its own, takes the same pages in the same order, and steps
// its softmax at the same pages whichever rows it is batched with.
#pragma once

#include "backend/cpu/amx_cache.h"
#include "backend/cpu/amx_fetch.h"
#include "backend/cpu/amx_softmax.h"

namespace counterbeam {

class AmxAttention {
 public:
  static constexpr int kRows = AmxSoftmax::kRows;

  static void run(const AttentionJob& job, float* scratch) {
    const Tiles tiles;
    int rows = 0;
    for (int m = 0; m < job.count; ++m) rows += job.heads[m].tokens * job.heads[m].group;
    for (int first = 0; first < rows; first += kRows) {
      const int count = rows - first < kRows ? rows - first : kRows;
      AmxAttention work(job, first, count, scratch);
      if (count > kTileRows) {
        work.attend<2>();
      } else {
        work.attend<1>();
      }
    }
  }

 private:
  using S = AmxSoftmax::S;
  static constexpr int kPages = AmxSoftmax::kPages;
  // The tile of the last sequence is padded to 16 rows from wherever it begins.
  static constexpr int kMostLines = kRows + kTileRows;
  static_assert(attention_scratch(1, 32) >=
                AmxSoftmax::floats(kMostLines, 2) + kMostLines * 16 + (1 + kPages) * kPanel * 16);

  static int lines(const AttentionJob& job, int count) {
    return round_up(count, kTileRows) + (job.count > 1 ? kTileRows : 0);
  }

  AmxAttention(const AttentionJob& job, int first, int count, float* scratch)
      : job_(job),
        head_(job.heads[0]),
        steps_(round_up(head_.width, kTileDepth) / kTileDepth),
        lines_(lines(job, count)),
        softmax_(count, lines_, 2 * steps_, head_.scale, scratch),
        fetch_(job, count) {
    queries_ = reinterpret_cast<std::uint16_t*>(  // [step][line][kTileDepth]
        scratch + AmxSoftmax::floats(lines_, 2 * steps_));
    keys_ = reinterpret_cast<std::byte*>(queries_ + steps_ * lines_ * kTileDepth);
    values_ = keys_ + steps_ * kPanelStepBytes;
    const AttentionHead* head = job.heads;
    int token = first / head->group, member = first % head->group;
    for (int r = 0; r < count; ++r) {
      softmax_.row(r) = {head->queries + token * head->query_stride + member * head->width,
                         head->out + token * head->out_stride + member * head->width,
                         head->first_seen(token), head->last_seen(token), head->last_page()};
      if (++member < head->group) continue;
      member = 0;
      if (++token == head->tokens) {
        token = 0;
        ++head;
      }
    }
    pack_queries();
  }

  void pack_queries() {
    std::uint16_t* to = queries_;
    for (int k = 0; k < steps_ * kTileDepth; k += kTileDepth) {
      for (int r = 0; r < lines_; ++r) {
        for (int at = k; at < k + kTileDepth; at += S::kWidth, to += S::kWidth) {
          S::store_bf16(to, r < softmax_.count()
                                ? S::load_part(softmax_.row(r).query + at, head_.width - at)
                                : S::zero());
        }
      }
    }
  }

  template <int Q>
  void attend() {
    int last = 0;
    for (int m = 0; m < job_.count; ++m) last = greater(last, job_.heads[m].last_page());
    const int first = head_.first_step();
    // A single sequence treats all its pages as shared.
    const int shared = job_.count > 1 ? job_.shared : last;
    for (int step = first; step < last; step += kPages) {
      const int together = least(shared, step + kPages);
      const bool apart = job_.count > 1 && shared < step + kPages;
      settled();
      for (int page = step; page < together; ++page) score<Q>(head_, page, page - step, 0);
      if (apart) score_own(greater(step, shared), step);
      softmax_.step(step * kPanel, [&] { fetch_.ask(); });
      if (step < together) mix<Q>(head_, step, together, step, 0, true);
      if (apart) mix_own(greater(step, shared), step);
    }
    softmax_.finish(head_.width);
  }

  static int least(int a, int b) { return a < b ? a : b; }
  static int greater(int a, int b) { return a > b ? a : b; }

  // A tile may start at any row, so it also covers rows of the next sequence. Their scores are
  // overwritten when that sequence's own tile is computed.
  void score_own(int from, int step) {
    int row = 0;
    for (int m = 0; m < job_.count; ++m) {
      const AttentionHead& head = job_.heads[m];
      const int until = least(head.last_page(), step + kPages);
      for (int page = from; page < until; ++page) score<1>(head, page, page - step, row);
      row += head.tokens * head.group;
    }
  }
  // As in score_own(). Sums are read from one buffer and written to the other, so that no row
  // accumulates another sequence's values.
  void mix_own(int from, int step) {
    int row = 0;
    for (int m = 0; m < job_.count; ++m) {
      const AttentionHead& head = job_.heads[m];
      const int until = least(head.last_page(), step + kPages);
      mix<1>(head, from, until, step, row, false);
      row += head.tokens * head.group;
    }
    softmax_.swap_sums();
  }

  // The scores of Q tiles of rows, starting at `row`, with page number `place` of this step.
  template <int Q>
  void score(const AttentionHead& head, int page, int place, int row) {
    zero_tile<0>();
    zero_tile<1>();
    if constexpr (Q == 2) {
      zero_tile<2>();
      zero_tile<3>();
    }
    const std::byte* w = keys_of(head, page);
    const auto* a = reinterpret_cast<const char*>(queries_ + row * kTileDepth);
    for (int i = 0; i < steps_; ++i) {
      load_tile<6>(w, kPanelStride);
      load_tile<7>(w + 64, kPanelStride);
      load_tile<4>(a, 64);
      multiply_tiles<0, 4, 6>();
      multiply_tiles<1, 4, 7>();
      if constexpr (Q == 2) {
        load_tile<5>(a + kTileBytes, 64);
        multiply_tiles<2, 5, 6>();
        multiply_tiles<3, 5, 7>();
      }
      fetch_.ask();
      a += lines_ * 64;
      w += kPanelStepBytes;
    }
    store_tile<0>(softmax_.scores(row, place, 0), 64);
    store_tile<1>(softmax_.scores(row, place, 1), 64);
    if constexpr (Q == 2) {
      store_tile<2>(softmax_.scores(row + kTileRows, place, 0), 64);
      store_tile<3>(softmax_.scores(row + kTileRows, place, 1), 64);
    }
  }

  // sums += shares * values for Q tiles of rows, starting at `row`, and pages [from, until).
  template <int Q>
  void mix(const AttentionHead& head, int from, int until, int step, int row, bool in_place) {
    const std::byte* values[kPages];
    for (int page = from; page < until; ++page)
      values[page - step] = values_of(head, page, page - step);
    settled();
    for (int column = 0; column < 2 * steps_; column += 2) {
      const float* at = softmax_.sums(row, column);
      const float* beside = softmax_.sums(row, column + 1);
      load_tile<0>(at, 64);
      load_tile<1>(beside, 64);
      if constexpr (Q == 2) {
        load_tile<2>(at + kTileFloats, 64);
        load_tile<3>(beside + kTileFloats, 64);
      }
      for (int page = from; page < until; ++page) {
        const std::byte* w = values[page - step] + column * kTileBytes;
        load_tile<6>(w, kPanelStride);
        load_tile<7>(w + 64, kPanelStride);
        load_tile<4>(softmax_.shares(row, page - step), 64);
        multiply_tiles<0, 4, 6>();
        multiply_tiles<1, 4, 7>();
        if constexpr (Q == 2) {
          load_tile<5>(softmax_.shares(row + kTileRows, page - step), 64);
          multiply_tiles<2, 5, 6>();
          multiply_tiles<3, 5, 7>();
        }
        fetch_.ask();
      }
      float* to = in_place ? softmax_.sums(row, column) : softmax_.next_sums(row, column);
      float* to_beside = to + lines_ * 16;
      store_tile<0>(to, 64);
      store_tile<1>(to_beside, 64);
      if constexpr (Q == 2) {
        store_tile<2>(to + kTileFloats, 64);
        store_tile<3>(to_beside + kTileFloats, 64);
      }
    }
    settled();
  }

  const std::byte* keys_of(const AttentionHead& head, int page) {
    if (head.type == CacheType::Plain) return head.page(page);
    settled();
    AmxCache::keys(head.type, head.page(page), steps_ * kPanel, keys_);
    settled();
    return keys_;
  }

  // The values of a page, which is number `place` of its step, with zeros for tokens that are not
  // stored yet: their memory may hold anything, NaN included.
  const std::byte* values_of(const AttentionHead& head, int page, int place) {
    const std::byte* values = head.page(page) + head.half_bytes;
    const int tokens = head.last_seen(head.tokens - 1) - page * kPanel;
    if (head.type != CacheType::Plain) {
      std::byte* to = values_ + place * steps_ * kPanelStepBytes;
      AmxCache::values(head.type, values, steps_ * kPanel, tokens, to);
      return to;
    }
    if (tokens >= kPanel) return values;
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
    return values_;
  }

  const AttentionJob& job_;
  const AttentionHead& head_;  // the first of the job
  const int steps_, lines_;
  AmxSoftmax softmax_;
  AmxFetch fetch_;
  std::uint16_t* queries_;
  std::byte* keys_;    // of a page of codes
  std::byte* values_;  // of the pages of a step, or of the last one
};

}  // namespace counterbeam
