// A cache that is shorter than the model's context decides nothing in a search: what fits is the
// answer of a larger cache, and the rest is the engine's error.
#include <gtest/gtest.h>

#include "base/error.h"
#include "search/method_strings.h"
#include "search/search.h"
#include "text/tokenizer.h"
#include "theory/toy_engine.h"

namespace counterbeam {
namespace {

// Says that its cache holds fewer tokens than its model could read.
class SmallCache : public ToyEngine {
 public:
  SmallCache(ToyModel model, std::vector<TokenId> eos, std::int64_t held)
      : ToyEngine(std::move(model), std::move(eos)), info_(ToyEngine::info()) {
    info_.model_length = info_.max_length;
    info_.max_length = held;
  }
  const EngineInfo& info() const override { return info_; }

 private:
  EngineInfo info_;
};

TEST(CacheLimit, AnAnswersLimitIsThatOfTheModel) {
  SmallCache engine(ToyModel::random(4, 9, 1, 0.5), {}, 4);
  const Prompts prompts = engine.prompts(true);
  const Task task{engine, prompts};
  EXPECT_EQ(answer_limit(task, parse_method("cbs:max-tokens=100")), 9);
  EXPECT_EQ(answer_limit(task, parse_method("cbs:max-tokens=7")), 7);
}

TEST(CacheLimit, PatienceStopsWhereItStopsWithALargerCache) {
  const ToyModel model = ToyModel::random(3, 12, 7, 0.5);
  const Settings settings =
      parse_method("beam:beams=4:prune=2:block=1:max-tokens=12:patience=20:temperature=1");
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    ToyEngine whole(model, {0});
    SmallCache small(model, {0}, 8);
    const Prompts prompts = whole.prompts(false);
    const SearchResult a = run_search({whole, prompts, seed}, settings);
    const SearchResult b = run_search({small, prompts, seed}, settings);
    EXPECT_EQ(a.answer().tokens, b.answer().tokens) << seed;
    EXPECT_EQ(a.pool.size(), b.pool.size()) << seed;
  }
}

TEST(CacheLimit, AStopTextEndsAnAnswerBeforeTheCacheDoes) {
  const ToyModel model = ToyModel::random(3, 12, 7, 0.5);
  const Tokenizer tokenizer =
      Tokenizer::load(std::string(COUNTERBEAM_SOURCE_DIR) + "/models/tiny-dense");
  const Stops stops(tokenizer, {}, {tokenizer.decode(std::vector<TokenId>{0})});
  const Settings settings = parse_method("sample:max-tokens=12:block=12");
  int fit = 0, cut = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    ToyEngine whole(model, {});
    SmallCache small(model, {}, 2);  // a prompt of one token, and another
    const Prompts prompts = whole.prompts(false);
    const Task in_whole{whole, prompts, seed, 0, nullptr, &stops};
    const Task in_small{small, prompts, seed, 0, nullptr, &stops};
    const Candidate answer = run_search(in_whole, settings).answer();
    if (answer.ended && answer.tokens.size() <= 1) {
      EXPECT_EQ(run_search(in_small, settings).answer().tokens, answer.tokens);
      ++fit;
    } else {
      EXPECT_THROW(run_search(in_small, settings), Failed);
      ++cut;
    }
  }
  EXPECT_GT(fit, 0);
  EXPECT_GT(cut, 0);
}

}  // namespace
}  // namespace counterbeam
