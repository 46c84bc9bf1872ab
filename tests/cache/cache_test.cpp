// Tests the cache against a naive copy: every sequence of the test carries a plain copy of its
// numbers, which must agree with the pages and states after random forks, appends, truncations and
// drops.
#include "cache/cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <list>
#include <random>

namespace counterbeam {
namespace {

// A back end whose pages and states are integers that the test reads and writes directly.
struct Slots : KvStore, StateStore {
  explicit Slots(int count, int width)
      : values(static_cast<std::size_t>(count), std::vector<int>(static_cast<std::size_t>(width))) {
  }
  std::vector<std::vector<int>> values;
};

class BookOps : public StoreOps {
 public:
  std::unique_ptr<KvStore> make_kv_store(const KvShape&, int pages) override {
    auto store = std::make_unique<Slots>(pages, kPageTokens);
    pages_ = store.get();
    return store;
  }
  void copy_page(KvStore&, PageId from, PageId to, int tokens) override {
    for (int t = 0; t < tokens; ++t) page(to)[t] = page(from)[t];
  }
  std::unique_ptr<StateStore> make_state_store(const StateShape&, int slots) override {
    auto store = std::make_unique<Slots>(slots, 1);
    states_ = store.get();
    return store;
  }
  void copy_state(StateStore&, StateId from, StateId to) override { state(to) = state(from); }
  void clear_state(StateStore&, StateId id) override { state(id) = 0; }

  std::vector<int>& page(PageId id) { return pages_->values[static_cast<std::size_t>(id)]; }
  int& state(StateId id) { return states_->values[static_cast<std::size_t>(id)][0]; }

 private:
  Slots* pages_ = nullptr;
  Slots* states_ = nullptr;
};

CacheShape shape_with(bool kv, bool state) {
  CacheShape shape;
  if (kv) shape.kv = {.layers = 2, .heads = 1, .head_dim = 4};
  if (state)
    shape.state = {.layers = 1,
                   .key_heads = 1,
                   .value_heads = 1,
                   .key_dim = 1,
                   .value_dim = 1,
                   .conv_width = 2};
  return shape;
}

// A sequence and a plain copy of its expected content. The state is the running sum of the tokens.
struct Pair {
  CachedSequence cached;
  std::vector<int> tokens;
};

class Book {
 public:
  Book(bool kv, bool state, CacheNeed size) : cache(ops, shape_with(kv, state), size) {}

  void append(Pair& pair, const std::vector<int>& tokens) {
    const int before = pair.cached.length();
    pair.cached.append(static_cast<int>(tokens.size()));
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const int position = before + static_cast<int>(i);
      if (cache.shape().has_kv()) {
        ops.page(pair.cached.pages()[position / kPageTokens])[position % kPageTokens] = tokens[i];
      }
      if (cache.shape().has_state()) ops.state(pair.cached.state()) += tokens[i];
    }
    pair.tokens.insert(pair.tokens.end(), tokens.begin(), tokens.end());
  }

  void expect_same(const Pair& pair) {
    ASSERT_EQ(pair.cached.length(), static_cast<int>(pair.tokens.size()));
    int sum = 0;
    for (std::size_t i = 0; i < pair.tokens.size(); ++i) {
      if (cache.shape().has_kv()) {
        ASSERT_EQ(ops.page(pair.cached.pages()[i / kPageTokens])[i % kPageTokens], pair.tokens[i]);
      }
      sum += pair.tokens[i];
    }
    if (cache.shape().has_state() && !pair.tokens.empty()) {
      ASSERT_EQ(ops.state(pair.cached.state()), sum);
    }
  }

  void expect_sound(const std::list<Pair>& pairs) {
    std::vector<const CachedSequence*> all;
    for (const Pair& pair : pairs) all.push_back(&pair.cached);
    cache.check(all);
    for (const Pair& pair : pairs) expect_same(pair);
  }

