// Tests the local engine with a single client: numbers, shared prefixes, limits, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <thread>

#include "base/error.h"
#include "engine/tiny.h"

namespace counterbeam {
namespace {

using ::testing::HasSubstr;
using namespace testing;

class EngineTest : public ::testing::TestWithParam<bool> {
 protected:
  ModelConfig config() const { return GetParam() ? tiny_recurrent() : tiny_attention(); }
  std::unique_ptr<LocalEngine> engine(const LocalOptions& options = {}) const {
    return tiny_engine(config(), options);
  }
};

INSTANTIATE_TEST_SUITE_P(Models, EngineTest, ::testing::Bool(),
                         [](const auto& model) { return model.param ? "recurrent" : "attention"; });

// Log-probabilities of `tokens` after `prompt`, from full logits.
std::vector<float> from_logits(LocalEngine& engine, std::vector<TokenId> prompt,
                               const std::vector<TokenId>& tokens) {
  const std::size_t first = prompt.size() - 1;
  prompt.insert(prompt.end(), tokens.begin(), tokens.end());
  std::vector<float> logprobs;
  engine.logits(prompt, [&](int position, std::span<const float> logits) {
    if (static_cast<std::size_t>(position) < first ||
        static_cast<std::size_t>(position) >= prompt.size() - 1) {
      return;
    }
    double sum = 0;
    for (const float x : logits) sum += std::exp(static_cast<double>(x));
    const TokenId next = prompt[static_cast<std::size_t>(position) + 1];
    logprobs.push_back(static_cast<float>(logits[static_cast<std::size_t>(next)] - std::log(sum)));
  });
  return logprobs;
}

TEST_P(EngineTest, ScoresAreTheLogSoftmaxOfTheLogits) {
  auto e = engine();
  const auto prompt = some_tokens(40, 1), tokens = some_tokens(70, 2);
  Sequence sequence = open_one(*e, prompt);
  const auto scores = score_one(*e, sequence, tokens);
  const auto expected = from_logits(*e, prompt, tokens);
  ASSERT_EQ(scores.size(), tokens.size());
  for (std::size_t i = 0; i < scores.size(); ++i) EXPECT_NEAR(scores[i], expected[i], 1e-5);
  EXPECT_EQ(sequence.length(), 110);
}

TEST_P(EngineTest, ExtendingIsScoringWhatWasDrawn) {
  auto e = engine();
  Sequence sequence = open_one(*e, some_tokens(9, 3));
  Sequence twin = sequence.fork();
  const Extension drawn =
      extend_one(*e, {.sequence = &sequence, .max_tokens = 50, .sampling = {}, .key = {.seed = 4}});
  ASSERT_EQ(drawn.tokens.size(), 50u);
  EXPECT_EQ(score_one(*e, twin, drawn.tokens), drawn.logprobs);
  EXPECT_EQ(drawn.drawn_logprobs.size(), 50u);
  EXPECT_EQ(sequence.length(), 59);
}

TEST_P(EngineTest, CountsTheTokensItDraws) {
  auto e = engine();
  EXPECT_EQ(e->tokens_drawn(), 0);
  Sequence sequence = open_one(*e, some_tokens(9, 3)), follower = open_one(*e, some_tokens(7, 4));
  score_one(*e, sequence, some_tokens(5, 1));
  EXPECT_EQ(e->tokens_drawn(), 0);  // scored, not drawn
  extend_one(*e, {.sequence = &sequence, .followers = {&follower}, .max_tokens = 11, .key = {}});
  EXPECT_EQ(e->tokens_drawn(), 11);  // followers draw nothing
}

TEST_P(EngineTest, ShowsDrawnTokensWhileTheCallRuns) {
  auto e = engine();
  Sequence sequence = open_one(*e, some_tokens(9, 3));
  Cancellation stop;
  std::thread client([&] {
    try {
      e->extend(std::vector<ExtendRequest>{{.sequence = &sequence, .max_tokens = 390}}, &stop);
      EXPECT_EQ(e->tokens_drawn(), 390);  // done before it was cancelled
    } catch (const Cancelled&) {
    }
  });
  std::int64_t before = 0;
  while (before < 20) {
    const std::int64_t now = e->tokens_drawn();
    ASSERT_GE(now, before);  // never decreases
    before = now;
    std::this_thread::yield();
  }
  stop.cancel();
  client.join();
}

TEST_P(EngineTest, CallsComposeLikeOneCall) {
  auto e = engine();
  const auto prompt = some_tokens(20, 5);
  Sequence whole = open_one(*e, prompt);
  const Extension all = extend_one(*e, {.sequence = &whole, .max_tokens = 40, .key = {.seed = 8}});
  Sequence parts = open_one(*e, prompt);
  std::vector<TokenId> tokens;
  for (int i = 0; i < 40; i += 8) {
    Sequence fork = parts.fork();
    parts = std::move(fork);
    const Extension part =
        extend_one(*e, {.sequence = &parts,
                        .max_tokens = 8,
                        .key = {.seed = 8, .position = static_cast<std::uint32_t>(i)}});
    tokens.insert(tokens.end(), part.tokens.begin(), part.tokens.end());
  }
  EXPECT_EQ(tokens, all.tokens);
}

TEST_P(EngineTest, EveryFollowerModeGivesTheSameNumbers) {
  std::vector<Extension> results;
  for (const FollowerMode mode :
       {FollowerMode::Lockstep, FollowerMode::Block, FollowerMode::Pieces, FollowerMode::Auto}) {
    auto e = engine({.followers = mode});
    const std::vector<std::vector<TokenId>> prompts = {some_tokens(30, 1), some_tokens(33, 2),
                                                       some_tokens(5, 3)};
    Opened opened = e->open(prompts);
    auto& s = opened.sequences;
    results.push_back(extend_one(*e, {.sequence = &s[0],
                                      .followers = {&s[1], &s[2]},
                                      .max_tokens = 45,
                                      .key = {.seed = 3},
                                      .stop = {49}}));
    EXPECT_EQ(s[1].length(), 33 + static_cast<int>(results.back().tokens.size()));
    Sequence fresh = open_one(*e, prompts[1]);
    EXPECT_EQ(score_one(*e, fresh, results.back().tokens), results.back().follower_logprobs[0]);
  }
  EXPECT_TRUE(same(results[0], results[1]));
  EXPECT_TRUE(same(results[0], results[2]));
  EXPECT_TRUE(same(results[0], results[3]));
}

// Four followers of 32 tokens take eight steps of 16 rows unless they are scored together with the
// draws. The cache has room for all sequences and one more page for each that draws.
TEST_P(EngineTest, FollowersAreScoredInChunksWhileOthersDraw) {
  std::map<FollowerMode, std::int64_t> steps;
  std::map<FollowerMode, std::vector<Extension>> extensions;
  for (const FollowerMode mode : {FollowerMode::Block, FollowerMode::Pieces}) {
    auto e = engine({.cache_size = {14, 12}, .followers = mode, .step_rows = 16});
    std::vector<std::vector<TokenId>> prompts;
    for (std::uint32_t i = 0; i < 6; ++i) prompts.push_back(some_tokens(7, i));
    Opened opened = e->open(prompts);
    auto& s = opened.sequences;
    const std::vector<ExtendRequest> asks = {
        {.sequence = &s[0], .followers = {&s[1], &s[2]}, .max_tokens = 32, .key = {.seed = 1}},
        {.sequence = &s[3], .followers = {&s[4], &s[5]}, .max_tokens = 32, .key = {.seed = 2}}};
    const auto before = e->counters().steps;
    extensions[mode] = e->extend(asks);
    steps[mode] = e->counters().steps - before;
  }
  EXPECT_EQ(steps[FollowerMode::Block], 32 + 8);
  EXPECT_LE(steps[FollowerMode::Pieces], 32 + 2);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_TRUE(same(extensions[FollowerMode::Block][i], extensions[FollowerMode::Pieces][i]));
}

// Followers in lockstep take no steps of their own; scoring them as a block takes one more. With
// AVX2 a step of four rows costs as much as a step of one.
TEST_P(EngineTest, FollowersRunInLockstepWhileAStepHasFewRows) {
  const auto steps_of = [&](int requests) {
    auto e = engine({.isa = "avx2"});
    std::vector<std::vector<TokenId>> prompts;
    for (int i = 0; i < 3 * requests; ++i)
      prompts.push_back(some_tokens(7, static_cast<std::uint32_t>(i)));
    Opened opened = e->open(prompts);
    std::vector<ExtendRequest> asks;
    for (std::size_t i = 0; i < prompts.size(); i += 3) {
      asks.push_back({.sequence = &opened.sequences[i],
                      .followers = {&opened.sequences[i + 1], &opened.sequences[i + 2]},
                      .max_tokens = 12});
    }
    const auto before = e->counters().steps;
    e->extend(asks);
    return e->counters().steps - before;
  };
  EXPECT_EQ(steps_of(1), GetParam() ? 13 : 12);
  EXPECT_EQ(steps_of(2), 13);
}

// The followers of the first call run in lockstep until the second call starts; then the first call
// needs one more step at its end.
TEST_P(EngineTest, FollowersLeaveLockstepWhenAnotherCallStarts) {
  const auto run = [&](bool others) {
    auto e = engine({.isa = "avx2"});
    Opened opened = e->open(std::vector{some_tokens(30, 1), some_tokens(33, 2), some_tokens(5, 3)});
    Opened other = e->open(std::vector{some_tokens(8, 4), some_tokens(9, 5)});
    const auto before = e->counters().steps;
    std::thread second([&] {
      while (others && e->counters().steps < before + 10) std::this_thread::yield();
      ExtendRequest ask{.sequence = &other.sequences[0], .max_tokens = 5};
      ask.followers = {&other.sequences[1]};
      if (others) e->extend({&ask, 1});
    });
    Extension extension = extend_one(*e, {.sequence = &opened.sequences[0],
                                          .followers = {&opened.sequences[1], &opened.sequences[2]},
                                          .max_tokens = 300,
                                          .key = {.seed = 5}});
    second.join();
    return std::pair{extension, e->counters().steps - before};
  };
  const auto [alone, alone_steps] = run(false);
  const auto [together, together_steps] = run(true);
  EXPECT_TRUE(same(alone, together));
  EXPECT_EQ(alone_steps, GetParam() ? 301 : 300);
  EXPECT_GE(together_steps, 301);
}

TEST_P(EngineTest, AStopTokenEndsTheRequestAndIsKept) {
  auto e = engine();
  Sequence sequence = open_one(*e, some_tokens(12, 7));
  Sequence twin = sequence.fork();
  const Extension free =
      extend_one(*e, {.sequence = &sequence, .max_tokens = 30, .key = {.seed = 2}});
  const TokenId stop = free.tokens[10];
  const auto first = std::find(free.tokens.begin(), free.tokens.end(), stop);
  const Extension stopped =
      extend_one(*e, {.sequence = &twin, .max_tokens = 30, .key = {.seed = 2}, .stop = {stop}});
  EXPECT_TRUE(stopped.stopped);
  EXPECT_EQ(stopped.tokens, (std::vector<TokenId>(free.tokens.begin(), first + 1)));
}

TEST_P(EngineTest, ASharedPrefixIsComputedOnce) {
  auto e = engine();
  const auto common = some_tokens(100, 1);
  std::vector<std::vector<TokenId>> prompts(3, common);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto tail = some_tokens(10, 20 + i);
    prompts[i].insert(prompts[i].end(), tail.begin(), tail.end());
    prompts[i][100] = static_cast<TokenId>(i);
  }
  const Opened opened = e->open(prompts);
  EXPECT_EQ(opened.computed_tokens, 100 + 3 * 9);
  EXPECT_EQ(opened.cached_tokens, 2 * 100);

