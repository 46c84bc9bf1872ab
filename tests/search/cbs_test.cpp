#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "base/error.h"
#include "search/method_strings.h"
#include "support/replay.h"
#include "support/toy_prompts.h"
#include "theory/toy_engine.h"

namespace counterbeam {
namespace {

constexpr TokenId kEnd = 0;

Settings settings_of(std::string_view text) {
  return parse_method(text);
}

SearchResult run(ToyEngine& engine, const Settings& settings, std::uint64_t seed = 1,
                 std::uint32_t question = 0) {
  const Prompts prompts = testing::toy_prompts(engine, settings);
  return run_search({engine, prompts, seed, question, nullptr}, settings);
}

// The best score over all answers of the toy model, which end at an end token or at the horizon, by
// the formulas of docs/search.md.
double exhaustive_best(const ToyModel& model, const Settings& settings,
                       std::vector<TokenId>* best_tokens) {
  double best = -1e300;
  const auto plus = settings.contrast == "negative" ? ToyContext::Base : ToyContext::Positive;
  const auto minus = settings.contrast == "positive" ? ToyContext::Base : ToyContext::Negative;
  const auto visit = [&](std::span<const TokenId> tokens) {
    double total = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i] == kEnd && i + 1 < tokens.size()) return;  // continues after its end
      const auto prefix = tokens.first(i);
      const auto v = static_cast<std::size_t>(tokens[i]);
      total += std::log(model.probabilities(ToyContext::Base, prefix)[v]) +
               settings.steer * std::log(model.probabilities(plus, prefix)[v] /
                                         model.probabilities(minus, prefix)[v]);
    }
    if (settings.aggregate == "mean") total /= static_cast<double>(tokens.size());
    const bool complete = static_cast<int>(tokens.size()) == model.horizon() ||
                          (!tokens.empty() && tokens.back() == kEnd);
    if (complete && total > best) {
      best = total;
      best_tokens->assign(tokens.begin(), tokens.end());
    }
  };
  for (int length = 1; length <= model.horizon(); ++length) model.each_sequence(length, visit);
  return best;
}

TEST(Cbs, ManyBeamsWithoutPruningFindTheBestAnswer) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const ToyModel model = ToyModel::random(3, 3, seed, 1.0);
    ToyEngine engine(model, {kEnd});
    for (const char* kind : {"", ":contrast=positive", ":contrast=negative", ":aggregate=sum",
                             ":contrast=positive:aggregate=sum"}) {
      const Settings settings =
          settings_of(std::string("cbs:beams=3000:prune=1:block=1:steer=0.7") + kind);
      const auto result = run(engine, settings, seed);
      std::vector<TokenId> best;
      const double expected = exhaustive_best(model, settings, &best);
      EXPECT_NEAR(result.answer().score, expected, 1e-6) << kind;
      EXPECT_EQ(result.answer().tokens, best) << kind;
    }
  }
}

TEST(Cbs, AOneSidedContrastReadsOneContext) {
  ToyEngine engine(ToyModel::random(4, 6, 3, 1.0), {kEnd});
  const auto cost = [&](const char* method) { return run(engine, settings_of(method)).ledger; };
  const Ledger both = cost("cbs:beams=8:block=2");
  EXPECT_EQ(both.scored_tokens, 2 * both.generated_tokens);
  for (const char* method :
       {"cbs:contrast=positive:beams=8:block=2", "cbs:contrast=negative:beams=8:block=2",
        "best-of-n:steer=0.5:contrast=positive:beams=8:block=2", "token-contrast:contrast=negative",
        "token-contrast:policy=cad"}) {
    const Ledger one = cost(method);
    EXPECT_EQ(one.scored_tokens, one.generated_tokens) << method;
    EXPECT_EQ(one.prompt_tokens + one.cached_tokens, 2) << method;
  }
  for (const char* method : {"cbs:steer=0:beams=8:block=2", "cbs:contexts=none:beams=8:block=2"}) {
    const Ledger none = cost(method);
    EXPECT_EQ(none.scored_tokens, 0) << method;
    EXPECT_EQ(none.prompt_tokens + none.cached_tokens, 1) << method;
  }
}

