// Tests engines with little memory: sequences that do not fit wait or are recomputed, a call that
// can never fit is an error, a long prompt does not block others, and all memory is released.
#include "engine/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "backend/cache_codes.h"
#include "base/error.h"
#include "engine/tiny.h"

namespace counterbeam {
namespace {

using ::testing::HasSubstr;
using namespace testing;

class MemoryTest : public ::testing::TestWithParam<bool> {
 protected:
  ModelConfig config() const { return GetParam() ? tiny_recurrent() : tiny_attention(); }
};

INSTANTIATE_TEST_SUITE_P(Models, MemoryTest, ::testing::Bool(),
                         [](const auto& model) { return model.param ? "recurrent" : "attention"; });

// A small beam search; returns its final tokens and scores.
std::vector<float> search(Engine& engine, std::uint32_t question) {
  std::vector<std::vector<TokenId>> prompts = {some_tokens(60, question), some_tokens(60, question),
                                               some_tokens(60, question)};
  prompts[1].push_back(1);
  prompts[2].push_back(2);
  std::vector<Sequence> opened = std::move(engine.open(prompts).sequences);
  std::vector<std::vector<Sequence>> beams(4);
  for (auto& beam : beams) {
    for (const Sequence& sequence : opened) beam.push_back(sequence.fork());
  }
  std::vector<float> seen;
  for (std::uint32_t block = 0; block < 4; ++block) {
    std::vector<ExtendRequest> requests;
    for (std::uint32_t b = 0; b < beams.size(); ++b) {
      requests.push_back({.sequence = &beams[b][0],
                          .followers = {&beams[b][1], &beams[b][2]},
                          .max_tokens = 16,
                          .key = {.question = question, .block = block, .beam = b}});
    }
    std::size_t best = 0;
    double best_score = -1e30;
    const auto extensions = engine.extend(requests);
    for (std::size_t b = 0; b < beams.size(); ++b) {
      double score = 0;
      for (const float x : extensions[b].logprobs) score += x;
      for (const float x : extensions[b].follower_logprobs[0]) score += x;
      seen.push_back(static_cast<float>(score));
      seen.insert(seen.end(), extensions[b].tokens.begin(), extensions[b].tokens.end());
      if (score > best_score) best = b, best_score = score;
    }
    for (std::size_t b = 0; b < beams.size(); ++b) {
      if (b == best) continue;
      for (std::size_t i = 0; i < 3; ++i) beams[b][i] = beams[best][i].fork();
    }
  }
  return seen;
}

TEST_P(MemoryTest, SearchesRunInATenthOfTheirMemory) {
  std::vector<std::vector<float>> expected;
  {
    auto roomy = tiny_engine(config());
    for (std::uint32_t q = 0; q < 8; ++q) expected.push_back(search(*roomy, q));
  }
  // Eight searches have 12 sequences of up to 124 tokens each; this cache has room for a few.
  auto tight = tiny_engine(config(), {.cache_size = {14, 9}});
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::uint32_t q = 0; q < 8; ++q) {
    threads.emplace_back([&, q] { wrong += search(*tight, q) != expected[q]; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  const EngineCounters counters = tight->counters();
  EXPECT_GT(counters.evictions + counters.preemptions, 50);
}

TEST_P(MemoryTest, FiveHundredPreemptionsChangeNoBit) {
  std::vector<std::vector<float>> expected;
  {
    auto roomy = tiny_engine(config());
    for (std::uint32_t q = 0; q < 8; ++q) expected.push_back(search(*roomy, q));
  }
  auto tight = tiny_engine(config(), {.cache_size = {14, 9}});
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  constexpr int kMostSearches = 400;  // how many it takes depends on the timing of threads
  for (std::uint32_t q = 0; q < 8; ++q) {
    threads.emplace_back([&, q] {
      for (int i = 0; i < kMostSearches && tight->counters().preemptions < 500; ++i)
        wrong += search(*tight, q) != expected[q];
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(tight->counters().preemptions, 500);
}

TEST_P(MemoryTest, IdleSequencesOfOthersDoNotBlock) {
  auto engine = tiny_engine(config(), {.cache_size = {13, 4}});
  std::vector<Sequence> held;
  for (std::uint32_t i = 0; i < 6; ++i) held.push_back(open_one(*engine, some_tokens(200, i)));
  auto roomy = tiny_engine(config());
  for (std::uint32_t i = 0; i < 6; ++i) {
    Sequence alone = open_one(*roomy, some_tokens(200, i));
    const auto tokens = some_tokens(30, 77);
    EXPECT_EQ(score_one(*engine, held[i], tokens), score_one(*roomy, alone, tokens));
  }
}

TEST_P(MemoryTest, ACallThatCanNeverFitIsAnError) {
  auto engine = tiny_engine(config(), {.cache_size = {3, 2}});
  EXPECT_EQ(engine->info().max_length, 96);
  // Each sequence fits alone, but a mixture needs all three at once.
  std::vector<Sequence> s;
  for (std::uint32_t i = 0; i < 3; ++i) s.push_back(open_one(*engine, some_tokens(60, i)));
  try {
    extend_one(*engine, {.sequence = &s[0],
                         .followers = {&s[1], &s[2]},
                         .max_tokens = 5,
                         .mix = {1.0f, 1.0f, -1.0f}});
    FAIL() << "three sequences of 60 tokens do not fit in three pages";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Failed);
    EXPECT_THAT(error.what(), HasSubstr("do not fit into the cache of 3 pages"));
  }
  EXPECT_EQ(s[0].length(), 60);
  EXPECT_EQ(extend_one(*engine, {.sequence = &s[0], .max_tokens = 5}).tokens.size(), 5u);
}

TEST_P(MemoryTest, AllMemoryIsReleased) {
  auto engine = tiny_engine(config(), {.kept_prefixes = 0});
  search(*engine, 1);
  EXPECT_EQ(engine->memory().used, (CacheNeed{0, 0}));
  EXPECT_GT(engine->memory().peak.pages, 0);
}

TEST_P(MemoryTest, ALongPromptDoesNotBlockOthers) {
  ModelConfig wide = config();
  wide.max_positions = 3000;
  auto engine = tiny_engine(
      wide, {.cache_size = {200, 20}, .step_rows = 64, .rows_beside_draws = 8, .kept_prefixes = 0});
  const Sequence quick = open_one(*engine, some_tokens(5, 1));
  const auto prompt = some_tokens(801, 2);
  std::atomic<bool> read = false;
  std::thread drawer([&] {
    while (!read) {
      Sequence fork = quick.fork();
      extend_one(*engine, {.sequence = &fork, .max_tokens = 200});
    }
  });
  while (engine->counters().steps < 10) std::this_thread::yield();
  const EngineCounters before = engine->counters();
  open_one(*engine, prompt);
  const EngineCounters after = engine->counters();
  read = true;
  drawer.join();
  // Chunks of 8 rows while the other call draws, except for a few steps between two of its calls;
  // with chunks of 64 rows it would be 13 steps.
  const std::int64_t steps = after.steps - before.steps;
  EXPECT_GE(steps, 50);
  EXPECT_GE(after.rows - before.rows, 800 + steps / 2);
}

TEST_P(MemoryTest, AForkTakesMicroseconds) {
  ModelConfig wide = config();
  wide.max_positions = 4000;
  auto engine = tiny_engine(wide, {.cache_size = {300, 8}});
  Sequence sequence = open_one(*engine, some_tokens(3000, 1));
  const CacheCounters before = engine->memory().counters;
  const auto start = std::chrono::steady_clock::now();
  std::vector<Sequence> forks;
  for (int i = 0; i < 50; ++i) forks.push_back(sequence.fork());
  const double each =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() /
      50;
  RecordProperty("fork_microseconds", static_cast<int>(each));
  EXPECT_LT(each, 500);
  const CacheCounters after = engine->memory().counters;
  EXPECT_EQ(after.forks - before.forks, 50);
  EXPECT_EQ(after.copied_pages, before.copied_pages);
  EXPECT_EQ(after.copied_states, before.copied_states);
}

// A search by cbs uses 16 beams under three prompts; the default has room for several.
TEST(CacheSize, HasStatesForSeveralSearches) {
  const auto ops = make_reference_ops();
  const ModelConfig config = tiny_recurrent();
  const CacheNeed size = cache_size_within(0, *ops, cache_shape(config), config.max_positions);
  EXPECT_GE(size.states, 16 * 48);
}

TEST(CacheSize, FollowsTheBudget) {
  const auto ops = make_reference_ops();
  const ModelConfig config = tiny_recurrent();
  const CacheShape shape = cache_shape(config);
  const CacheNeed small = cache_size_within(1 << 20, *ops, shape, config.max_positions);
  const CacheNeed large = cache_size_within(4 << 20, *ops, shape, config.max_positions);
  EXPECT_LE(small.pages * ops->page_bytes(shape.kv) + small.states * ops->state_bytes(shape.state),
            1 << 20);
  EXPECT_NEAR(large.pages, 4 * small.pages, 10);
  EXPECT_THROW(cache_size_within(100, *ops, shape, config.max_positions), Error);
}

// Heads of 128: a page of bf16 has 16,384 bytes, a page of codes 8,448.
TEST(CacheSize, EightBitsHoldNearlyTwiceTheTokens) {
  ModelConfig config = tiny_attention();
  config.head_dim = config.rope.width = 128;
  const auto memory = [&](CacheType type) {
    return LocalEngine::random(
               config, {.precision = Precision::Bf16, .cache_bytes = 1 << 20, .cache_type = type})
        ->memory();
  };
  const LocalEngine::Memory bf16 = memory(CacheType::Plain);
  for (const CacheType type : {CacheType::Fp8, CacheType::Int8}) {
    const LocalEngine::Memory codes = memory(type);
    EXPECT_NEAR(double(codes.page_bytes) / double(bf16.page_bytes), 0.516, 0.001);
    EXPECT_GE(codes.size.pages, bf16.size.pages * 19 / 10);
    EXPECT_LE(codes.size.pages * codes.page_bytes, 1 << 20);
  }
}

// The numbers are near those of a plain cache, and not the same.
TEST(CacheSize, EightBitsChangeLogProbabilitiesALittle) {
  const auto tokens = some_tokens(120, 5), given = some_tokens(40, 6);
  const auto scores = [&](CacheType type) {
    auto engine =
        LocalEngine::random(tiny_attention(), {.precision = Precision::F32, .cache_type = type});
    EXPECT_EQ(engine->info().cache_dtype, name_of(type));
    Sequence sequence = open_one(*engine, tokens);
    return score_one(*engine, sequence, given);
  };
  const std::vector<float> plain = scores(CacheType::Plain);
  double before = 0;
  for (const CacheType type : {CacheType::Int8, CacheType::Fp8}) {
    const std::vector<float> codes = scores(type);
    double difference = 0;
    for (std::size_t i = 0; i < plain.size(); ++i)
      difference += std::abs(double(codes[i]) - double(plain[i])) / double(plain.size());
    EXPECT_GT(difference, before) << name_of(type);  // fp8 is coarser
    EXPECT_LT(difference, 0.02) << name_of(type);
    before = difference;
  }
}

}  // namespace
}  // namespace counterbeam
