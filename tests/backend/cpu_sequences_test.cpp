// Tests attention of the CPU back end against the reference at odd shapes. Results must be bitwise
// equal for prefill, single tokens and any split in between.
#include <fmt/format.h>

#include <algorithm>

#include "cpu_support.h"
#include "support/test_size.h"

namespace counterbeam {
namespace {

class CpuSequences : public CpuPaths {};
INSTANTIATE_TEST_SUITE_P(Paths, CpuSequences, ::testing::ValuesIn(all_paths()), path_name);

struct AttentionCase {
  int kv_heads, group, width, tokens, window;
};

constexpr AttentionCase kAttentionCases[] = {
    {2, 7, 64, 100, 0}, {1, 1, 16, 33, 0},   {3, 2, 80, 70, 0},
    {1, 13, 5, 64, 0},  {2, 4, 256, 65, 0},  {2, 3, 32, 130, 40},
    {1, 7, 64, 290, 0}, {1, 20, 32, 150, 0}, {1, 2, 48, 300, 70},
};

// The outputs [tokens, heads * width] of a sequence that is split into steps at `cuts`.
std::vector<float> attend(Ops& ops, const AttentionCase& shape, const std::vector<int>& cuts,
                          bool poisoned, CacheType type) {
  const int heads = shape.kv_heads * shape.group, kv_width = shape.kv_heads * shape.width;
  const int pages = shape.tokens / kPageTokens + 1;
  const auto store = ops.make_kv_store({2, shape.kv_heads, shape.width, type}, pages + 1);
  std::vector<PageId> order;
  for (int i = 0; i < pages; ++i) order.push_back(PageId{pages - i});
  if (poisoned) {
    TestBatch filler;
    filler.add(0, pages * kPageTokens, order);
    ops.begin(filler.batch());
    const std::vector<float> nan(std::size_t(pages * kPageTokens * kv_width), std::nanf(""));
    Matrix bad = put(ops, nan, pages * kPageTokens, kv_width);
    ops.store_kv(*store, 1, bad, bad);
  }
  Numbers numbers(7);
  const auto q = numbers.many(std::size_t(shape.tokens * heads * shape.width));
  const auto k = numbers.many(std::size_t(shape.tokens * kv_width));
  const auto v = numbers.many(std::size_t(shape.tokens * kv_width));
  const auto part = [&](const std::vector<float>& all, int first, int rows, int width) {
    return put(ops, {all.begin() + first * width, all.begin() + (first + rows) * width}, rows,
               width);
  };
  std::vector<float> results;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const int first = cuts[i], rows = cuts[i + 1] - first;
    TestBatch batch;
    batch.add(first, rows, order);
    ops.begin(batch.batch());
    ops.store_kv(*store, 1, part(k, first, rows, kv_width), part(v, first, rows, kv_width));
    Matrix out = ops.matrix(rows, heads * shape.width);
    ops.attention(out, part(q, first, rows, heads * shape.width), *store, 1, heads, 0.3f,
                  shape.window);
    const auto rows_out = get(out);
    results.insert(results.end(), rows_out.begin(), rows_out.end());
  }
  return results;
}

std::vector<int> cuts_every(int tokens, int step) {
  std::vector<int> cuts;
  for (int at = 0; at < tokens; at += step) cuts.push_back(at);
  cuts.push_back(tokens);
  return cuts;
}

TEST_P(CpuSequences, AttentionMatchesTheReference) {
  const auto ops = fast(), reference = make_reference_ops();
  for (const AttentionCase& shape : kAttentionCases) {
    const auto all = cuts_every(shape.tokens, shape.tokens);
    for (const CacheType type : kCacheTypes) {
      expect_near(attend(*ops, shape, all, true, type), attend(*reference, shape, all, false, type),
                  attention_tolerance(type),
                  fmt::format("width {}, cache {}", shape.width, name_of(type)));
    }
  }
}

TEST_P(CpuSequences, AttentionDoesNotDependOnTheStepSize) {
  for (const AttentionCase& shape : kAttentionCases) {
    for (const CacheType type : kCacheTypes) {
      const auto whole = cuts_every(shape.tokens, shape.tokens);
      const auto expected = attend(*fast(1), shape, whole, false, type);
      for (const int step : {1, 7, 32, 33}) {
        for (const int threads : {1, 3}) {
          if (testing::kSanitized && (step == 1 || threads == 1)) continue;
          const auto got =
              attend(*fast(threads), shape, cuts_every(shape.tokens, step), true, type);
          EXPECT_TRUE(same_bits(got, expected))
              << "width " << shape.width << ", step " << step << ", cache " << name_of(type);
        }
      }
    }
  }
}

// What an error in a key or a value does to a cache: the rows that see it are not numbers.
TEST_P(CpuSequences, WhatIsNotFiniteIsNeverReadAsANumber) {
  const int width = 64, tokens = 40, bad = 35;
  for (const CacheType type : kCacheTypes) {
    for (const float value : {std::nanf(""), HUGE_VALF}) {
      for (const bool in_keys : {true, false}) {
        if (type == CacheType::Plain && in_keys && value > 0) continue;  // e^-infinity is 0
        const auto ops = fast();
        const auto store = ops->make_kv_store({1, 1, width, type}, 2);
        Numbers numbers(9);
        auto k = numbers.many(tokens * width), v = numbers.many(tokens * width);
        (in_keys ? k : v)[bad * width + 7] = value;
        TestBatch batch;
        batch.add(0, tokens, {PageId{0}, PageId{1}});
        ops->begin(batch.batch());
        ops->store_kv(*store, 0, put(*ops, k, tokens, width), put(*ops, v, tokens, width));
        Matrix out = ops->matrix(tokens, width);
        ops->attention(out, put(*ops, numbers.many(tokens * width), tokens, width), *store, 0, 1,
                       0.125f, 0);
        for (int row = 0; row < tokens; ++row) {
          const auto of_row = row_of(out, row);
          const auto lost = std::count_if(of_row.begin(), of_row.end(),
                                          [](float x) { return !std::isfinite(x); });
          // Tiles multiply by the whole of a row's last page.
          if (row >= kPageTokens && row < bad) continue;
          EXPECT_EQ(lost > 0, row >= bad) << "row " << row << ", cache " << name_of(type);
        }
      }
    }
  }
}

TEST_P(CpuSequences, ManySequencesShareACopiedPage) {
  for (const CacheType type : kCacheTypes) {
    const auto ops = fast();
    const int width = 64, tokens = 40;
    const auto store = ops->make_kv_store({1, 1, width, type}, 4);
    Numbers numbers(8);
    const auto k = numbers.many(tokens * width), q = numbers.many(width);
    TestBatch prefill;
    prefill.add(0, tokens, {PageId{0}, PageId{1}});
    ops->begin(prefill.batch());
    Matrix kv = put(*ops, k, tokens, width);
    ops->store_kv(*store, 0, kv, kv);
    ops->copy_page(*store, PageId{1}, PageId{3}, tokens - kPageTokens);
    TestBatch twice;
    twice.add(tokens, 1, {PageId{0}, PageId{1}});
    twice.add(tokens, 1, {PageId{0}, PageId{3}});
    ops->begin(twice.batch());
    auto both = q;
    both.insert(both.end(), q.begin(), q.end());
    Matrix rows = put(*ops, both, 2, width), out = ops->matrix(2, width);
    ops->store_kv(*store, 0, rows, rows);
    ops->attention(out, rows, *store, 0, 1, 0.125f, 0);
    EXPECT_TRUE(same_bits(row_of(out, 0), row_of(out, 1)));
    EXPECT_TRUE(std::isfinite(row_of(out, 0)[0]));
  }
}

TEST_P(CpuSequences, CodesTakeHalfTheMemoryOfBf16) {
  const std::int64_t bf16 = std::int64_t{2} * 3 * 4 * 128 * kPageTokens * 2;
  const auto ops = fast();
  for (const CacheType type : {CacheType::Fp8, CacheType::Int8}) {
    const std::int64_t bytes = ops->page_bytes({3, 4, 128, type});
    EXPECT_GE(bytes, bf16 / 2);
    EXPECT_LE(bytes, bf16 * 53 / 100);
  }
  EXPECT_EQ(ops->page_bytes({3, 4, 128}), this->bf16() ? bf16 : 2 * bf16);
}

}  // namespace
}  // namespace counterbeam
