// The settings of a request reach the draw, and a cancelled request has no effect: on the reference
// and on the CPU back end in both precisions.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "backend/cpu/isa.h"
#include "base/error.h"
#include "engine/tiny.h"

namespace counterbeam {
namespace {

using namespace testing;

struct Place {
  ModelConfig config;
  LocalOptions options;
};

std::vector<Place> places() {
  const std::string isa(name_of(choose_isa("")));
  std::vector<Place> all;
  for (const ModelConfig& config : {tiny_attention(), tiny_recurrent()}) {
    all.push_back({config, {.isa = "reference"}});
    for (const Precision precision : {Precision::F32, Precision::Bf16})
      all.push_back({config, {.precision = precision, .threads = 2, .isa = isa}});
  }
  return all;
}

// Two prompts and the tokens drawn after the first, with or without the second as a follower.
class Requests {
 public:
  explicit Requests(const Place& place) : engine(tiny_engine(place.config, place.options)) {}
  Extension draw(ExtendRequest request, bool follower = false) const {
    Sequence sequence = open_one(*engine, prompt), other = open_one(*engine, second);
    request.sequence = &sequence;
    request.max_tokens = kTokens;
    if (follower) request.followers = {&other};
    return extend_one(*engine, request);
  }
  // The most likely token after the prompt and after each of the drawn tokens.
  std::vector<TokenId> likeliest(const std::vector<TokenId>& drawn) const {
    std::vector<TokenId> all = prompt, best;
    all.insert(all.end(), drawn.begin(), drawn.end());
    const int first = static_cast<int>(prompt.size()) - 1;
    engine->logits(all, [&](int position, std::span<const float> row) {
      if (position >= first && position < first + kTokens)
        best.push_back(TokenId(std::max_element(row.begin(), row.end()) - row.begin()));
    });
    return best;
  }

