// The decisions of a search among candidates, on simulated answers with a known truth: the problems
// that choose and those that confirm never overlap, noise is not crowned, and what is better is
// found.
#include "eval/halving.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "eval/separation.h"
#include "search/method_strings.h"
#include "support/bad_case.h"
#include "theory/toy_engine.h"

namespace counterbeam {
namespace {

Contest contest_of(int candidates, int dev, int confirm, int finalists = 1) {
  Contest contest;
  for (int i = 0; i < candidates; ++i) contest.candidates.push_back(fmt::format("c{}", i));
  contest.baseline = "none";
  contest.control = "neutral";
  contest.standard = "c0";
  contest.dev = dev;
  contest.confirm = confirm;
  contest.finalists = std::min(finalists, candidates);
  return contest;
}

TEST(Halving, PortionsAreDisjointGrowAndNeverReachTheConfirmation) {
  for (int candidates = 1; candidates <= 40; ++candidates)
    for (int finalists = 1; finalists <= 4; ++finalists)
      for (const int dev : {64, 65, 79, 80, 127, 500})
        for (const int confirm : {7, 64, 300}) {
          Contest contest = contest_of(candidates, dev, confirm, finalists);
          contest.newcomers = candidates % 5;
          const std::vector<Portion> rounds = rounds_of(contest);
          std::set<int> seen;
          int before = 0;
          for (const Portion& round : rounds) {
            EXPECT_GE(round.count, before);
            before = round.count;
            for (int i = 0; i < round.count; ++i)
              EXPECT_TRUE(seen.insert(round.first + i).second) << "a problem in two rounds";
          }
          EXPECT_EQ(seen.size(), static_cast<std::size_t>(dev));
          EXPECT_EQ(*seen.begin(), 0);
          const Portion last = confirmation_of(contest);
          EXPECT_EQ(last.count, confirm);
          EXPECT_FALSE(last.first <= *seen.rbegin()) << "a problem chooses and confirms";
          int alive = candidates + contest.newcomers;
          for (std::size_t i = 0; i < rounds.size(); ++i)
            alive = std::min(alive, survivors(alive, contest.finalists));
          EXPECT_EQ(alive, contest.finalists);
        }
}

TEST(Halving, TooFewProblemsAreAnError) {
  EXPECT_EQ(rounds_of(contest_of(10, 8, 7)).size(), 4u);
  testing::expect_message("four rounds",
                          "10 candidates are halved in 4 rounds, which need at least 8 development "
                          "problems, not 7",
                          [] { rounds_of(contest_of(10, 7, 7)); });
  EXPECT_EQ(fewest_to_confirm(contest_of(5, 8, 7)), 7);     // 2 / 2^7 * 2 claims < 0.05
  EXPECT_EQ(fewest_to_confirm(contest_of(5, 8, 7, 2)), 8);  // four claims
}

TEST(Halving, HolmCorrectsInTheOrderGiven) {
  const std::vector<double> p = {0.04, 0.01, 0.03, 0.005};
  const std::vector<double> expected = {0.06, 0.03, 0.06, 0.02};  // R: p.adjust(p, "holm")
  const std::vector<double> corrected = holm_corrected(p);
  ASSERT_EQ(corrected.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(corrected[i], expected[i], 1e-12);
  EXPECT_EQ(holm_corrected(std::vector<double>{0.8, 0.9}), (std::vector<double>{1, 1}));
  EXPECT_TRUE(holm_corrected({}).empty());
}

// Answers with success probabilities by contestant, on problems of different difficulty. Answers of
// contestants to a problem are correlated, as those of searches with the same seed are.
class SimulatedAnswers {
 public:
  SimulatedAnswers(std::uint64_t seed, std::map<std::string, double> boosts, int samples = 1)
      : seed_(seed), boosts_(std::move(boosts)), samples_(samples) {}

  HeatAnswers operator()(const Heat& heat) const {
    HeatAnswers answers;
    for (const std::string& name : heat.contestants) {
      const auto boost = boosts_.find(name);
      answers.emplace_back();
      for (int i = heat.portion.first; i < heat.portion.first + heat.portion.count; ++i) {
        const double difficulty = draw(i, "difficulty", 0);
        QuestionTally tally{0, samples_, 1};
        for (int k = 0; k < samples_; ++k) {
          const bool shared = draw(i, name + "shared", k) < 0.6;
          const double luck = draw(i, shared ? "luck" : name, k);
          tally.correct += luck < difficulty + (boost == boosts_.end() ? 0 : boost->second);
        }
        answers.back().push_back(tally);
      }
    }
    return answers;
  }

 private:
  double draw(int problem, const std::string& what, int k) const {
    return uniform({.seed = seed_,
                    .question = static_cast<std::uint32_t>(problem),
                    .block = static_cast<std::uint32_t>(std::hash<std::string>{}(what)),
                    .position = static_cast<std::uint32_t>(k)});
  }

  std::uint64_t seed_;
  std::map<std::string, double> boosts_;
  int samples_;
};

TEST(Halving, NoiseIsNotCrowned) {
  struct Design {
    int candidates, dev, confirm, finalists, samples;
  };
  for (const Design& design :
       {Design{10, 80, 80, 1, 1}, Design{10, 80, 80, 3, 1}, Design{3, 8, 16, 1, 3}}) {
    int crowned = 0;
    double optimism = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const ContestResult result =
          run_contest(contest_of(design.candidates, design.dev, design.confirm, design.finalists),
                      {SimulatedAnswers(seed, {}, design.samples)});
      crowned += result.winner.has_value();
      optimism += result.rounds.back().standings[0].gain.difference / 100;
    }
    EXPECT_LE(crowned, 5) << design.samples << " samples, " << design.finalists << " finalists";
    EXPECT_GT(optimism, 0.01) << "the best of noise looks better where it was chosen";
  }
}

// Level and unbiasedness of the confirmation over many more seeds.
TEST(Halving, ConfirmedDifferencesOfNoiseAreZeroOnAverage) {
  constexpr int kSeeds = 600;
  int crowned = 0;
  double gain = 0;
  for (std::uint64_t seed = 1000; seed < 1000 + kSeeds; ++seed) {
    const ContestResult result = run_contest(contest_of(4, 24, 40), {SimulatedAnswers(seed, {})});
    crowned += result.winner.has_value();
    gain += result.claims[0].test.difference / kSeeds;
  }
  EXPECT_LE(crowned, kSeeds * 4 / 100);  // one side of a two-sided test at 5 %
  EXPECT_NEAR(gain, 0, 0.012);           // 3 standard errors
}

TEST(Halving, ABetterPairIsFoundAndConfirmed) {
  int found = 0, better = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const ContestResult result =
        run_contest(contest_of(10, 80, 100), {SimulatedAnswers(seed, {{"c7", 0.3}})});
    found += result.winner == "c7";
    better += result.better_than_standard;
    if (result.winner == "c7") {
      EXPECT_TRUE(result.claims[0].holds);
    }
  }
  EXPECT_GE(found, 45);
  EXPECT_GE(better, 45);
}

TEST(Halving, WorseThanTheBaselineIsNeverAWinner) {
  const ContestResult result = run_contest(
      contest_of(3, 40, 100), {SimulatedAnswers(1, {{"c0", -0.4}, {"c1", -0.4}, {"c2", -0.4}})});
  EXPECT_LT(result.claims[0].corrected, 0.05);
  EXPECT_FALSE(result.claims[0].holds);
  EXPECT_EQ(result.winner, std::nullopt);
}

TEST(Halving, TheDefaultPairAsWinnerIsTestedAgainstTheBaselineOnly) {
  const ContestResult result =
      run_contest(contest_of(4, 40, 100), {SimulatedAnswers(1, {{"c0", 0.4}})});
  EXPECT_EQ(result.winner, "c0");
  ASSERT_EQ(result.claims.size(), 1u);
  EXPECT_EQ(result.claims[0].corrected, result.claims[0].test.p_value);
  EXPECT_FALSE(result.better_than_standard);
}

// Who answers what: the dropped stay away, controls always take part, newcomers catch up.
TEST(Halving, AsksTheRightContestants) {
  Contest contest = contest_of(5, 16, 20);
  contest.newcomers = 2;
  const SimulatedAnswers answers(3, {{"c3", 0.5}, {"new", 0.9}});
  std::vector<Heat> heats;
  std::set<int> dev, confirm;
  ContestHooks hooks;
  hooks.answer = [&](const Heat& heat) {
    heats.push_back(heat);
    for (int i = 0; i < heat.portion.count; ++i)
      (heat.round > 0 ? dev : confirm).insert(heat.portion.first + i);
    return answers(heat);
  };
  hooks.newcomers = [](const RoundResult& round) {
    EXPECT_EQ(round.standings.size(), 7u);
    return std::vector<std::string>{"new"};
  };
  const ContestResult result = run_contest(contest, hooks);
  EXPECT_EQ(heats[0].contestants.size(), 7u);  // five, the baseline and the control
  EXPECT_EQ(heats[1].contestants, std::vector<std::string>{"new"});
  EXPECT_EQ(heats[1].portion.first, heats[0].portion.first);
  std::size_t before = 8;
  for (std::size_t i = 2; heats[i].round > 0; ++i) {
    const auto& names = heats[i].contestants;
    EXPECT_LT(names.size(), before);
    before = names.size();
    for (const char* control : {"none", "neutral"})
      EXPECT_EQ(std::count(names.begin(), names.end(), control), 1) << "round " << heats[i].round;
  }
  EXPECT_EQ(result.finalists, std::vector<std::string>{"new"});
  EXPECT_EQ(heats[heats.size() - 2].contestants, (std::vector<std::string>{"new", "none", "c0"}));
  EXPECT_FALSE(heats[heats.size() - 2].screening);
  EXPECT_EQ(heats.back().contestants, (std::vector<std::string>{"new", "none"}));
  for (const int problem : confirm) EXPECT_FALSE(dev.contains(problem)) << problem;
  EXPECT_EQ(confirm.size(), 20u);
}

TEST(Halving, FailedProblemsAreLeftOutForAll) {
  const SimulatedAnswers answers(5, {{"c1", 0.5}});
  const ContestResult result = run_contest(contest_of(2, 10, 20), {[&](const Heat& heat) {
                                             HeatAnswers all = answers(heat);
                                             all[0][2].samples = all[0][2].correct = 0;
                                             return all;
                                           }});
  EXPECT_EQ(result.rounds[0].problems, 9);
  EXPECT_EQ(result.claims[0].problems, 19);
  EXPECT_THROW(run_contest(contest_of(2, 10, 20), {[&](const Heat& heat) {
                             HeatAnswers all = answers(heat);
                             for (QuestionTally& tally : all[1]) tally.samples = 0;
                             return all;
                           }}),
               Error);
}

// Candidates that are equally often right: the one whose score separates better is ahead.
TEST(Halving, SeparationDecidesTies) {
  const ContestResult result =
      run_contest(contest_of(6, 8, 8), {[](const Heat& heat) {
                    HeatAnswers answers;
                    for (const std::string& name : heat.contestants) {
                      answers.emplace_back(static_cast<std::size_t>(heat.portion.count),
                                           QuestionTally{1, 1, 1});
                      answers.back()[0].separation = name == "c4" ? 0.9 : 0.6;
                      if (name == "c5") answers.back()[0].correct = 0;
                      if (name == "c5") answers.back()[0].separation = 1;
                    }
                    return answers;
                  }});
  EXPECT_EQ(result.finalists, std::vector<std::string>{"c4"});
  EXPECT_EQ(result.rounds[0].standings[0].separation, 0.9);
  EXPECT_EQ(result.rounds[0].standings[5].name, "c5") << "accuracy comes first";
}

TEST(Separation, IsTheShareOfOrderedPairs) {
  using Samples = std::vector<ScoredSample>;
  EXPECT_EQ(auc(Samples{}), std::nullopt);
  EXPECT_EQ(auc(Samples{{1, true}, {2, true}}), std::nullopt);
  EXPECT_EQ(auc(Samples{{1, false}}), std::nullopt);
  EXPECT_EQ(auc(Samples{{2, true}, {1, false}}), 1);
  EXPECT_EQ(auc(Samples{{1, true}, {1, false}}), 0.5);
  EXPECT_EQ(auc(Samples{{3, true}, {1, true}, {2, false}, {0, false}}), 0.75);
}

TEST(Halving, TiesKeepTheEarlierCandidate) {
  const ContestResult result = run_contest(
      contest_of(6, 8, 8), {[](const Heat& heat) {
        return HeatAnswers(
            heat.contestants.size(),
            std::vector<QuestionTally>(static_cast<std::size_t>(heat.portion.count), {1, 1, 1}));
      }});
  EXPECT_EQ(result.finalists, std::vector<std::string>{"c0"});
  EXPECT_EQ(result.winner, std::nullopt);
  EXPECT_EQ(result.claims[0].test.p_value, 1);
}

// Real searches on toy models. Contexts change what is chosen, but neutral ones have nothing to do
// with what is correct; a planted pair makes correct tokens likelier after its positive context.
class ToyContest {
 public:
  ToyContest(std::uint64_t seed, std::string planted) : seed_(seed), planted_(std::move(planted)) {}