  BookOps ops;
  Cache cache;
};

void run_random_operations(bool kv, bool state, unsigned seed) {
  Book book(kv, state, {.pages = 60, .states = 24});
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::list<Pair> pairs;
  for (int step = 0; step < 3000; ++step) {
    const int action = below(10);
    if (pairs.empty() || action == 0) {
      pairs.push_back({CachedSequence(book.cache), {}});
    } else {
      auto it = std::next(pairs.begin(), below(static_cast<int>(pairs.size())));
      if (action <= 4) {
        std::vector<int> tokens(static_cast<std::size_t>(below(70)));
        for (int& token : tokens) token = below(1000);
        const CacheNeed need = it->cached.need(static_cast<int>(tokens.size()));
        const CacheNeed before = book.cache.free();
        if (need.within(before)) {
          book.append(*it, tokens);
          EXPECT_EQ(before.pages - book.cache.free().pages, need.pages);
          EXPECT_EQ(before.states - book.cache.free().states, need.states);
        }
      } else if (action <= 6) {
        pairs.push_back({it->cached.fork(), it->tokens});
      } else if (action == 7) {
        it->cached.snapshot();
      } else if (action == 8) {
        const int length =
            it->cached.longest_within(below(static_cast<int>(it->tokens.size()) + 1));
        ASSERT_TRUE(it->cached.can_truncate(length));
        it->cached.truncate(length);
        it->tokens.resize(static_cast<std::size_t>(length));
      } else {
        pairs.erase(it);
      }
    }
    book.expect_sound(pairs);
    if (::testing::Test::HasFatalFailure()) return;
  }
  pairs.clear();
  book.expect_sound(pairs);
  EXPECT_EQ(book.cache.used(), (CacheNeed{0, 0}));
}

TEST(Cache, RandomOperationsMatchANaiveCopy) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    run_random_operations(true, false, seed);
    run_random_operations(true, true, seed);
    run_random_operations(false, true, seed);
  }
}

TEST(Cache, AForkCopiesNothingUntilItGrows) {
  Book book(true, false, {.pages = 300, .states = 0});
  Pair base{CachedSequence(book.cache), {}};
  book.append(base, std::vector<int>(3000, 7));
  const int pages = book.cache.used().pages;
  EXPECT_EQ(pages, pages_for(3000));

  const auto start = std::chrono::steady_clock::now();
  std::vector<CachedSequence> forks;
  for (int i = 0; i < 100; ++i) forks.push_back(base.cached.fork());
  const double each =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() /
      100;
  EXPECT_EQ(book.cache.used().pages, pages);
  EXPECT_EQ(book.cache.counters().copied_pages, 0);
  EXPECT_LT(each, 200.0) << "microseconds per fork";
  RecordProperty("fork_nanoseconds", static_cast<int>(each * 1000));

  forks[0].append(1);
  EXPECT_EQ(book.cache.used().pages, pages + 1);
  EXPECT_EQ(book.cache.counters().copied_pages, 1);
  EXPECT_EQ(book.cache.counters().copied_tokens, 3000 % kPageTokens);
}

TEST(Cache, BeamsWithASharedPrefixStoreOnlyDistinctTokens) {
  constexpr int kPrompt = 500, kLength = 3000, kBeams = 16, kContexts = 3;
  Book book(true, false, {.pages = 6000, .states = 0});
  Pair prompt{CachedSequence(book.cache), {}};
  book.append(prompt, std::vector<int>(kPrompt, 1));
  std::list<Pair> beams;
  for (int i = 0; i < kBeams * kContexts; ++i) {
    beams.push_back({prompt.cached.fork(), prompt.tokens});
    for (int t = kPrompt; t < kLength; t += 50) book.append(beams.back(), std::vector<int>(50, i));
  }
  const std::int64_t distinct = kPrompt + std::int64_t{kBeams} * kContexts * (kLength - kPrompt);
  EXPECT_LE(book.cache.used().pages, pages_for(distinct) + kBeams * kContexts);
  beams.push_back(std::move(prompt));
  book.expect_sound(beams);
}

TEST(Cache, RecurrentSequencesTruncateToSnapshotsOnly) {
  Book book(true, true, {.pages = 10, .states = 4});
  Pair pair{CachedSequence(book.cache), {}};
  book.append(pair, {1, 2, 3});
  pair.cached.snapshot();
  book.append(pair, {4, 5});
  EXPECT_FALSE(pair.cached.can_truncate(4));
  EXPECT_EQ(pair.cached.longest_within(4), 3);
  EXPECT_EQ(pair.cached.longest_within(2), 0);
  pair.cached.truncate(3);
  pair.tokens.resize(3);
  book.expect_same(pair);
  EXPECT_EQ(book.cache.used().states, 1);
}

}  // namespace
}  // namespace counterbeam
