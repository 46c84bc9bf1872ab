// Reranking shared samples gives the same answers as best-of-n alone.
#include "search/rerank.h"

#include <gtest/gtest.h>

#include "search/method_strings.h"
#include "theory/toy_engine.h"

namespace counterbeam {
namespace {

TEST(Rerank, EqualsBestOfNAlone) {
  int differing = 0;  // problems on which contexts choose another answer than likelihood
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const ToyModel model = ToyModel::random(4, 6, seed, 1.5);
    ToyEngine engine(model, {0});
    const Settings plain = parse_method("best-of-n:beams=8:block=2:steer=0:contexts=none");
    const Prompts base = engine.prompts(false), pair = engine.prompts(true);
    Prompts positive = pair, negative = pair;  // one-sided
    positive.negative = negative.positive = base.base;
    const Ranking rankings[] = {{base, 0},       {pair, 0.25},    {pair, 0.7},
                                {positive, 0.7}, {negative, 0.7}, {pair, 0.7, Aggregate::Sum}};
    const auto shared = rerank({engine, base, seed, 2, nullptr}, plain, rankings);
    ASSERT_EQ(shared.size(), std::size(rankings));
    for (std::size_t i = 0; i < shared.size(); ++i) {
      Settings own = parse_method("best-of-n:beams=8:block=2");
      own.steer = rankings[i].steer;
      own.aggregate = rankings[i].aggregate == Aggregate::Sum ? "sum" : "mean";
      const SearchResult alone = run_search({engine, rankings[i].prompts, seed, 2, nullptr}, own);
      EXPECT_EQ(shared[i].selected, alone.selected);
      EXPECT_EQ(shared[i].answer().tokens, alone.answer().tokens);
      EXPECT_EQ(shared[i].answer().ended, alone.answer().ended);
      EXPECT_NEAR(shared[i].answer().score, alone.answer().score, 1e-6);
      EXPECT_EQ(shared[i].ledger.generated_tokens, alone.ledger.generated_tokens);
      EXPECT_EQ(shared[i].ledger.scored_tokens, alone.ledger.scored_tokens);
    }
    differing += shared[0].selected != shared[2].selected;
  }
  EXPECT_GT(differing, 0);
}

}  // namespace
}  // namespace counterbeam
