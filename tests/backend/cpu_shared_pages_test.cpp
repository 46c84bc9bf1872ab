// Tests attention over sequences that share their first pages: the results are bitwise those of
// each sequence alone, however they are batched and whatever is in pages and tokens that it does
// not attend to.
#include "backend/cpu/attention_plan.h"
#include "cpu_support.h"

namespace counterbeam {
namespace {

class CpuSharedPages : public CpuPaths {};
INSTANTIATE_TEST_SUITE_P(Paths, CpuSharedPages, ::testing::ValuesIn(all_paths()), path_name);

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : key_{.seed = seed} {}
  int below(int count) {
    ++key_.position;
    return static_cast<int>(uniform_below(key_, static_cast<std::uint64_t>(count)));
  }
  template <typename T, std::size_t N>
  T one_of(const T (&values)[N]) {
    return values[below(static_cast<int>(N))];
  }

 private:
  DrawKey key_;
};

struct Shape {
  int kv_heads, group, width, window;
  CacheType type = CacheType::Plain;
  int heads() const { return kv_heads * group; }
  int kv_width() const { return kv_heads * width; }
};

struct Line {
  std::vector<PageId> pages;
  int position, rows;
};

// Sequences that diverge from earlier ones after any number of pages, also within their last page.
std::vector<Line> random_lines(Dice& dice, int& pages) {
  std::vector<Line> lines;
  const int count = 1 + dice.below(14), longest = 1 + dice.below(11);
  for (int i = 0; i < count; ++i) {
    Line line;
    line.rows = dice.below(5) > 0 ? 1 : 1 + dice.below(40);
    line.position = dice.below(longest * kPageTokens);
    const int own = (line.position + line.rows + kPageTokens - 1) / kPageTokens;
    if (i > 0 && dice.below(6) > 0) {
      const Line& other = lines[std::size_t(dice.below(i))];
      const int shared = dice.below(int(other.pages.size()) + 1);
      line.pages.assign(other.pages.begin(), other.pages.begin() + std::min(shared, own));
    }
    while (int(line.pages.size()) < own) line.pages.push_back(PageId{pages++});
    lines.push_back(line);
  }
  return lines;
}

// Numbers for every token of every page; NaN after the last token of a page that only one sequence
// has.
std::unique_ptr<KvStore> filled(Ops& ops, const Shape& shape, const std::vector<Line>& lines,
                                int pages) {
  std::vector<int> tokens(std::size_t(pages), 0);
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < line.pages.size(); ++i) {
      int& seen = tokens[std::size_t(line.pages[i])];
      seen = std::max(seen, line.position + line.rows - int(i) * kPageTokens);
    }
  }
  auto store = ops.make_kv_store({1, shape.kv_heads, shape.width, shape.type}, pages);
  Numbers numbers(3);
  for (int page = 0; page < pages; ++page) {
    TestBatch batch;
    batch.add(0, kPageTokens, {PageId{page}});
    ops.begin(batch.batch());
    std::vector<float> kv[2];
    for (std::vector<float>& values : kv) {
      values = numbers.many(std::size_t(kPageTokens * shape.kv_width()));
      for (int i = std::max(0, tokens[std::size_t(page)]) * shape.kv_width();
           i < int(values.size()); ++i)
        values[std::size_t(i)] = std::nanf("");
    }
    ops.store_kv(*store, 0, put(ops, kv[0], kPageTokens, shape.kv_width()),
                 put(ops, kv[1], kPageTokens, shape.kv_width()));
  }
  return store;
}

// The outputs of `lines`, each with its own queries.
std::vector<std::vector<float>> attend(Ops& ops, const Shape& shape, const KvStore& store,
                                       const std::vector<Line>& lines,
                                       const std::vector<int>& which) {
  const int width = shape.heads() * shape.width;
  TestBatch batch;
  std::vector<float> queries;
  for (const int i : which) {
    const Line& line = lines[std::size_t(i)];
    batch.add(line.position, line.rows, line.pages);
    const auto own = Numbers(100 + std::uint64_t(i)).many(std::size_t(line.rows * width));
    queries.insert(queries.end(), own.begin(), own.end());
  }
  ops.begin(batch.batch());
  const int rows = int(batch.ids.size());
  Matrix out = ops.matrix(rows, width);
  ops.attention(out, put(ops, queries, rows, width), store, 0, shape.heads(), 0.3f, shape.window);
  const auto all = get(out);
  std::vector<std::vector<float>> results;
  for (const Segment& segment : batch.segments) {
    const auto first = all.begin() + segment.first_row * width;
    results.emplace_back(first, first + segment.rows * width);
  }
  return results;
}