  static constexpr int kTokens = 30;
  std::vector<TokenId> prompt = some_tokens(10, 1), second = some_tokens(12, 2);
  std::unique_ptr<LocalEngine> engine;
};

TEST(Requests, SamplingReachesTheDraw) {
  for (const Place& place : places()) {
    const Requests requests(place);
    const Extension greedy = requests.draw({.sampling = {.temperature = 0}});
    EXPECT_EQ(greedy.tokens, requests.likeliest(greedy.tokens));
    for (const float x : greedy.drawn_logprobs) EXPECT_EQ(x, 0);
    EXPECT_EQ(requests.draw({.sampling = {.top_k = 1}, .key = {.seed = 3}}).tokens, greedy.tokens);
    EXPECT_EQ(requests.draw({.sampling = {.top_p = 1e-6f}, .key = {.seed = 3}}).tokens,
              greedy.tokens);
    EXPECT_EQ(requests.draw({.sampling = {.min_p = 1.0f}, .key = {.seed = 3}}).tokens,
              greedy.tokens);
    const Extension plain = requests.draw({.key = {.seed = 3}});
    EXPECT_NE(plain.tokens, requests.draw({.key = {.seed = 4}}).tokens);
    EXPECT_NE(plain.tokens, requests.draw({.key = {.seed = 3, .question = 1}}).tokens);
    for (std::size_t i = 0; i < plain.tokens.size(); ++i)
      EXPECT_NEAR(plain.drawn_logprobs[i], plain.logprobs[i], 1e-5);
    EXPECT_NE(
        plain.logprobs,
        requests.draw({.sampling = {.temperature = 0.5f}, .key = {.seed = 3}}).drawn_logprobs);
  }
}

// With all weight on the follower the draws are those of the follower.
TEST(Requests, MixturesReachTheDraw) {
  for (const Place& place : places()) {
    const Requests requests(place);
    Sequence alone = open_one(*requests.engine, requests.second);
    const Extension own =
        extend_one(*requests.engine,
                   {.sequence = &alone, .max_tokens = Requests::kTokens, .key = {.seed = 6}});
    const Extension mixed = requests.draw({.key = {.seed = 6}, .mix = {0.0f, 1.0f}}, true);
    EXPECT_EQ(mixed.tokens, own.tokens);
    EXPECT_EQ(mixed.follower_logprobs[0], own.logprobs);
    // Only the sequence's own most likely token is plausible.
    const Extension plausible =
        requests.draw({.key = {.seed = 6}, .mix = {0.0f, 1.0f}, .plausibility = 1.0f}, true);
    EXPECT_EQ(plausible.tokens, requests.likeliest(plausible.tokens));
  }
}

TEST(Requests, AFollowerCanBeFullToo) {
  auto engine = tiny_engine(tiny_attention());
  Sequence sequence = open_one(*engine, some_tokens(10, 1));
  Sequence follower = open_one(*engine, some_tokens(395, 2));
  const Extension extension =
      extend_one(*engine, {.sequence = &sequence, .followers = {&follower}, .max_tokens = 50});
  EXPECT_EQ(extension.tokens.size(), 5u);
  EXPECT_TRUE(extension.full);
}

// Cancelled after an increasing number of steps.
TEST(Requests, ACancelledCallLeavesItsSequencesAsTheyWere) {
  for (Place place : places()) {
    for (int mode = 0; mode < 4; ++mode) {
      place.options.followers = static_cast<FollowerMode>(mode);
      const Requests requests(place), untouched(place);
      const ExtendRequest ask{.key = {.seed = 4}};
      const Extension expected = untouched.draw(ask, true);
      LocalEngine& engine = *requests.engine;
      int cancelled = 0;
      // A busy machine may run the canceller too late: then it is tried again.
      for (int i = 0; i < 8 || (cancelled == 0 && i < 2000); ++i) {
        Sequence sequence = open_one(engine, requests.prompt);
        Sequence follower = open_one(engine, requests.second);
        Cancellation cancellation;
        const std::int64_t until = engine.counters().steps + 3 + i % 8 * 10;
        std::thread canceller([&] {
          while (engine.counters().steps < until) std::this_thread::yield();
          cancellation.cancel();
        });
        ExtendRequest doomed{.sequence = &sequence, .followers = {&follower}, .max_tokens = 360};
        try {
          engine.extend({&doomed, 1}, &cancellation);
        } catch (const Error&) {
          ++cancelled;
          EXPECT_EQ(sequence.length(), 10);
          EXPECT_EQ(follower.length(), 12);
          ExtendRequest again = ask;
          again.sequence = &sequence;
          again.followers = {&follower};
          again.max_tokens = Requests::kTokens;
          EXPECT_TRUE(same(expected, extend_one(engine, again)));
        }
        canceller.join();
      }
      EXPECT_GT(cancelled, 0);
    }
  }
}

// The likeliest tokens of drawn and of given tokens, and tokens as they are drawn.
TEST(Requests, GiveTheLikeliestTokensAndTellOfDraws) {
  for (const Place& place : places()) {
    const Requests requests(place);
    LocalEngine& engine = *requests.engine;
    const Extension plain = requests.draw({.key = {.seed = 3}});
    std::vector<TokenId> told;
    std::vector<TopTokens> told_top;
    ExtendRequest ask{.key = {.seed = 3}, .top = 4};
    ask.on_token = [&](const DrawnToken& drawn) {
      told.push_back(drawn.token);
      told_top.push_back(*drawn.top);
    };
    const Extension drawn = requests.draw(ask, true);
    EXPECT_EQ(drawn.tokens, plain.tokens);
    EXPECT_EQ(drawn.logprobs, plain.logprobs);
    EXPECT_EQ(told, drawn.tokens);
    ASSERT_EQ(drawn.top.size(), drawn.tokens.size());
    // The same by one pass over the given tokens.
    Sequence sequence = open_one(engine, requests.prompt);
    std::vector<TopTokens> top;
    const ScoreRequest score{
        .sequence = &sequence, .tokens = drawn.tokens, .top = 4, .top_tokens = &top};
    const std::vector<float> logprobs = engine.score({&score, 1})[0];
    EXPECT_EQ(logprobs, drawn.logprobs);
    ASSERT_EQ(top.size(), drawn.top.size());
    for (std::size_t i = 0; i < top.size(); ++i) {
      ASSERT_EQ(top[i].size(), 4u);
      for (std::size_t k = 0; k < 4; ++k) {
        EXPECT_EQ(top[i][k].token, drawn.top[i][k].token);
        EXPECT_EQ(top[i][k].logprob, drawn.top[i][k].logprob);
        EXPECT_EQ(top[i][k].logprob, told_top[i][k].logprob);
        if (k > 0) {
          EXPECT_LE(top[i][k].logprob, top[i][k - 1].logprob);
        }
        if (top[i][k].token == drawn.tokens[i]) {
          EXPECT_EQ(top[i][k].logprob, logprobs[i]);
        }
      }
    }
  }
}

// A scored prompt is kept for others to share where the caller says so.
TEST(Requests, KeepScoredPromptsWhenAsked) {
  for (const bool keep : {false, true}) {
    const auto engine = tiny_engine(tiny_attention());
    const std::vector<TokenId> prompt = some_tokens(60, 1);
    {
      Sequence sequence = open_one(*engine, {prompt[0]});
      const ScoreRequest score{
          .sequence = &sequence, .tokens = std::span(prompt).subspan(1), .keep = keep};
      engine->score({&score, 1});
      EXPECT_EQ(engine->status().sequences, 1);
      EXPECT_GE(engine->status().pages_used, 60 / kPageTokens);
    }
    EXPECT_EQ(engine->status().sequences, 0);
    EXPECT_EQ(engine->status().pages_used, 0) << "what is kept counts as free";
    EXPECT_EQ(engine->open({&prompt, 1}).cached_tokens, keep ? 59 : 0);
  }
}

}  // namespace
}  // namespace counterbeam