  auto alone = engine({.kept_prefixes = 0});
  for (std::size_t i = 0; i < 3; ++i) {
    Sequence together = opened.sequences[i].fork();
    Sequence separate = open_one(*alone, prompts[i]);
    const auto tokens = some_tokens(20, 50);
    EXPECT_EQ(score_one(*e, together, tokens), score_one(*alone, separate, tokens));
  }
}

TEST_P(EngineTest, ASystemPromptIsKeptAcrossQuestions) {
  auto e = engine();
  const auto system = some_tokens(64, 1);
  std::vector<std::int64_t> computed;
  for (std::uint32_t question = 0; question < 4; ++question) {
    auto prompt = system;
    const auto tail = some_tokens(11, 100 + question);
    prompt.insert(prompt.end(), tail.begin(), tail.end());
    prompt[64] = static_cast<TokenId>(question);
    computed.push_back(e->open({&prompt, 1}).computed_tokens);
  }
  EXPECT_EQ(computed[0], 74);
  EXPECT_EQ(computed[2], 10);  // recurrent layers see the divergence at the second prompt
  EXPECT_EQ(computed[3], 10);
}

TEST_P(EngineTest, ContextIsNeverExceeded) {
  auto e = engine();
  Sequence sequence = open_one(*e, some_tokens(390, 1));
  const Extension last =
      extend_one(*e, {.sequence = &sequence, .max_tokens = 50, .key = {.seed = 1}});
  EXPECT_EQ(last.tokens.size(), 10u);
  EXPECT_TRUE(last.full);
  EXPECT_FALSE(last.stopped);
  EXPECT_EQ(sequence.length(), 400);
  EXPECT_THROW(extend_one(*e, {.sequence = &sequence, .max_tokens = 1}), Error);
}

TEST_P(EngineTest, MixturesDrawFromTheSumOfLogProbabilities) {
  auto e = engine();
  const auto prompt = some_tokens(10, 1);
  Opened opened = e->open(std::vector<std::vector<TokenId>>{prompt, some_tokens(12, 2)});
  auto& s = opened.sequences;
  Sequence copy = s[0].fork(), follower = s[1].fork();
  const Extension pure = extend_one(*e, {.sequence = &s[0], .max_tokens = 30, .key = {.seed = 6}});
  const Extension mixed = extend_one(*e, {.sequence = &copy,
                                          .followers = {&follower},
                                          .max_tokens = 30,
                                          .key = {.seed = 6},
                                          .mix = {1.0f, 0.0f}});
  EXPECT_EQ(pure.tokens, mixed.tokens);
  EXPECT_EQ(pure.logprobs, mixed.logprobs);
  EXPECT_EQ(mixed.follower_logprobs[0], score_one(*e, s[1], mixed.tokens));
}

TEST_P(EngineTest, PaddingOfTheVocabularyIsNeverDrawn) {
  auto e = engine({.vocab_limit = 10});
  Sequence sequence = open_one(*e, some_tokens(10, 1));
  const Extension drawn =
      extend_one(*e, {.sequence = &sequence, .max_tokens = 200, .key = {.seed = 1}});
  for (const TokenId token : drawn.tokens) EXPECT_LT(token, 10);
}

TEST_P(EngineTest, BadRequestsAreErrors) {
  auto e = engine();
  const auto message = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::BadInput);
      return error.what();
    }
    return "no error";
  };
  Sequence s = open_one(*e, {1, 2, 3});
  const auto extend_with = [&](const auto& change) {
    ExtendRequest request{.sequence = &s, .max_tokens = 4};
    change(request);
    return message([&] { extend_one(*e, request); });
  };
  EXPECT_THAT(message([&] { open_one(*e, {}); }), HasSubstr("prompt 0 is empty"));
  EXPECT_THAT(message([&] { open_one(*e, some_tokens(400, 1)); }),
              HasSubstr("prompt 0 has 400 tokens; at most 399"));
  EXPECT_THAT(message([&] { open_one(*e, {1, 50}); }), HasSubstr("token 1 is id 50"));
  EXPECT_THAT(message([&] { open_one(*e, {-1}); }), HasSubstr("is id -1; ids of this model are 0"));
  EXPECT_THAT(message([&] { score_one(*e, s, {7, 1000}); }), HasSubstr("token 1 is id 1000"));
  EXPECT_THAT(extend_with([](auto& r) { r.max_tokens = 0; }), HasSubstr("max_tokens is 0"));
  EXPECT_THAT(extend_with([](auto& r) { r.sampling.temperature = -1; }),
              HasSubstr("temperature is -1"));
  EXPECT_THAT(extend_with([](auto& r) { r.sampling.temperature = NAN; }),
              HasSubstr("temperature is nan"));
  EXPECT_THAT(extend_with([](auto& r) { r.sampling.top_p = 0; }), HasSubstr("top_p is 0"));
  EXPECT_THAT(extend_with([](auto& r) { r.sampling.top_p = 1.5f; }), HasSubstr("top_p is 1.5"));
  EXPECT_THAT(extend_with([](auto& r) { r.sampling.top_k = -2; }), HasSubstr("top_k is -2"));
  for (const float bad : {-0.1f, 1.5f, NAN, INFINITY})
    EXPECT_THAT(extend_with([&](auto& r) { r.sampling.min_p = bad; }),
                HasSubstr("it must be between 0 (all) and 1"));
  EXPECT_THAT(extend_with([](auto& r) { r.mix = {1, 2}; }), HasSubstr("2 weights to mix"));
  EXPECT_THAT(extend_with([](auto& r) { r.sequence = nullptr; }), HasSubstr("no sequence"));
  EXPECT_THAT(extend_with([&](auto& r) { r.followers = {&s}; }),
              HasSubstr("two requests at the same time"));
  auto other = engine();
  Sequence foreign = open_one(*other, {1});
  EXPECT_THAT(extend_with([&](auto& r) { r.sequence = &foreign; }),
              HasSubstr("belongs to another engine"));
  // The engine still works and the sequence is unchanged.
  EXPECT_EQ(s.length(), 3);
  EXPECT_EQ(extend_one(*e, {.sequence = &s, .max_tokens = 4}).tokens.size(), 4u);
}

