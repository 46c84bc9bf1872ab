// Tests attention on the device against the reference at odd shapes. Results must be bitwise equal
// for prefill, single tokens and any split in between, with other sequences and padding in the
// batch, and with any context bound of the launch. Memory that was not written is NaN.
#include <random>

#include "cuda_support.h"

namespace counterbeam {
namespace {

using CudaAttention = CudaTest;
using cuda::kTileKeys, cuda::kTilePages;

struct AttentionCase {
  int kv_heads, group, width, tokens, window;
  CacheType type = CacheType::Plain;
  int heads() const { return kv_heads * group; }
  int q_width() const { return heads() * width; }
  int kv_width() const { return kv_heads * width; }
  std::string name() const {
    return fmt::format("{} x {} heads of {}, {} tokens, window {}, cache {}", kv_heads, group,
                       width, tokens, window, name_of(type));
  }
};

constexpr float kScale = 0.3f;

constexpr AttentionCase kSmallCases[] = {
    {1, 1, 16, 33, 0}, {3, 2, 80, 70, 0}, {1, 13, 5, 64, 0}, {2, 4, 256, 65, 0}, {1, 7, 128, 70, 0},
};
constexpr AttentionCase kCases[] = {
    {4, 7, 128, 200, 0},  {2, 7, 64, 100, 0}, {8, 1, 128, 70, 0},  {2, 4, 256, 150, 0},
    {2, 3, 32, 130, 40},  {1, 20, 64, 90, 0}, {2, 2, 128, 700, 0}, {1, 2, 128, 700, 100},
    {1, 4, 256, 300, 75}, {1, 3, 96, 140, 0}, {1, 2, 64, 1100, 0}, {1, 1, 256, 200, 1},
    {1, 1, 16, 33, 0},    {3, 2, 80, 70, 0},  {1, 13, 5, 64, 0},   {2, 4, 256, 65, 0},
};

// Numbers of one sequence, [tokens, heads * width] each.
struct Tokens {
  Tokens(const AttentionCase& shape, std::uint64_t seed) {
    Numbers numbers(seed);
    q = numbers.many(std::size_t(shape.tokens * shape.q_width()));
    k = numbers.many(std::size_t(shape.tokens * shape.kv_width()));
    v = numbers.many(std::size_t(shape.tokens * shape.kv_width()));
  }
  std::vector<float> q, k, v;
};

// Rows [first, first + rows) of one sequence in a step.
struct Part {
  int sequence, first, rows;
};
using Step = std::vector<Part>;

// The cases with every kind of cache.
template <std::size_t N>
std::vector<AttentionCase> with_caches(const AttentionCase (&cases)[N]) {
  std::vector<AttentionCase> all;
  for (const CacheType type : kCacheTypes) {
    for (AttentionCase shape : cases) {
      shape.type = type;
      all.push_back(shape);
    }
  }
  return all;
}

struct Launch {
  int padding = 0;
  int context_bound = 0;  // of the steps; 0 for the actual longest context
  int offset = 0;         // first column of every matrix within its row
};

std::vector<PageId> pages_of(const AttentionCase& shape, int sequence) {
  const int count = shape.tokens / kPageTokens + 1;
  std::vector<PageId> pages;
  for (int i = 0; i < count; ++i) pages.push_back(PageId{(sequence + 1) * count - i});
  return pages;
}

// A matrix that starts at column `offset` of its rows, with `padding` rows of NaN after it.
class Slice {
 public:
  Slice(const std::vector<float>& values, int rows, int width, const Launch& how)
      : offset_(how.offset),
        width_(width),
        rows_(rows),
        whole_(widened(values), rows + how.padding, width + offset_) {}
  Matrix matrix() const { return whole_.matrix().columns(offset_, width_, 2); }
  std::vector<float> get() const {
    const std::vector<float> all = whole_.get();
    std::vector<float> values;
    for (int r = 0; r < rows_; ++r) {
      const auto at = all.begin() + r * (width_ + offset_) + offset_;
      values.insert(values.end(), at, at + width_);
    }
    return values;
  }