TEST(Cbs, BothSidesAddUpToTheWholeContrast) {
  // The reward of the pair is the sum of the two one-sided rewards.
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    ToyEngine engine(ToyModel::random(4, 6, seed, 1.0), {kEnd});
    const auto sampled = [&](const std::string& contrast) {
      return run(engine, settings_of("best-of-n:steer=0.5:block=2:contrast=" + contrast), seed);
    };
    const auto both = sampled("both"), positive = sampled("positive"),
               negative = sampled("negative");
    for (std::size_t i = 0; i < both.pool.size(); ++i) {
      ASSERT_EQ(both.pool[i].tokens, positive.pool[i].tokens);
      EXPECT_NEAR(both.pool[i].sums.reward(),
                  positive.pool[i].sums.reward() + negative.pool[i].sums.reward(), 1e-5);
    }
  }
}

TEST(Cbs, PatienceWithSumsEndsOnlyWhereNothingBetterCanCome) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    ToyEngine engine(ToyModel::random(3, 6, seed, 1.0), {kEnd});
    const std::string beam = "beam:beams=8:prune=2:block=1:aggregate=sum";
    const auto whole = run(engine, settings_of(beam), seed);
    const auto early = run(engine, settings_of(beam + ":patience=1000"), seed);
    EXPECT_EQ(early.answer().tokens, whole.answer().tokens) << seed;
  }
}

TEST(Cbs, WithoutSteeringItIsBeamSearch) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    ToyEngine engine(ToyModel::random(4, 6, seed, 1.0), {kEnd});
    const auto cbs = run(engine, settings_of("cbs:steer=0:block=2:beams=8"), seed);
    const auto beam = run(engine, settings_of("beam:block=2:beams=8"), seed);
    EXPECT_EQ(cbs.answer().tokens, beam.answer().tokens);
    ASSERT_EQ(cbs.pool.size(), beam.pool.size());
    for (std::size_t i = 0; i < cbs.pool.size(); ++i)
      EXPECT_EQ(cbs.pool[i].tokens, beam.pool[i].tokens);
  }
}

TEST(Cbs, OneBeamIsSampling) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    ToyEngine engine(ToyModel::random(4, 6, seed, 1.0), {kEnd});
    const auto cbs = run(engine, settings_of("cbs:beams=1:prune=1:block=2"), seed);
    const auto sample = run(engine, settings_of("sample:block=2"), seed);
    EXPECT_EQ(cbs.answer().tokens, sample.answer().tokens);
  }
}

TEST(Cbs, EqualContextsChangeNothing) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    ToyModel model = ToyModel::random(4, 6, seed, 1.0);
    model.each_prefix([&](std::span<const TokenId> prefix) {
      const auto positive = model.probabilities(ToyContext::Positive, prefix);
      const auto negative = model.probabilities(ToyContext::Negative, prefix);
      std::copy(positive.begin(), positive.end(), negative.begin());
    });
    ToyEngine engine(model, {kEnd});
    const auto cbs = run(engine, settings_of("cbs:steer=0.7:block=2:beams=8"), seed);
    const auto beam = run(engine, settings_of("beam:block=2:beams=8"), seed);
    EXPECT_EQ(cbs.answer().tokens, beam.answer().tokens);
    EXPECT_DOUBLE_EQ(cbs.answer().score, beam.answer().score);
  }
}

TEST(Cbs, EveryTraceReplaysFromItsLogProbs) {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 500; ++trial) {
    const int vocab = 2 + static_cast<int>(random() % 4);
    const int horizon = 2 + static_cast<int>(random() % 5);
    ToyEngine engine(ToyModel::random(vocab, horizon, random(), 1.0), {kEnd});
    Settings settings = default_settings(random() % 4 ? "cbs" : "beam");
    settings.beams = 1 + static_cast<int>(random() % 12);
    settings.prune = 1 + static_cast<int>(random() % static_cast<unsigned>(settings.beams));
    settings.block = 1 + static_cast<int>(random() % 4);
    settings.iterations = static_cast<int>(random() % 4);
    settings.max_tokens = 1 + static_cast<int>(random() % 8);
    if (settings.method->find("steer")) {
      settings.steer = static_cast<double>(random() % 5) / 4;
      settings.contrast = std::array{"both", "positive", "negative"}[random() % 3];
    }
    settings.aggregate = random() % 2 ? "mean" : "sum";
    validate(settings);
    const auto result = run(engine, settings, random());
    testing::replay(result.trace, {kEnd});
    if (::testing::Test::HasFailure()) FAIL() << "trial " << trial;
  }
}

