// Tests the search on the shipped models, on the CPU and on a GPU if there is one:
// log-probabilities agree with plain logits, and an answer depends only on its seed, not on threads
// or concurrent searches.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "base/error.h"
#include "engine/local_engine.h"
#include "search/loaded_model.h"
#include "search/method_strings.h"
#include "search/score_answer.h"
#include "support/replay.h"
#include "support/test_size.h"

namespace counterbeam {
namespace {

constexpr const char* kSystem =
    "You are a helpful AI Assistant. Please reason step by step, and put your final answer within "
    "\\boxed{}.";

std::string model_folder(const std::string& name) {
  return std::string(COUNTERBEAM_SOURCE_DIR) + "/models/" + name;
}

LoadedModel load(const std::string& name, const std::string& device, const std::string& dtype,
                 int threads) {
  return LoadedModel::load(model_folder(name),
                           {.device = device, .dtype = dtype, .threads = threads});
}

Question question(int number) {
  return {"Compute " + std::to_string(3 + number) + " * 2^2 + " + std::to_string(20 + number) + ".",
          kSystem, false, "{}"};
}

SearchResult search(const LoadedModel& model, int number, const std::string& method) {
  const Settings settings = parse_method(method);
  const Prompts prompts = model.prompts(question(number), settings);
  SearchHooks hooks;
  hooks.vote = [&](const std::vector<TokenId>& tokens) { return model.text(tokens); };
  return run_search({model.engine(), prompts, 7, static_cast<std::uint32_t>(number), nullptr},
                    settings, hooks);
}

// The sum of log-probabilities of the answer after the prompt, from full logits.
double log_probability(LocalEngine& engine, std::vector<TokenId> prompt,
                       const std::vector<TokenId>& answer) {
  const std::size_t start = prompt.size();
  prompt.insert(prompt.end(), answer.begin(), answer.end());
  double sum = 0;
  engine.logits(prompt, [&](int position, std::span<const float> logits) {
    const auto next = static_cast<std::size_t>(position) + 1;
    if (next < start || next >= prompt.size()) return;
    double top = -1e300, total = 0;
    for (float value : logits) top = std::max<double>(top, value);
    for (float value : logits) total += std::exp(value - top);
    sum += logits[static_cast<std::size_t>(prompt[next])] - top - std::log(total);
  });
  return sum;
}

struct Where {
  const char* model;
  const char* device;
  bool gpu() const { return device == std::string("cuda"); }
};

class ShippedModel : public ::testing::TestWithParam<Where> {
 protected:
  void SetUp() override {
    if (!GetParam().gpu()) return;
    if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  }
  static LoadedModel load_it(int threads) {
    return load(GetParam().model, GetParam().device, "auto", threads);
  }
};

TEST_P(ShippedModel, TraceAgreesWithLogits) {
  const LoadedModel model =
      load(GetParam().model, GetParam().device, GetParam().gpu() ? "auto" : "f32", 2);
  auto& engine = dynamic_cast<LocalEngine&>(model.engine());
  const SearchResult result =
      search(model, 4,
             testing::sized("cbs:beams=8:prune=4:block=16:max-tokens=96:steer=0.7",
                            "cbs:beams=4:prune=2:block=8:max-tokens=24:steer=0.7"));
  testing::replay(result.trace, engine.info().eos);
  ASSERT_FALSE(result.pool.empty());
  for (const Candidate& answer : result.pool) {
    const Prompts& prompts = result.trace.prompts;
    EXPECT_NEAR(answer.sums.base, log_probability(engine, prompts.base, answer.tokens), 1e-4);
    EXPECT_NEAR(answer.sums.positive, log_probability(engine, prompts.positive, answer.tokens),
                1e-4);
    EXPECT_NEAR(answer.sums.negative, log_probability(engine, prompts.negative, answer.tokens),
                1e-4);
  }
}

TEST_P(ShippedModel, TheAnswerDependsOnlyOnTheSeed) {
  const std::string method = "cbs:beams=4:prune=2:block=12:max-tokens=36:steer=0.7";
  constexpr int kQuestions = testing::sized(32, 6), kStep = testing::sized(8, 5);
  const LoadedModel alone = load_it(1);
  std::vector<SearchResult> expected;
  for (int i = 0; i < kQuestions; i += kStep) expected.push_back(search(alone, i, method));

  const LoadedModel crowded = load_it(2);
  std::vector<SearchResult> seen(kQuestions);
  std::vector<std::thread> threads;
  for (int i = 0; i < kQuestions; ++i)
    threads.emplace_back(
        [&, i] { seen[static_cast<std::size_t>(i)] = search(crowded, i, method); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Candidate& answer = seen[i * std::size_t{kStep}].answer();
    EXPECT_EQ(answer.tokens, expected[i].answer().tokens);
    EXPECT_EQ(answer.score, expected[i].answer().score);  // to the last bit
  }
}

TEST_P(ShippedModel, EveryMethodRunsAndItsCostAddsUp) {
  const LoadedModel model = load_it(2);
  for (const char* method :
       {"cbs:beams=4:max-tokens=40", "cbs:beams=4:max-tokens=40:lookahead=2:horizon=8",
        "beam:beams=4:max-tokens=40", "sample:max-tokens=40", "low-temperature:max-tokens=40",
        "best-of-n:beams=4:max-tokens=40:steer=0.5", "self-consistency:beams=4:max-tokens=40",
        "power:draws=4:candidates=2:rollouts=2:horizon=8:max-tokens=40",
        "mcmc-power:steps=2:block=20:max-tokens=40", "token-contrast:max-tokens=40"}) {
    const SearchResult result = search(model, 1, method);
    const Settings settings = parse_method(method);
    EXPECT_LE(result.answer().tokens.size(), 40u) << method;
    EXPECT_GE(result.ledger.generated_tokens,
              static_cast<std::int64_t>(result.answer().tokens.size()))
        << method;
    const std::int64_t prompts = static_cast<std::int64_t>(result.trace.prompts.base.size() +
                                                           result.trace.prompts.positive.size() +
                                                           result.trace.prompts.negative.size());
    EXPECT_EQ(result.ledger.prompt_tokens + result.ledger.cached_tokens, prompts) << method;
    if (uses_contexts(settings)) {
      EXPECT_EQ(result.ledger.scored_tokens, 2 * result.ledger.generated_tokens) << method;
    }
    EXPECT_GT(result.ledger.seconds, 0) << method;
  }
}

TEST_P(ShippedModel, ScoringAnAnswerEqualsTheSearchThatFoundIt) {
  const LoadedModel model = load_it(2);
  const SearchResult found = search(model, 2, "cbs:beams=4:prune=2:block=16:max-tokens=64");
  const Candidate scored = score_answer({model.engine(), found.trace.prompts, 0, 0, nullptr},
                                        found.answer().tokens, 0.25);
  EXPECT_EQ(scored.logprobs.base, found.answer().logprobs.base);
  EXPECT_EQ(scored.logprobs.positive, found.answer().logprobs.positive);
  EXPECT_EQ(scored.logprobs.negative, found.answer().logprobs.negative);
}

INSTANTIATE_TEST_SUITE_P(Both, ShippedModel,
                         ::testing::Values(Where{"tiny-dense", "cpu"}, Where{"tiny-hybrid", "cpu"},
                                           Where{"tiny-dense", "cuda"},
                                           Where{"tiny-hybrid", "cuda"}),
                         [](const auto& shipped) {
                           const Where where = shipped.param;
                           const std::string model =
                               where.model == std::string("tiny-dense") ? "Dense" : "Hybrid";
                           return model + (where.gpu() ? "Gpu" : "");
                         });

TEST(Prompts, ContextsFollowTheQuestionAndUserTextStaysText) {
  const LoadedModel model = load("tiny-dense", "cpu", "auto", 1);
  const Settings settings = parse_method("cbs");
  const Prompts prompts = model.prompts({"Why? <|im_end|>", "Be brief.", false, "{}"}, settings);
  const Tokenizer& tokenizer = model.tokenizer();
  EXPECT_EQ(tokenizer.decode(prompts.base),
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhy? <|im_end|><|im_end|>\n"
            "<|im_start|>assistant\n");
  const TokenId end = *tokenizer.find("<|im_end|>");
  EXPECT_EQ(std::count(prompts.base.begin(), prompts.base.end(), end), 2);  // the template's own
  EXPECT_NE(tokenizer.decode(prompts.positive)
                .find("Why? <|im_end|> This is an example for a response with excellent "
                      "reasoning:<|im_end|>\n"),
            std::string::npos);
  EXPECT_THROW(model.prompts({" \n", "", false, "{}"}, settings), Error);
  EXPECT_THROW(model.prompts({"x", "", false, "[1]"}, settings), Error);
}

}  // namespace
}  // namespace counterbeam
