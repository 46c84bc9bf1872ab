// What surrounds a search: live reports, scorers, cancelling, patience, engines that cannot do all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "search/method_strings.h"
#include "support/replay.h"
#include "theory/toy_engine.h"

namespace counterbeam {
namespace {

using ::testing::HasSubstr;

constexpr TokenId kEnd = 0;

// A toy engine whose k-th extension is cancelled, and that may lack abilities.
class LimitedEngine : public ToyEngine {
 public:
  using ToyEngine::ToyEngine;
  const EngineInfo& info() const override { return info_; }
  std::vector<Extension> extend(std::span<const ExtendRequest> requests,
                                const Cancellation* cancellation) override {
    if (++calls_ == cancelled_call) throw Cancelled("cancelled");
    return ToyEngine::extend(requests, cancellation);
  }
  EngineAbilities& abilities() { return info_.abilities; }

  int cancelled_call = 0;

 private:
  EngineInfo info_ = ToyEngine::info();
  int calls_ = 0;
};

SearchResult run(Engine& engine, const ToyEngine& toy, std::string_view method,
                 const SearchHooks& given = {}) {
  const Settings settings = parse_method(method);
  const Prompts prompts = toy.prompts(uses_contexts(settings));
  SearchHooks hooks = given;
  hooks.vote = [](const std::vector<TokenId>& tokens) {
    return std::optional(std::to_string(tokens.size()));
  };
  return run_search({engine, prompts, 1, 0, nullptr}, settings, hooks);
}

TEST(LiveReport, TheBestIsRealForEveryMethod) {
  ToyEngine engine(ToyModel::random(4, 6, 3, 1.0), {kEnd});
  for (const Method& method : methods()) {
    std::vector<BlockReport> reports;
    SearchHooks hooks;
    hooks.on_block = [&](const BlockReport& report) { reports.push_back(report); };
    const std::string text =
        std::string(method.name) + (method.find("beams") ? ":block=2:beams=8" : ":block=2");
    const SearchResult result = run(engine, engine, text, hooks);
    ASSERT_FALSE(reports.empty()) << method.name;
    for (const BlockReport& report : reports) {
      EXPECT_LT(report.best, 0) << method.name;
      EXPECT_FALSE(report.best_tokens.empty()) << method.name;
      EXPECT_LE(report.agreed.size(), report.best_tokens.size()) << method.name;
      EXPECT_TRUE(
          std::equal(report.agreed.begin(), report.agreed.end(), result.answer().tokens.begin()))
          << method.name << ": a prefix that was agreed on was taken back";
    }
    if (method.votes) continue;  // chooses by votes, not by score
    EXPECT_EQ(reports.back().best, result.answer().score) << method.name;
    EXPECT_EQ(reports.back().best_tokens, result.answer().tokens) << method.name;
  }
}

TEST(Scorer, ReplacesTheScoreOfMethodsThatRank) {
  ToyEngine engine(ToyModel::random(4, 6, 3, 1.0), {});
  SearchHooks hooks;
  const auto threes = [](const Candidate& candidate) {
    return static_cast<double>(
        std::count(candidate.tokens.begin(), candidate.tokens.end(), TokenId{3}));
  };
  hooks.scorer = [&](std::span<const Candidate* const> candidates) {
    std::vector<double> scores;
    for (const Candidate* candidate : candidates) scores.push_back(threes(*candidate));
    return scores;
  };
  for (const char* method : {"cbs:block=1:beams=64", "best-of-n:block=2:beams=64"}) {
    const SearchResult result = run(engine, engine, method, hooks);
    double most = 0;
    for (const Candidate& answer : result.pool) most = std::max(most, threes(answer));
    EXPECT_EQ(result.answer().score, most) << method;
    EXPECT_EQ(threes(result.answer()), most) << method;
  }
  // 64 copies of each survivor, and the wanted token is the likeliest: it is drawn in every block.
  const std::vector<TokenId> wanted = run(engine, engine, "greedy").answer().tokens;
  hooks.scorer = [&](std::span<const Candidate* const> candidates) {
    std::vector<double> scores;
    for (const Candidate* candidate : candidates)
      scores.push_back(static_cast<double>(
          std::inner_product(candidate->tokens.begin(), candidate->tokens.end(), wanted.begin(), 0,
                             std::plus<>(), [](TokenId a, TokenId b) { return a == b ? 1 : 0; })));
    return scores;
  };
  const char* wide = "cbs:block=1:beams=512:prune=64";
  EXPECT_EQ(run(engine, engine, wide, hooks).answer().tokens, wanted);
  EXPECT_THROW(run(engine, engine, "power", hooks), BadInput);
  hooks.scorer = [](auto) { return std::vector<double>{}; };
  EXPECT_THROW(run(engine, engine, "beam", hooks), BadInput);
  hooks.scorer = [](auto all) { return std::vector<double>(all.size(), std::nan("")); };
  EXPECT_THROW(run(engine, engine, "beam", hooks), BadInput);
}

TEST(Cancelling, GivesTheBestSoFarWhereThatIsWanted) {
  for (const Method& method : methods()) {
    const std::string text =
        std::string(method.name) + (method.find("beams") ? ":block=1:beams=8" : ":block=1");
    SearchHooks hooks;
    {
      LimitedEngine engine(ToyModel::random(4, 6, 3, 1.0), {});
      engine.cancelled_call = 3;
      EXPECT_THROW(run(engine, engine, text, hooks), Cancelled) << method.name;
    }
    hooks.keep_partial = true;
    LimitedEngine engine(ToyModel::random(4, 6, 3, 1.0), {});
    engine.cancelled_call = 1;
    EXPECT_THROW(run(engine, engine, text, hooks), Cancelled) << method.name;
    LimitedEngine later(ToyModel::random(4, 6, 3, 1.0), {});
    later.cancelled_call = 5;
    const SearchResult result = run(later, later, text, hooks);
    EXPECT_TRUE(result.interrupted) << method.name;
    EXPECT_FALSE(result.answer().tokens.empty()) << method.name;
    EXPECT_FALSE(result.answer().ended) << method.name;
    if (method.traced) {
      EXPECT_GE(result.trace.selected, 0) << method.name;
    }
  }
}

TEST(Patience, NeverChangesWhatCannotWin) {
  // Without contexts the bound is exact: with unlimited waiting the answer is the same, and less is
  // computed.
  std::int64_t with = 0, without = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    ToyEngine engine(ToyModel::random(4, 8, seed, 1.0), {kEnd});
    const auto full = run(engine, engine, "beam:block=1:beams=8:prune=2");
    const auto early = run(engine, engine, "beam:block=1:beams=8:prune=2:patience=1000");
    EXPECT_EQ(full.answer().tokens, early.answer().tokens) << seed;
    EXPECT_LE(early.ledger.generated_tokens, full.ledger.generated_tokens);
    with += early.ledger.generated_tokens;
    without += full.ledger.generated_tokens;
  }
  EXPECT_LT(with, without);
}

TEST(Patience, EndsAfterBlocksThatBroughtNothingBetter) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    ToyEngine engine(ToyModel::random(4, 8, seed, 1.0), {kEnd});
    const auto result = run(engine, engine, "cbs:block=1:beams=8:prune=2:patience=2");
    // The best finished answer of every block so far.
    double best = -1e300;
    int waited = 0;
    for (std::size_t t = 0; t < result.trace.blocks.size(); ++t) {
      EXPECT_LT(waited, 2) << "seed " << seed << ": block " << t << " was one too many";
      const double before = best;
      bool any = best > -1e300;
      for (const TraceCandidate& candidate : result.trace.blocks[t])
        if (candidate.fate == Fate::Finished) best = std::max(best, candidate.score);
      waited = any && best == before ? waited + 1 : 0;
    }
    testing::replay(result.trace, {kEnd});
  }
}

