// Stop texts and stop ids: in single texts, and in the searches of every method.
#include "search/stops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "search/method_strings.h"
#include "search/rerank.h"
#include "search/search.h"
#include "text/tokenizer.h"
#include "theory/toy_engine.h"

namespace counterbeam {
namespace {

using ::testing::HasSubstr;

constexpr TokenId kEnd = 0, kA = 1, kB = 2, kC = 3;

// 0 is the end token; then a, b, c, ab, and the two bytes of é.
const Tokenizer& letters() {
  static const Tokenizer kTokenizer = Tokenizer::parse(
      R"({"added_tokens": [{"id": 0, "content": "<end>", "special": true}],
          "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
          "decoder": {"type": "ByteLevel"},
          "model": {"type": "BPE", "merges": ["a b"],
                    "vocab": {"<end>": 0, "a": 1, "b": 2, "c": 3, "ab": 4, "Ã": 5, "©": 6}}})",
      "tokenizer.json", "", "");
  return kTokenizer;
}

Stops stops_at(std::vector<std::string> texts, std::vector<TokenId> ids = {kEnd}) {
  return {letters(), std::move(ids), std::move(texts)};
}

using Ids = std::vector<TokenId>;

TEST(Stops, ATextEndsWithTheTokenThatCompletesIt) {
  const Ids tokens = {kC, kA, kB, kC, kA};  // "cabca"
  EXPECT_EQ(stops_at({"ab"}).end_of(tokens), 3u);
  EXPECT_EQ(stops_at({"ab"}).text(tokens), "c");
  EXPECT_EQ(stops_at({"ab"}).end_of(tokens, 2), 3u);  // begun in tokens that were checked before
  EXPECT_EQ(stops_at({"bca"}).end_of(tokens), 5u);
  EXPECT_EQ(stops_at({"bb"}).end_of(tokens), std::nullopt);
  EXPECT_EQ(stops_at({"bb"}).text(tokens), "cabca");
  EXPECT_EQ(stops_at({}).end_of(tokens), std::nullopt);
  EXPECT_EQ(stops_at({"b"}).end_of(Ids{4}), 1u);  // within a token
  EXPECT_EQ(stops_at({"b"}).text(Ids{4}), "a");
}

TEST(Stops, TheFirstCompleteOneCounts) {
  const Ids tokens = {kA, kB, kC, kA};
  EXPECT_EQ(stops_at({"abca", "c"}).end_of(tokens), 3u);
  EXPECT_EQ(stops_at({"abca", "c"}).text(tokens), "ab");
  EXPECT_EQ(stops_at({"c", "bc"}).text(tokens), "a");  // complete at the same place: the longer one
}

// é comes in two tokens, and is there only after the second.
TEST(Stops, CharactersMaySpanTokens) {
  const Ids tokens = {kA, 5, 6, kB};
  EXPECT_EQ(stops_at({"é"}).end_of(tokens), 3u);
  EXPECT_EQ(stops_at({"aé"}).text(tokens), "");
  EXPECT_EQ(stops_at({"éb"}).end_of(tokens, 3), 4u);
}

TEST(Stops, TheEndTokenIsNotText) {
  EXPECT_EQ(stops_at({}).text(Ids{kA, kEnd}), "a");
  EXPECT_EQ(stops_at({}, {kEnd, kB}).text(Ids{kA, kB}), "a");  // a stop id is an end token
  EXPECT_EQ(stops_at({}, {kEnd, kB}).text(Ids{}), "");
}

TEST(Stops, TheBytesOfTokensAddUpToTheText) {
  using Bytes = std::vector<std::size_t>;
  EXPECT_EQ(stops_at({}).token_bytes(Ids{kA, 4, kC, kEnd}), (Bytes{1, 2, 1}));
  EXPECT_EQ(stops_at({}).token_bytes(Ids{kA, 5, 6, kB}), (Bytes{1, 0, 2, 1}));  // é ends with 6
  EXPECT_EQ(stops_at({}).token_bytes(Ids{kA, 5}), (Bytes{1, 3}));     // half an é reads U+FFFD
  EXPECT_EQ(stops_at({"b"}).token_bytes(Ids{kC, 4}), (Bytes{1, 1}));  // the stop text is cut off
  EXPECT_EQ(stops_at({"ab"}).token_bytes(Ids{kC, kA, kB}), (Bytes{1, 0, 0}));
  EXPECT_EQ(stops_at({}).token_bytes(Ids{kEnd}), Bytes{});
  EXPECT_EQ(stops_at({}).token_bytes(Ids{}), Bytes{});
}

TEST(Stops, WhatMayBecomeAStopTextIsNotShown) {
  EXPECT_EQ(stops_at({"bc"}).settled_text(Ids{kA, kB}), "a");
  EXPECT_EQ(stops_at({"bc"}).settled_text(Ids{kA, kB, kB}), "ab");
  EXPECT_EQ(stops_at({"bc"}).settled_text(Ids{kA, kB, kC, kA}), "a");
  EXPECT_EQ(stops_at({"abab", "bc"}).settled_text(Ids{kC, kA, kB}), "c");
}

TEST(Stops, EmptyAndBrokenTextsAreRefused) {
  EXPECT_THROW(stops_at({""}), BadInput);
  EXPECT_THROW(stops_at({"\xff"}), BadInput);
}