TEST_P(EngineTest, SequencesMayOutliveTheEngine) {
  auto e = engine();
  Sequence sequence = open_one(*e, some_tokens(50, 1));
  e.reset();
  Sequence fork = sequence.fork();
  EXPECT_EQ(fork.length(), 50);
}

TEST_P(EngineTest, ACancelledCallLeavesItsSequencesAsTheyWere) {
  auto e = engine();
  const auto prompt = some_tokens(30, 1);
  Sequence sequence = open_one(*e, prompt), follower = open_one(*e, some_tokens(31, 2));
  Cancellation cancellation;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    cancellation.cancel();
  });
  ErrorKind kind = ErrorKind::Failed;
  try {
    for (;;) {
      Sequence a = sequence.fork(), b = follower.fork();
      ExtendRequest request{.sequence = &a, .followers = {&b}, .max_tokens = 300};
      e->extend({&request, 1}, &cancellation);
    }
  } catch (const Error& error) {
    kind = error.kind();
  }
  canceller.join();
  EXPECT_EQ(kind, ErrorKind::Cancelled);
  ExtendRequest request{.sequence = &sequence, .followers = {&follower}, .max_tokens = 30};
  EXPECT_THROW(e->extend({&request, 1}, &cancellation), Error);
  EXPECT_EQ(sequence.length(), 30);
  EXPECT_EQ(follower.length(), 31);
  const Extension after = extend_one(*e, request);
  auto fresh = engine();
  Sequence x = open_one(*fresh, prompt), y = open_one(*fresh, some_tokens(31, 2));
  request.sequence = &x;
  request.followers = {&y};
  EXPECT_TRUE(same(after, extend_one(*fresh, request)));
}

}  // namespace
}  // namespace counterbeam
