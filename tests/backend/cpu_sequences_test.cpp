// Tests attention of the CPU back end against the reference at odd shapes. Results must be bitwise
// equal for prefill, single tokens and any split in between.
#include "cpu_support.h"

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
                          bool poisoned) {
  const int heads = shape.kv_heads * shape.group, kv_width = shape.kv_heads * shape.width;
  const int pages = shape.tokens / kPageTokens + 1;
  const auto store = ops.make_kv_store({2, shape.kv_heads, shape.width}, pages + 1);
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
    // In bf16 the softmax weights are rounded too.
    expect_near(attend(*ops, shape, all, true), attend(*reference, shape, all, false),
                bf16() ? 4e-3 : 4e-6, "width " + std::to_string(shape.width));
  }
}

TEST_P(CpuSequences, AttentionDoesNotDependOnTheStepSize) {
  for (const AttentionCase& shape : kAttentionCases) {
    const auto expected = attend(*fast(1), shape, cuts_every(shape.tokens, shape.tokens), false);
    for (const int step : {1, 7, 32, 33}) {
      for (const int threads : {1, 3}) {
        const auto got = attend(*fast(threads), shape, cuts_every(shape.tokens, step), true);
        EXPECT_TRUE(same_bits(got, expected)) << "width " << shape.width << ", step " << step;
      }
    }
  }
}

TEST_P(CpuSequences, ManySequencesShareACopiedPage) {
  const auto ops = fast();
  const int width = 64, tokens = 40;
  const auto store = ops->make_kv_store({1, 1, width}, 4);
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
}

}  // namespace
}  // namespace counterbeam