TEST_P(CpuSharedPages, ARowDoesNotDependOnRowsThatShareItsPages) {
  Dice dice(21);
  for (int round = 0; round < 60; ++round) {
    const Shape shape{1 + dice.below(2), dice.one_of({1, 2, 3, 5, 7, 13, 16, 20}),
                      dice.one_of({16, 48, 64, 80}), dice.one_of({0, 0, 0, 20, 70, 200}),
                      kCacheTypes[round % 3]};
    int pages = 0;
    const std::vector<Line> lines = random_lines(dice, pages);
    const int threads = dice.one_of({1, 1, 3});
    const auto ops = fast(threads);
    const auto store = filled(*ops, shape, lines, pages);
    std::vector<int> all(lines.size());
    std::iota(all.begin(), all.end(), 0);
    for (std::size_t i = all.size(); i > 1; --i)
      std::swap(all[i - 1], all[std::size_t(dice.below(int(i)))]);
    const auto together = attend(*ops, shape, *store, lines, all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto alone = attend(*ops, shape, *store, lines, {all[i]});
      ASSERT_FALSE(std::isnan(alone[0][0])) << "round " << round;
      EXPECT_TRUE(same_bits(together[i], alone[0]))
          << "round " << round << ", group " << shape.group << ", width " << shape.width
          << ", window " << shape.window << ", cache " << name_of(shape.type) << ", sequence "
          << all[i] << " of " << all.size();
    }
  }
}

// Beams forked from one sequence, one of which has NaN in its own page.
TEST_P(CpuSharedPages, NaNStaysWithItsSequence) {
  for (const CacheType type : kCacheTypes) {
    const Shape shape{1, 7, 64, 0, type};
    std::vector<Line> lines;
    int pages = 3;
    for (int i = 0; i < 4; ++i) {
      lines.push_back({{PageId{0}, PageId{1}, PageId{2}, PageId{pages}}, 100 + i, 1});
      ++pages;
    }
    const auto ops = fast(1);
    const auto store = filled(*ops, shape, lines, pages);
    const std::vector<int> all = {0, 1, 2, 3};
    const auto before = attend(*ops, shape, *store, lines, all);
    TestBatch sick;
    sick.add(96, 1, lines[1].pages);
    ops->begin(sick.batch());
    const Matrix nan = put(*ops, std::vector<float>(64, std::nanf("")), 1, 64);
    ops->store_kv(*store, 0, nan, nan);
    const auto after = attend(*ops, shape, *store, lines, all);
    EXPECT_TRUE(std::isnan(after[1][0]));
    for (const std::size_t i : {0, 2, 3}) EXPECT_TRUE(same_bits(after[i], before[i])) << i;
  }
}

class Plans : public ::testing::Test {
 protected:
  void add(std::vector<int> pages, int position, int rows = 1) {
    std::vector<PageId> ids;
    for (const int page : pages) ids.push_back(PageId{page});
    batch_.add(position, rows, ids);
  }
  // "rows of a group / shared pages" of every group.
  std::string plan(const AttentionLimits& limits) {
    const PageOrder order(batch_.batch().segments);
    const AttentionPlan plan = plan_attention(order, limits);
    std::string text;
    for (const AttentionGroup& group : plan.groups) {
      for (int i = group.first; i < group.first + group.count; ++i)
        text += std::to_string(plan.runs[std::size_t(i)].row) + " ";
      text += "/ " + std::to_string(group.shared) + "; ";
    }
    return text;
  }

 private:
  TestBatch batch_;
};

TEST_F(Plans, RowsThatSharePagesAreGrouped) {
  for (const int own : {10, 11, 12}) {
    add({0, 1, 2, own}, 100);
    add({5, 6, 7, own + 10}, 100);
  }
  EXPECT_EQ(plan({32, 99, 7, 0}), "0 2 4 / 3; 1 3 5 / 3; ");
  EXPECT_EQ(plan({32, 2, 7, 0}), "0 2 / 3; 4 / 3; 1 3 / 3; 5 / 3; ");  // two sequences per job
  EXPECT_EQ(plan({32, 99, 16, 0}), "0 2 / 3; 4 / 3; 1 3 / 3; 5 / 3; ");
  EXPECT_EQ(plan({32, 99, 17, 0}), "0 / 3; 2 / 3; 4 / 3; 1 / 3; 3 / 3; 5 / 3; ");
  EXPECT_EQ(plan({1, 99, 7, 0}), "0 / 3; 2 / 3; 4 / 3; 1 / 3; 3 / 3; 5 / 3; ");
}

TEST_F(Plans, APartlyVisiblePageIsNotShared) {
  add({0, 1, 2}, 70);
  add({0, 1, 2}, 94);
  add({0, 1, 2}, 95);
  EXPECT_EQ(plan({32, 99, 7, 0}), "0 1 2 / 2; ");
}

TEST_F(Plans, ASequenceThatSharesLittleIsNotGrouped) {
  add({0, 1, 2, 3, 4, 5}, 190);
  add({0, 1, 2, 3, 4, 6}, 190);
  add({0, 7, 8, 9, 10, 11}, 190);
  EXPECT_EQ(plan({32, 99, 7, 0}), "0 1 / 5; 2 / 5; ");
}

TEST_F(Plans, RowsWithDifferentWindowStartsAreNotGrouped) {
  add({0, 1, 2, 3, 4, 5}, 190);
  add({0, 1, 2, 3, 4, 6}, 165);
  EXPECT_EQ(plan({32, 99, 7, 100}), "0 1 / 5; ");
  EXPECT_EQ(plan({32, 99, 7, 50}), "0 / 5; 1 / 5; ");
}

TEST_F(Plans, SeveralTokensOfASequenceAreSplitIntoRuns) {
  add({0, 1, 2}, 60, 10);
  add({0, 1, 3}, 64, 1);
  EXPECT_EQ(plan({32, 99, 7, 0}), "0 / 1; 4 / 2; 8 / 2; 10 / 2; ");
}

}  // namespace
}  // namespace counterbeam