  HeatAnswers operator()(const Heat& heat) const {
    HeatAnswers answers;
    for (const std::string& name : heat.contestants) {
      answers.emplace_back();
      for (int i = 0; i < heat.portion.count; ++i)
        answers.back().push_back({correct(name, heat.portion.first + i), 1, 1});
    }
    return answers;
  }

 private:
  static constexpr int kVocab = 4, kHorizon = 3;

  bool correct(const std::string& name, int problem) const {
    const std::uint64_t key = seed_ * 1000 + static_cast<std::uint64_t>(problem);
    const TokenId gold = static_cast<TokenId>((key * 2654435761u >> 7) % kVocab);
    ToyModel model = ToyModel::random(kVocab, kHorizon, key, 0);
    const ToyModel contexts =
        ToyModel::random(kVocab, kHorizon, key ^ std::hash<std::string>{}(name), 1.5);
    model.each_prefix([&](std::span<const TokenId> prefix) {
      for (const ToyContext side : {ToyContext::Positive, ToyContext::Negative}) {
        const auto from = contexts.probabilities(side, prefix);
        const auto to = model.probabilities(side, prefix);
        std::copy(from.begin(), from.end(), to.begin());
        if (name != planted_) continue;
        const bool likelier = side == ToyContext::Positive;
        for (TokenId token = 0; token < kVocab; ++token)
          to[static_cast<std::size_t>(token)] =
              token == gold ? (likelier ? 0.7 : 0.1) : (likelier ? 0.1 : 0.3);
      }
    });
    ToyEngine engine(model, {});
    static const Settings kWith = parse_method("cbs:beams=8:prune=2:block=1:max-tokens=3:steer=3");
    static const Settings kWithout =
        parse_method("cbs:beams=8:prune=2:block=1:max-tokens=3:contexts=none");
    const bool contrast = name != "none";
    const Prompts prompts = engine.prompts(contrast);
    const SearchResult result =
        run_search({engine, prompts, seed_, static_cast<std::uint32_t>(problem), nullptr},
                   contrast ? kWith : kWithout);
    return result.answer().tokens.back() == gold;
  }

  std::uint64_t seed_;
  std::string planted_;
};

TEST(HalvingOnTheToyEngine, NeutralCandidatesOnlyGiveNoWinner) {
  int none = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    none += !run_contest(contest_of(6, 24, 40), {ToyContest(seed, "")}).winner;
  EXPECT_GE(none, 95);
}

TEST(HalvingOnTheToyEngine, APlantedPairIsFound) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    found += run_contest(contest_of(6, 24, 60), {ToyContest(seed, "c4")}).winner == "c4";
  EXPECT_GE(found, 18);
}

}  // namespace
}  // namespace counterbeam