TEST(Cbs, LedgerAddsUp) {
  ToyEngine engine(ToyModel::random(4, 6, 3, 1.0), {kEnd});
  const auto result = run(engine, settings_of("cbs:block=2:beams=8"));
  std::int64_t tokens = 0;
  for (const auto& block : result.trace.blocks)
    for (const auto& candidate : block)
      tokens += static_cast<std::int64_t>(candidate.tokens.size());
  EXPECT_EQ(result.ledger.generated_tokens, tokens);
  EXPECT_EQ(result.ledger.scored_tokens, 2 * tokens);
  EXPECT_EQ(result.ledger.prompt_tokens + result.ledger.cached_tokens, 3);
}

TEST(Cbs, MaxTokensClosesUnfinishedAnswers) {
  ToyEngine engine(ToyModel::random(4, 6, 3, 1.0), {});
  const auto result = run(engine, settings_of("cbs:block=4:max-tokens=6:beams=4"));
  for (const Candidate& answer : result.pool) {
    EXPECT_EQ(answer.tokens.size(), 6u);
    EXPECT_FALSE(answer.ended);
  }
  EXPECT_EQ(result.trace.blocks.size(), 2u);
  EXPECT_EQ(result.trace.blocks[1][0].tokens.size(), 2u);
}

TEST(Cbs, ReportsBlocksAndAgreedPrefix) {
  ToyEngine engine(ToyModel::random(4, 6, 3, 1.0), {});
  const Prompts prompts = engine.prompts(true);
  std::vector<BlockReport> reports;
  SearchHooks hooks;
  hooks.on_block = [&](const BlockReport& report) { reports.push_back(report); };
  run_search({engine, prompts, 1, 0, nullptr}, settings_of("cbs:block=2:beams=4:prune=4"), hooks);
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports[0].alive, 1u);
  EXPECT_EQ(reports[0].agreed.size(), 2u);  // there is only one survivor
  EXPECT_EQ(reports[2].finished, 4u);
}

TEST(Lookahead, ManyRolloutsRankByTheExactFutureCorrection) {
  // With an even split and one token per block, the rank must approach s + log(zeta)/|a|.
  const ToyModel model = ToyModel::random(3, 3, 11, 1.0);
  ToyEngine engine(model, {});
  const auto result =
      run(engine, settings_of("cbs:beams=12:prune=2:block=1:steer=0.5:lookahead=4096:horizon=2"));
  for (const TraceCandidate& c : result.trace.blocks[0]) {
    if (c.fate == Fate::Duplicate) continue;
    double zeta = 0;
    model.each_sequence(2, [&](std::span<const TokenId> future) {
      std::vector<TokenId> all = c.tokens;
      double weight = 1;
      for (TokenId token : future) {
        weight *= model.probabilities(ToyContext::Base, all)[static_cast<std::size_t>(token)] *
                  std::exp(0.5 * model.reward(all, token));
        all.push_back(token);
      }
      zeta += weight;
    });
    EXPECT_NEAR(c.rank, c.score + std::log(zeta), 0.05);
  }
}

TEST(Lookahead, WithSumsTheCorrectionIsNotDivided) {
  ToyEngine engine(ToyModel::random(3, 4, 11, 1.0), {});
  const auto ranked = [&](const std::string& aggregate) {
    return run(engine, settings_of("cbs:beams=12:prune=12:block=2:steer=0.5:lookahead=64:horizon=2:"
                                   "aggregate=" +
                                   aggregate));
  };
  const auto mean = ranked("mean").trace.blocks[0], sum = ranked("sum").trace.blocks[0];
  for (std::size_t i = 0; i < mean.size(); ++i) {
    ASSERT_EQ(mean[i].tokens, sum[i].tokens);
    EXPECT_NEAR(sum[i].rank - sum[i].score, 2 * (mean[i].rank - mean[i].score), 1e-9);
  }
}

}  // namespace
}  // namespace counterbeam