// A toy over the letters.
ToyEngine& toy() {
  static ToyEngine engine(ToyModel::random(7, 6, 5, 1.0), {kEnd});
  return engine;
}

SearchResult run(const std::string& method, const Stops* stops, std::uint64_t seed) {
  const Settings settings = parse_method(method);
  const Prompts prompts = toy().prompts(uses_contexts(settings));
  SearchHooks hooks;
  hooks.vote = [&](const Ids& tokens) { return stops ? stops->text(tokens) : ""; };
  return run_search({toy(), prompts, seed, 0, nullptr, stops}, settings, hooks);
}

// In short blocks, so that texts span them.
std::vector<std::string> every_method() {
  std::vector<std::string> texts;
  for (const Method& method : methods()) {
    std::string text = std::string(method.name) + ":block=2";
    if (method.find("beams")) text += ":beams=8";
    if (method.find("prune")) text += ":prune=2";
    if (method.find("steer") && method.name != "token-contrast") text += ":steer=0.5";
    texts.push_back(text);
  }
  texts.push_back("cbs:block=2:beams=8:prune=2:steer=0.5:lookahead=2:horizon=3");
  return texts;
}

// Every candidate ends at its first stop, its sums are those of the tokens that are kept, and no
// text holds a stop.
TEST(StopsInSearches, EveryMethodEndsAnswersAtTheFirstStop) {
  const Stops stops = stops_at({"ab", "cc", "é"});
  for (const std::string& method : every_method()) {
    int stopped = 0;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const SearchResult result = run(method, &stops, seed);
      for (const Candidate& answer : result.pool) {
        const std::size_t n = answer.tokens.size();
        const auto end = stops.end_of(answer.tokens);
        EXPECT_TRUE(!end || *end == n) << method;
        EXPECT_TRUE(!end || answer.ended) << method;
        stopped += end.has_value();
        ASSERT_EQ(answer.logprobs.base.size(), n) << method;
        ASSERT_EQ(answer.logprobs.drawn.size(), n) << method;
        double base = 0;
        for (const float value : answer.logprobs.base) base += value;
        EXPECT_NEAR(answer.sums.base, base, 1e-9) << method;
        EXPECT_EQ(answer.sums.tokens, static_cast<std::int64_t>(n)) << method;
        const std::string text = stops.text(answer.tokens);
        for (const char* stop : {"ab", "cc", "é"}) EXPECT_THAT(text, Not(HasSubstr(stop)));
      }
    }
    EXPECT_GT(stopped, 0) << method;
  }
}

// Up to its first stop, a sampled answer is what it is without stops: draws are keyed.
TEST(StopsInSearches, ASampleIsCutAndNotChanged) {
  const Stops stops = stops_at({"ab", "ca"});
  int cut = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Candidate plain = run("sample:block=2", nullptr, seed).answer();
    const Candidate stopped = run("sample:block=2", &stops, seed).answer();
    const auto end = stops.end_of(plain.tokens);
    const Ids expected(
        plain.tokens.begin(),
        plain.tokens.begin() + static_cast<std::ptrdiff_t>(end.value_or(plain.tokens.size())));
    EXPECT_EQ(stopped.tokens, expected) << seed;
    cut += end && *end < plain.tokens.size();
  }
  EXPECT_GT(cut, 0);
}

TEST(StopsInSearches, AStopIdIsOneMoreEndToken) {
  const TokenId stop = run("greedy:block=2", nullptr, 0).answer().tokens.front();  // likely for all
  ASSERT_NE(stop, kEnd);
  const Stops stops = stops_at({}, {kEnd, stop});
  for (const std::string& method : every_method()) {
    int stopped = 0;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const SearchResult result = run(method, &stops, seed);
      for (const Candidate& answer : result.pool) {
        const auto place = std::find(answer.tokens.begin(), answer.tokens.end(), stop);
        if (place == answer.tokens.end()) continue;
        EXPECT_TRUE(answer.ended && place == answer.tokens.end() - 1) << method;
        ++stopped;
      }
    }
    EXPECT_GT(stopped, 0) << method;
  }
}

// What was drawn after a stop text is paid for, alone and from shared samples alike.
TEST(StopsInSearches, SharedSamplesCostWhatTheyCostAlone) {
  const Stops stops = stops_at({"ab", "c"});
  const std::string method = "best-of-n:beams=8:block=4";
  const SearchResult alone = run(method + ":steer=0.5", &stops, 3);
  const Prompts base = toy().prompts(false);
  const Ranking ranking{toy().prompts(true), 0.5};
  const std::vector<SearchResult> shared =
      rerank({toy(), base, 3, 0, nullptr, &stops}, parse_method(method + ":steer=0"),
             std::span(&ranking, 1));
  ASSERT_EQ(shared.size(), 1u);
  EXPECT_EQ(shared[0].answer().tokens, alone.answer().tokens);
  EXPECT_EQ(shared[0].ledger.generated_tokens, alone.ledger.generated_tokens);
  EXPECT_EQ(shared[0].ledger.scored_tokens, alone.ledger.scored_tokens);
  std::int64_t kept = 0;
  for (const Candidate& answer : alone.pool) kept += answer.sums.tokens;
  EXPECT_GT(alone.ledger.generated_tokens, kept);
}

}  // namespace
}  // namespace counterbeam