 private:
  std::vector<float> widened(const std::vector<float>& values) const {
    std::vector<float> wide;
    for (int r = 0; r < rows_; ++r) {
      wide.insert(wide.end(), std::size_t(offset_), std::nanf(""));
      wide.insert(wide.end(), values.begin() + r * width_, values.begin() + (r + 1) * width_);
    }
    wide.resize(wide.size() + 64 * std::size_t(width_ + offset_), std::nanf(""));
    return wide;
  }
  int offset_, width_, rows_;
  DeviceMatrix whole_;
};

// Keys and values of `pages` pages, filled with NaN.
struct Pool {
  Pool(KvShape shape, int pages)
      : keys(elements(shape, pages)),
        values(elements(shape, pages)),
        view_{nullptr, nullptr, shape, pages} {}
  cuda::KvView view() const {
    cuda::KvView v = view_;
    v.keys = reinterpret_cast<cuda::Bf16*>(keys.data());
    v.values = reinterpret_cast<cuda::Bf16*>(values.data());
    return v;
  }
  static std::size_t elements(KvShape shape, int pages) {
    return std::size_t(shape.layers) * std::size_t(pages) * std::size_t(shape.heads) *
           std::size_t(cuda::block_elements(shape));
  }
  DeviceArray<std::uint16_t> keys, values;
  cuda::KvView view_;
};

std::vector<float> part_of(const std::vector<float>& all, int width, const Part& part) {
  return {all.begin() + part.first * width, all.begin() + (part.first + part.rows) * width};
}

// Runs one step and stores its outputs in `results`, by sequence.
void run_step(const AttentionCase& shape, const std::vector<Tokens>& tokens, const Step& step,
              const Launch& how, const Pool& pool, std::vector<std::vector<float>>& results) {
  TestBatch rows;
  std::vector<float> q, k, v;
  for (const Part& part : step) {
    const Tokens& of = tokens[std::size_t(part.sequence)];
    rows.add(part.first, part.rows, pages_of(shape, part.sequence));
    const auto append = [&](std::vector<float>& to, const std::vector<float>& from, int width) {
      const auto more = part_of(from, width, part);
      to.insert(to.end(), more.begin(), more.end());
    };
    append(q, of.q, shape.q_width());
    append(k, of.k, shape.kv_width());
    append(v, of.v, shape.kv_width());
  }
  const int count = static_cast<int>(rows.ids.size());
  const DeviceTestBatch on_device(rows.batch(), how.padding);
  cuda::DeviceBatch batch = on_device.batch();
  batch.longest_context = std::max(batch.longest_context, how.context_bound);
  const Slice queries(q, count, shape.q_width(), how), keys(k, count, shape.kv_width(), how),
      values(v, count, shape.kv_width(), how),
      out(std::vector<float>(q.size(), std::nanf("")), count, shape.q_width(), how);
  const DeviceArray<char> workspace(
      cuda::attention_workspace(batch.rows, shape.heads(), shape.width, batch.longest_context));
  cuda::store_kv(nullptr, pool.view(), 1, keys.matrix(), values.matrix(), batch);
  cuda::attention(nullptr, out.matrix(), queries.matrix(), pool.view(), 1, shape.heads(), kScale,
                  shape.window, batch, workspace.data());
  const std::vector<float> got = out.get();
  auto at = got.begin();
  for (const Part& part : step) {
    auto& result = results[std::size_t(part.sequence)];
    std::copy(at, at + part.rows * shape.q_width(), result.begin() + part.first * shape.q_width());
    at += part.rows * shape.q_width();
  }
}

// The outputs of each sequence, [tokens, heads * width].
std::vector<std::vector<float>> attend(const AttentionCase& shape,
                                       const std::vector<Tokens>& tokens,
                                       const std::vector<Step>& steps, const Launch& how = {}) {
  const int sequences = static_cast<int>(tokens.size());
  const Pool pool({2, shape.kv_heads, shape.width, shape.type},
                  sequences * (shape.tokens / kPageTokens + 1) + 1);
  std::vector<std::vector<float>> results(tokens.size(),
                                          std::vector<float>(tokens[0].q.size(), std::nanf("")));
  for (const Step& step : steps) run_step(shape, tokens, step, how, pool, results);
  return results;
}

std::vector<float> attend_reference(const AttentionCase& shape, const Tokens& tokens) {
  const auto ops = make_reference_ops();
  const auto store = ops->make_kv_store({2, shape.kv_heads, shape.width, shape.type},
                                        shape.tokens / kPageTokens + 2);
  TestBatch batch;
  batch.add(0, shape.tokens, pages_of(shape, 0));
  ops->begin(batch.batch());
  ops->store_kv(*store, 1, put(*ops, tokens.k, shape.tokens, shape.kv_width()),
                put(*ops, tokens.v, shape.tokens, shape.kv_width()));
  Matrix out = ops->matrix(shape.tokens, shape.q_width());
  ops->attention(out, put(*ops, tokens.q, shape.tokens, shape.q_width()), *store, 1, shape.heads(),
                 kScale, shape.window);
  return get(out);
}

std::vector<Step> cuts_every(int tokens, int rows, int sequence = 0) {
  std::vector<Step> steps;
  for (int at = 0; at < tokens; at += rows)
    steps.push_back({{sequence, at, std::min(rows, tokens - at)}});
  return steps;
}

std::vector<Step> random_cuts(int tokens, std::mt19937& random) {
  std::vector<Step> steps;
  for (int at = 0; at < tokens;) {
    const int most = random() % 3 == 0 ? 1 : random() % 2 == 0 ? 4 : 100;
    const int rows = std::min(tokens - at, 1 + static_cast<int>(random() % unsigned(most)));
    steps.push_back({{0, at, rows}});
    at += rows;
  }
  return steps;
}

void expect_reference(const AttentionCase& shape, const Launch& how) {
  const Tokens tokens(shape, 7);
  // Softmax weights and results are rounded to bf16: two errors of 2^-9 for values below 1. What
  // codes stand for is rounded too.
  expect_near(attend(shape, {tokens}, cuts_every(shape.tokens, shape.tokens), how)[0],
              attend_reference(shape, tokens), shape.type == CacheType::Plain ? 4e-3 : 8e-3,
              shape.name());
}

void expect_same_cuts(const AttentionCase& shape, const std::vector<int>& cuts) {
  const std::vector<Tokens> tokens{Tokens(shape, 7)};
  const auto expected = attend(shape, tokens, cuts_every(shape.tokens, shape.tokens));
  for (const int rows : cuts) {
    // Plain; split over blocks; with too many tiles for the workspace; unaligned.
    for (const Launch& how : {Launch{}, Launch{3, 2000, 0}, Launch{2, 1 << 24, 0}, Launch{1, 0, 3}})
      EXPECT_TRUE(
          same_bits(attend(shape, tokens, cuts_every(shape.tokens, rows), how)[0], expected[0]))
          << shape.name() << ", " << rows << " at a time, bound " << how.context_bound;
  }
}

TEST_F(CudaAttention, SmallCasesMatchTheReference) {
  for (const AttentionCase& shape : with_caches(kSmallCases)) expect_reference(shape, {});
}

TEST_F(CudaAttention, SmallCasesDoNotDependOnTheStepSize) {
  for (const AttentionCase& shape : with_caches(kSmallCases)) expect_same_cuts(shape, {31});
}

TEST_F(CudaAttention, MatchesTheReference) {
  for (const AttentionCase& shape : with_caches(kCases)) {
    expect_reference(shape, {});
    expect_reference(shape, {.padding = 5, .context_bound = 4096, .offset = 1});
  }
}

TEST_F(CudaAttention, DoesNotDependOnTheStepSize) {
  for (const AttentionCase& shape : with_caches(kCases)) expect_same_cuts(shape, {32, 33});
}

TEST_F(CudaAttention, TokenByTokenGivesTheSameBits) {
  std::mt19937 random(11);
  for (const AttentionCase& shape : with_caches(kCases)) {
    const std::vector<Tokens> tokens{Tokens(shape, 7)};
    const auto expected = attend(shape, tokens, cuts_every(shape.tokens, shape.tokens));
    EXPECT_TRUE(same_bits(attend(shape, tokens, cuts_every(shape.tokens, 1))[0], expected[0]))
        << shape.name();
    EXPECT_TRUE(same_bits(attend(shape, tokens, random_cuts(shape.tokens, random))[0], expected[0]))
        << shape.name();
  }
}

// Three sequences at different positions in the same steps.
TEST_F(CudaAttention, OtherSequencesAndPaddingDoNotMatter) {
  std::mt19937 random(12);
  for (const AttentionCase& shape : with_caches(kCases)) {
    const std::vector<Tokens> tokens{{shape, 1}, {shape, 2}, {shape, 3}};
    std::vector<Step> alone, together;
    for (int i = 0; i < 3; ++i) alone.push_back({{i, 0, shape.tokens}});
    std::vector<int> done(3, 0);
    while (done != std::vector<int>(3, shape.tokens)) {
      Step step;
      for (int i = 0; i < 3; ++i) {
        const int most = i == 0 ? 2 : i == 1 ? 40 : 200;
        const int rows = std::min(shape.tokens - done[std::size_t(i)],
                                  static_cast<int>(random() % unsigned(most)));
        if (rows > 0) step.push_back({i, done[std::size_t(i)], rows});
        done[std::size_t(i)] += rows;
      }
      if (!step.empty()) together.push_back(step);
    }
    const auto expected = attend(shape, tokens, alone);
    const auto got = attend(shape, tokens, together, {.padding = 9});
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(got[i], expected[i])) << shape.name();
  }
}

// More tiles than are merged at once.
TEST_F(CudaAttention, LongContextsDoNotDependOnTheStepSize) {
  for (const auto& [window, type] :
       {std::pair{0, CacheType::Plain}, {2000, CacheType::Plain}, {0, CacheType::Int8}}) {
    const AttentionCase shape{1, 2, 128, 2200, window, type};
    const std::vector<Tokens> tokens{{shape, 4}};
    const int last = shape.tokens - 1;
    const auto whole = attend(shape, tokens, {{{0, 0, shape.tokens}}});
    const auto cut =
        attend(shape, tokens, {{{0, 0, last - 1}}, {{0, last - 1, 1}}, {{0, last, 1}}});
    EXPECT_TRUE(same_bits(cut[0], whole[0])) << shape.name();
  }
}

TEST_F(CudaAttention, ManySequencesShareACopiedPage) {
  for (const auto& [width, type] : {std::pair{5, CacheType::Plain},
                                    {64, CacheType::Plain},
                                    {128, CacheType::Plain},
                                    {5, CacheType::Fp8},
                                    {128, CacheType::Int8}}) {
    const int tokens = 40;
    const Pool pool({3, 2, width, type}, 4);
    const AttentionCase shape{2, 1, width, tokens, 0, type};
    const Tokens of(shape, 8);
    const Slice keys(of.k, tokens, 2 * width, {}), values(of.v, tokens, 2 * width, {});
    TestBatch prefill;
    prefill.add(0, tokens, {PageId{0}, PageId{1}});
    const DeviceTestBatch first(prefill.batch());
    for (int layer = 0; layer < 3; ++layer)
      cuda::store_kv(nullptr, pool.view(), layer, keys.matrix(), values.matrix(), first.batch());
    cuda::CopyList copies;
    copies.add(1, 3, tokens - kPageTokens);
    cuda::copy_pages(nullptr, pool.view(), copies);
    TestBatch twice;
    twice.add(tokens, 1, {PageId{0}, PageId{1}});
    twice.add(tokens, 1, {PageId{0}, PageId{3}});
    const DeviceTestBatch second(twice.batch());
    std::vector<float> both(of.q.begin(), of.q.begin() + 2 * width);
    both.insert(both.end(), of.q.begin(), of.q.begin() + 2 * width);
    const DeviceArray<char> workspace(cuda::attention_workspace(2, 2, width, tokens + 1));
    for (int layer = 0; layer < 3; ++layer) {
      const Slice rows(both, 2, 2 * width, {}), out(both, 2, 2 * width, {});
      cuda::store_kv(nullptr, pool.view(), layer, rows.matrix(), rows.matrix(), second.batch());
      cuda::attention(nullptr, out.matrix(), rows.matrix(), pool.view(), layer, 2, 0.125f, 0,
                      second.batch(), workspace.data());
      const std::vector<float> got = out.get();
      EXPECT_TRUE(std::isfinite(got[0]));
      EXPECT_EQ(std::vector<float>(got.begin(), got.begin() + 2 * width),
                std::vector<float>(got.begin() + 2 * width, got.end()));
    }
  }
}

// Compares beams that share the older pages of one sequence, the same beams with copies of all
// pages, and every beam in its own step.
void expect_sharing_changes_nothing(const AttentionCase& shape) {
  const int beams = 6, rows = shape.group == 1 ? 2 : 1, start = shape.tokens - rows;
  const int each = shape.tokens / kPageTokens + 1;
  const int settled = start / kTileKeys * kTilePages;  // pages
  const Pool pool({2, shape.kv_heads, shape.width, shape.type}, each * (beams + 1));
  const auto page = [&](int beam, int i) { return PageId{(beam + 1) * each - 1 - i}; };
  const Tokens prompt(shape, 7), fresh(shape, 8);
  TestBatch prefill;
  std::vector<PageId> pages;
  for (int i = 0; i < each; ++i) pages.push_back(page(beams, i));
  prefill.add(0, start, pages);
  const DeviceTestBatch first(prefill.batch());
  const Slice keys(prompt.k, start, shape.kv_width(), {}),
      values(prompt.v, start, shape.kv_width(), {});
  for (const int layer : {0, 1})
    cuda::store_kv(nullptr, pool.view(), layer, keys.matrix(), values.matrix(), first.batch());
  for (int beam = 0; beam < beams; ++beam) {
    for (int token = 0; token < start;) {
      cuda::CopyList copies;
      for (; token < start && copies.count < cuda::CopyList::kMost; token += kPageTokens) {
        const int i = token / kPageTokens;
        copies.add(int(page(beams, i)), int(page(beam, i)), std::min(kPageTokens, start - token));
      }
      cuda::copy_pages(nullptr, pool.view(), copies);
    }
  }
  // Beams [from, end) in one step.
  const auto decode = [&](int from, int end, bool shared) {
    TestBatch step;
    for (int beam = from; beam < end; ++beam) {
      for (int i = 0; i < each; ++i)
        pages[std::size_t(i)] = page(shared && i < settled ? beams : beam, i);
      step.add(start, rows, pages);
    }
    const int count = (end - from) * rows;
    const DeviceTestBatch on_device(step.batch(), 2);
    cuda::DeviceBatch batch = on_device.batch();
    batch.longest_context = 3000;
    const auto slice = [&](const std::vector<float>& all, int width) {
      const auto begin = all.begin() + std::ptrdiff_t{from} * rows * width;
      return Slice({begin, begin + std::ptrdiff_t{count} * width}, count, width, {.padding = 2});
    };
    const Slice q = slice(fresh.q, shape.q_width()), k = slice(fresh.k, shape.kv_width()),
                v = slice(fresh.v, shape.kv_width()), out = slice(fresh.q, shape.q_width());
    const DeviceArray<char> workspace(
        cuda::attention_workspace(batch.rows, shape.heads(), shape.width, batch.longest_context));
    cuda::store_kv(nullptr, pool.view(), 1, k.matrix(), v.matrix(), batch);
    cuda::attention(nullptr, out.matrix(), q.matrix(), pool.view(), 1, shape.heads(), kScale,
                    shape.window, batch, workspace.data());
    return out.get();
  };
  const std::vector<float> copied = decode(0, beams, false);
  EXPECT_TRUE(same_bits(decode(0, beams, true), copied)) << shape.name();
  for (int beam = 0; beam < beams; ++beam) {
    const std::vector<float> alone = decode(beam, beam + 1, false);
    EXPECT_TRUE(
        same_bits(alone, std::span(copied).subspan(std::size_t(beam) * alone.size(), alone.size())))
        << shape.name() << ", beam " << beam;
  }
}

TEST_F(CudaAttention, SharedPagesGiveTheSameBits) {
  for (const AttentionCase& shape : with_caches(kCases)) {
    if (shape.tokens >= 2 * kTileKeys) expect_sharing_changes_nothing(shape);
  }
}

// Enough tiles that every block processes several.
TEST_F(CudaAttention, ManySharedPagesGiveTheSameBits) {
  for (const AttentionCase& shape : {AttentionCase{32, 1, 64, 900, 0},
                                     {32, 4, 128, 1000, 0},
                                     {32, 1, 128, 1200, 300},
                                     {32, 4, 128, 1000, 0, CacheType::Int8},
                                     {32, 1, 64, 900, 200, CacheType::Fp8},
                                     {16, 2, 256, 900, 0}})
    expect_sharing_changes_nothing(shape);
}

// Small, because compute-sanitizer's racecheck is slow.
TEST_F(CudaAttention, AFewSharedPages) {
  expect_sharing_changes_nothing({1, 7, 128, 140, 0});
  expect_sharing_changes_nothing({1, 7, 128, 140, 0, CacheType::Int8});
}

// What is not finite in a key or a value is never read as a number. In 8 bits it takes its token's
// whole head with it; in a plain value it stays in its column. Earlier rows of the step select
// their scores, so a key that they do not see does nothing; a value of their tile meets a weight of
// 0, and 0 times NaN is NaN. The sequence fails at the token itself anyway, and rows of earlier
// tiles stay as they are.
void expect_no_numbers(const AttentionCase& shape, float bad, bool in_keys) {
  const int sick = 70, column = 3;
  const int first = in_keys ? sick : sick / kTileKeys * kTileKeys;
  Tokens tokens(shape, 7);
  (in_keys ? tokens.k : tokens.v)[std::size_t(sick * shape.width + column)] = bad;
  const auto out = attend(shape, {tokens}, {{{0, 0, 99}}, {{0, 99, 1}}})[0];
  const bool all_columns = in_keys || shape.type != CacheType::Plain;
  for (int row = 0; row < shape.tokens; ++row) {
    int wrong = 0;
    for (int i = 0; i < shape.q_width(); ++i) {
      const bool number = row < first || (!all_columns && i % shape.width != column);
      wrong += std::isfinite(out[std::size_t(row * shape.q_width() + i)]) != number;
    }
    EXPECT_EQ(wrong, 0) << shape.name() << ", row " << row << ", " << bad << " in "
                        << (in_keys ? "a key" : "a value");
  }
}

TEST_F(CudaAttention, WhatIsNotFiniteIsNeverReadAsANumber) {
  for (const int width : {16, 128}) {
    for (const CacheType type : kCacheTypes) {
      const AttentionCase shape{1, 2, width, 100, 0, type};
      for (const bool in_keys : {true, false}) {
        expect_no_numbers(shape, std::nanf(""), in_keys);
        // An infinite plain key is one that queries of the other sign turn away.
        if (type != CacheType::Plain || !in_keys) expect_no_numbers(shape, HUGE_VALF, in_keys);
      }
    }
  }
}

}  // namespace
}  // namespace counterbeam
