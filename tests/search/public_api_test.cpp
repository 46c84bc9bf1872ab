// The public C++ interface on a model that ships.
#include <counterbeam/counterbeam.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/json.h"

namespace counterbeam {
namespace {

using ::testing::HasSubstr;

constexpr const char* kQuestion = "Compute 12 + 3 * 7.";
constexpr const char* kShort = "cbs:steer=0.7:beams=4:prune=2:block=16:max-tokens=96";

const LanguageModel& model() {
  static const LanguageModel kModel = LanguageModel::load(
      std::string(COUNTERBEAM_SOURCE_DIR) + "/models/tiny-dense", {.device = "cpu"});
  return kModel;
}

TEST(PublicApi, AskFillsInTheWholeAnswer) {
  int blocks = 0;
  std::string best;
  const Answer answer = model().ask(
      kQuestion, {.method = kShort, .trace = true, .on_block = [&](const AskProgress& progress) {
                    EXPECT_EQ(progress.block, ++blocks);
                    best = progress.best_text;
                  }});
  EXPECT_THAT(answer.text, HasSubstr("boxed"));
  EXPECT_EQ(answer.text, best);
  EXPECT_TRUE(answer.finished);
  EXPECT_FALSE(answer.interrupted);
  ASSERT_LT(answer.selected, answer.candidates.size());
  EXPECT_EQ(answer.candidates[answer.selected].tokens, answer.tokens);
  EXPECT_EQ(answer.candidates[answer.selected].score, answer.score);
  for (const AnswerCandidate& candidate : answer.candidates)
    EXPECT_LE(candidate.score, answer.score);
  const Json trace = parse_json(answer.trace, "trace");
  EXPECT_EQ(trace["blocks"].size(), static_cast<std::size_t>(blocks));
  EXPECT_GT(answer.generated_tokens, 0);
  EXPECT_EQ(answer.scored_tokens, 2 * answer.generated_tokens);
}

TEST(PublicApi, StopsEndEveryCandidate) {
  AskOptions options{.method = kShort, .stop = {"</think>", "boxed"}};
  options.on_block = [&](const AskProgress& progress) {
    EXPECT_EQ(progress.best_text.find("</think>"), std::string::npos);
    EXPECT_EQ(progress.agreed.find("</think"), std::string::npos);
  };
  options.scorer = [](const std::vector<AnswerCandidate>& candidates) {
    std::vector<double> scores;
    for (const AnswerCandidate& candidate : candidates) {
      EXPECT_EQ(candidate.text.find("</think>"), std::string::npos);
      scores.push_back(candidate.score);
    }
    return scores;
  };
  const Answer answer = model().ask(kQuestion, options);
  EXPECT_TRUE(answer.finished);
  for (const AnswerCandidate& candidate : answer.candidates)
    EXPECT_EQ(candidate.text.find("</think>"), std::string::npos);
  const Answer by_id = model().ask(kQuestion, {.method = "greedy", .stop_ids = {answer.tokens[3]}});
  EXPECT_TRUE(by_id.finished);
  EXPECT_EQ(by_id.tokens.back(), answer.tokens[3]);
  EXPECT_THROW(model().ask(kQuestion, {.stop = {""}}), BadInput);
  EXPECT_THROW(model().ask(kQuestion, {.stop_ids = {-1}}), BadInput);
}

TEST(PublicApi, MessagesOfSeveralTurns) {
  const AskOptions options{.method = kShort};
  const std::vector<Message> one = {{"user", kQuestion}};
  EXPECT_EQ(model().ask(one, options).tokens, model().ask(kQuestion, options).tokens);
  const std::vector<Message> turns = {{"system", "Be brief."},
                                      {"user", "Compute 1 + 1."},
                                      {"assistant", "It is \\boxed{2}."},
                                      {"user", kQuestion}};
  EXPECT_FALSE(model().ask(turns, options).text.empty());
  const auto prompt_length = [](const Answer& answer) {
    return answer.prompt_tokens + answer.cached_tokens;
  };
  EXPECT_GT(prompt_length(model().ask(turns, options)),
            prompt_length(model().ask({turns.front(), turns.back()}, options)));
  const auto error_of = [&](const std::vector<Message>& messages) -> std::string {
    try {
      model().ask(messages, options);
    } catch (const BadInput& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(error_of({}), HasSubstr("the list is empty"));
  EXPECT_THAT(error_of({{"user", "x"}, {"assistant", "y"}}), HasSubstr("must be the user's"));
  EXPECT_THAT(error_of({{"tool", "x"}, {"user", "y"}}), HasSubstr("\"tool\" is not known"));
}

TEST(PublicApi, ContextsAreFields) {
  const Answer named = model().ask(kQuestion, {.method = kShort, .contexts = "detail"});
  const Answer string =
      model().ask(kQuestion, {.method = std::string(kShort) + ":contexts=detail"});
  EXPECT_EQ(named.tokens, string.tokens);
  EXPECT_EQ(named.score, string.score);
  EXPECT_THROW(model().ask(kQuestion, {.method = "beam", .contexts = "detail"}), BadInput);
  EXPECT_THROW(model().ask(kQuestion, {.method = kShort, .positive = "only one"}), BadInput);
}

TEST(PublicApi, ContextsOfYourOwn) {
  const std::string quoted =
      std::string(kShort) + R"(:positive="Excellent, step by step:":negative="Wrong reasoning:")";
  const Answer inlined = model().ask(kQuestion, {.method = quoted, .trace = true});
  const std::vector<ContextPair> pairs = {{"mine", "Excellent, step by step:", "Wrong reasoning:"}};
  const Answer named =
      model().ask(kQuestion, {.method = std::string(kShort) + ":contexts=mine", .pairs = pairs});
  EXPECT_EQ(named.tokens, inlined.tokens);
  EXPECT_EQ(named.score, inlined.score);
  EXPECT_EQ(model().ask(kQuestion, {.method = kShort, .contexts = "mine", .pairs = pairs}).score,
            inlined.score);
  const Json settings = parse_json(inlined.trace, "trace")["settings"];
  EXPECT_EQ(settings["positive"], "Excellent, step by step:");
  EXPECT_EQ(settings["negative"], "Wrong reasoning:");
  const auto score = [&](const ScoreOptions& options) {
    return model().score(kQuestion, inlined.text, options).score;
  };
  EXPECT_EQ(score({.contexts = "mine", .pairs = pairs}),
            score({.positive = pairs[0].positive, .negative = pairs[0].negative}));
  EXPECT_THROW(model().ask(kQuestion, {.method = kShort, .contexts = "mine"}), BadInput);
  EXPECT_THROW(model().ask(kQuestion, {.method = kShort, .pairs = {{"detail", "a", "b"}}}),
               BadInput);
}

TEST(PublicApi, SelfConsistencyVotesOnTheExtractedAnswer) {
  const Answer answer =
      model().ask(kQuestion, {.method = "self-consistency:beams=12:max-tokens=96:temperature=1.2"});
  // Whole texts are nearly all different; what they box is not.
  std::map<std::string, int> votes;
  const auto boxed = [](const std::string& text) {
    const auto at = text.rfind("\\boxed{");
    return at == text.npos ? "" : text.substr(at, text.find('}', at) - at);
  };
  for (const AnswerCandidate& candidate : answer.candidates) ++votes[boxed(candidate.text)];
  votes.erase("");
  int most = 0;
  for (const auto& [text, count] : votes) most = std::max(most, count);
  ASSERT_GT(most, 1);
  EXPECT_EQ(votes[boxed(answer.text)], most);
}

TEST(PublicApi, ManyQuestionsInOrder) {
  const std::vector<std::string> questions = {kQuestion, "", "Compute 2 + 2."};
  const std::vector<Answer> answers = model().ask_all(questions, {.method = kShort}, 3);
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_THAT(answers[1].error, HasSubstr("the question is empty"));
  for (std::uint32_t i : {0u, 2u}) {
    EXPECT_EQ(answers[i].error, "");
    EXPECT_EQ(answers[i].tokens,
              model().ask(questions[i], {.method = kShort, .question = i}).tokens);
  }
  EXPECT_THROW(model().ask_all(questions, {.method = "nonsense"}), BadInput);
}

TEST(PublicApi, CancellingThrowsOrKeepsTheBestSoFar) {
  Cancellation cancellation;
  AskOptions options{.method = "cbs:beams=4:block=4:max-tokens=96", .cancellation = &cancellation};
  options.on_block = [&](const AskProgress& progress) {
    if (progress.block == 2) cancellation.cancel();
  };
  EXPECT_THROW(model().ask(kQuestion, options), Cancelled);
  Cancellation again;
  options.cancellation = &again;
  options.keep_partial = true;
  options.on_block = [&](const AskProgress& progress) {
    if (progress.block == 2) again.cancel();
  };
  const Answer answer = model().ask(kQuestion, options);
  EXPECT_TRUE(answer.interrupted);
  EXPECT_FALSE(answer.finished);
  EXPECT_LE(answer.tokens.size(), 8u);
}

TEST(PublicApi, AScorerOfOnesOwn) {
  std::atomic<int> calls = 0;
  const Answer shortest =
      model().ask(kQuestion, {.method = "best-of-n:beams=6:max-tokens=96",
                              .scorer = [&](const std::vector<AnswerCandidate>& candidates) {
                                ++calls;
                                std::vector<double> scores;
                                for (const AnswerCandidate& candidate : candidates)
                                  scores.push_back(-static_cast<double>(candidate.text.size()));
                                return scores;
                              }});
  EXPECT_EQ(calls, 1);
  for (const AnswerCandidate& candidate : shortest.candidates)
    EXPECT_GE(candidate.text.size(), shortest.text.size());
}

TEST(PublicApi, ScoreCountsTheTokenThatTheSearchEndedWith) {
  const Answer answer = model().ask(kQuestion, {.method = kShort});
  ASSERT_TRUE(answer.finished);
  const ScoredAnswer scored = model().score(kQuestion, answer.text, {.steer = 0.7, .end = true});
  ASSERT_EQ(scored.tokens.size(), answer.tokens.size());
  for (std::size_t i = 0; i < answer.tokens.size(); ++i)
    EXPECT_EQ(scored.tokens[i].token, answer.tokens[i]);
  EXPECT_DOUBLE_EQ(scored.score, answer.score);
  const ScoredAnswer plain = model().score(kQuestion, answer.text, {.contexts = "none"});
  EXPECT_EQ(plain.tokens.size(), answer.tokens.size() - 1);
  EXPECT_EQ(plain.tokens[0].positive, 0);
}

TEST(PublicApi, OneSidedContrastsAndSums) {
  const std::string text = "It is \\boxed{33}.";
  const auto scored = [&](const ScoreOptions& options) {
    return model().score(kQuestion, text, options);
  };
  const ScoredAnswer both = scored({}), positive = scored({.contrast = "positive"}),
                     negative = scored({.contrast = "negative"}),
                     sum = scored({.aggregate = "sum"});
  double total = 0;
  for (std::size_t i = 0; i < both.tokens.size(); ++i) {
    EXPECT_EQ(positive.tokens[i].positive, both.tokens[i].positive);
    EXPECT_EQ(positive.tokens[i].negative, both.tokens[i].base);
    EXPECT_EQ(negative.tokens[i].positive, both.tokens[i].base);
    EXPECT_EQ(negative.tokens[i].negative, both.tokens[i].negative);
    total += both.tokens[i].base + 0.25 * both.tokens[i].reward();
  }
  EXPECT_NEAR(sum.score, total, 1e-4);
  EXPECT_NEAR(both.score, total / static_cast<double>(both.tokens.size()), 1e-5);
  const Answer answer =
      model().ask(kQuestion, {.method = std::string(kShort) + ":contrast=positive:aggregate=sum"});
  EXPECT_EQ(answer.scored_tokens, answer.generated_tokens);
  const ScoredAnswer again =
      model().score(kQuestion, answer.text,
                    {.steer = 0.7, .contrast = "positive", .aggregate = "sum", .end = true});
  EXPECT_NEAR(again.score, answer.score, 1e-4);
  EXPECT_THROW(scored({.contrast = "left"}), BadInput);
}

TEST(PublicApi, ModelAndTokenizer) {
  const ModelInfo info = model().info();
  EXPECT_EQ(info.name, "tiny-dense");
  EXPECT_TRUE(info.chat_template);
  EXPECT_GT(info.vocabulary, 0);
  EXPECT_FALSE(info.end_tokens.empty());
  EXPECT_EQ(model().decode(model().encode("Compute 7.")), "Compute 7.");
  EXPECT_EQ(model().encode("<|im_end|>", true).size(), 1u);
  EXPECT_GT(model().encode("<|im_end|>").size(), 1u);
  EXPECT_THROW(LanguageModel::load("no-such-model"), BadInput);
}

}  // namespace
}  // namespace counterbeam