TEST(Greedy, TakesTheLikeliestTokenAtEveryStep) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const ToyModel model = ToyModel::random(5, 6, seed, 1.0);
    ToyEngine engine(model, {});
    const auto result = run(engine, engine, "greedy:block=4");
    std::vector<TokenId> expected;
    for (int i = 0; i < 6; ++i) {
      const auto p = model.probabilities(ToyContext::Base, expected);
      expected.push_back(static_cast<TokenId>(std::max_element(p.begin(), p.end()) - p.begin()));
    }
    EXPECT_EQ(result.answer().tokens, expected);
  }
}

TEST(EngineAbilities, WhatIsMissingIsRefusedByName) {
  const auto error_of = [](std::string_view method, bool EngineAbilities::*missing) {
    LimitedEngine engine(ToyModel::random(4, 6, 3, 1.0), {});
    engine.abilities().*missing = false;
    try {
      run(engine, engine, method);
    } catch (const BadInput& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(error_of("token-contrast", &EngineAbilities::mixtures),
              HasSubstr("token-contrast needs draws from a mixture of prompts"));
  EXPECT_THAT(error_of("power", &EngineAbilities::drawn_logprobs), HasSubstr("power needs"));
  EXPECT_THAT(error_of("cbs", &EngineAbilities::given_logprobs),
              HasSubstr("cbs needs log-probabilities of given tokens"));
  EXPECT_EQ(error_of("beam", &EngineAbilities::given_logprobs), "accepted");
  EXPECT_EQ(error_of("cbs", &EngineAbilities::mixtures), "accepted");
}

}  // namespace
}  // namespace counterbeam
