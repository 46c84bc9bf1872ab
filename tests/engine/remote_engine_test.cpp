// The remote engine over simulated servers of every kind: what is found, that log-probabilities are
// those of the model, and how many requests it takes.
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/simulated_server.h"

namespace counterbeam::testing {
namespace {

using Kind = SimulatedOptions::Kind;

struct KindCase {
  const char* name;
  SimulatedOptions options;
  RemoteApi api;
  ScoreWay score;
};

std::vector<KindCase> kinds() {
  SimulatedOptions v1, v2, no_details, no_scale_out, completions, echo, sglang, processed, steps;
  v2.kind = Kind::VllmV2;
  no_details.token_details = false;
  no_scale_out.scale_out = false;
  completions.kind = Kind::Completions;
  echo.kind = Kind::Echo;
  sglang.kind = Kind::SGLang;
  processed.kind = Kind::SGLang;
  processed.processed = true;
  steps.kind = Kind::StepsOnly;
  return {{"VllmV1", v1, RemoteApi::Tokens, ScoreWay::Cached},
          {"VllmV2", v2, RemoteApi::Tokens, ScoreWay::Rows},
          {"VllmWithoutDetails", no_details, RemoteApi::Tokens, ScoreWay::Prompt},
          {"VllmWithoutScaleOut", no_scale_out, RemoteApi::Completions, ScoreWay::Prompt},
          {"Completions", completions, RemoteApi::Completions, ScoreWay::Prompt},
          {"Echo", echo, RemoteApi::Completions, ScoreWay::Prompt},
          {"SGLang", sglang, RemoteApi::SGLang, ScoreWay::Start},
          {"SGLangProcessed", processed, RemoteApi::SGLang, ScoreWay::Start},
          {"StepsOnly", steps, RemoteApi::Tokens, ScoreWay::Steps}};
}

class RemoteKinds : public ::testing::TestWithParam<KindCase> {};
INSTANTIATE_TEST_SUITE_P(All, RemoteKinds, ::testing::ValuesIn(kinds()),
                         [](const auto& one) { return std::string(one.param.name); });

std::vector<TokenId> joined(std::vector<TokenId> a, std::span<const TokenId> b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void expect_logprobs(const ToyDistribution& toy, const std::vector<TokenId>& before,
                     std::span<const TokenId> tokens, const std::vector<float>& logprobs) {
  ASSERT_EQ(logprobs.size(), tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i)
    EXPECT_NEAR(logprobs[i], toy.logprob(joined(before, tokens.first(i)), tokens[i]), 1e-5) << i;
}

const std::vector<std::vector<TokenId>> kPrompts = {
    std::vector<TokenId>(37, 3), std::vector<TokenId>(48, 5), std::vector<TokenId>(33, 7)};

TEST_P(RemoteKinds, IsFoundByItsBehaviour) {
  SimulatedServer server(GetParam().options);
  RemoteEngine engine(simulated_options({server.url()}), simulated_model());
  const RemoteKind kind = engine.fleet().servers()[0].finding.kind;
  EXPECT_EQ(kind.api, GetParam().api);
  EXPECT_EQ(kind.score, GetParam().score);
  EXPECT_EQ(kind.max_length, 400);
  EXPECT_EQ(kind.raw_logprobs, !GetParam().options.processed);
  EXPECT_FALSE(engine.info().abilities.keyed_draws);
  EXPECT_FALSE(engine.info().abilities.mixtures);
  EXPECT_TRUE(engine.info().abilities.given_logprobs);
}

TEST_P(RemoteKinds, LogprobsOfABlockAreTheModels) {
  SimulatedServer server(GetParam().options);
  RemoteEngine engine(simulated_options({server.url()}), simulated_model());
  Opened opened = engine.open(kPrompts);
  EXPECT_TRUE(opened.counted_later);
  std::vector<std::vector<TokenId>> texts = kPrompts;
  for (std::uint32_t block = 0; block < 4; ++block) {
    ExtendRequest request;
    request.sequence = &opened.sequences[0];
    request.followers = {&opened.sequences[1], &opened.sequences[2]};
    request.max_tokens = 16;
    request.sampling.temperature = block % 2 ? 0.7f : 1.0f;
    request.key = {1, 2, block, 0, 16 * block};
    request.top = block == 3 ? 3 : 0;
    const Extension result = engine.extend({&request, 1})[0];
    ASSERT_EQ(result.tokens.size(), 16u);
    EXPECT_FALSE(result.stopped);
    expect_logprobs(server.toy(), texts[0], result.tokens, result.logprobs);
    for (std::size_t f = 0; f < 2; ++f)
      expect_logprobs(server.toy(), texts[f + 1], result.tokens, result.follower_logprobs[f]);
    if (request.top > 0) {
      const std::vector<float> row = server.toy().after(texts[0]);
      ASSERT_EQ(result.top.size(), 16u);
      ASSERT_EQ(result.top[0].size(), 3u);
      EXPECT_NEAR(result.top[0][0].logprob, *std::max_element(row.begin(), row.end()), 1e-5);
    }
    for (auto& text : texts) text = joined(text, result.tokens);
  }
  EXPECT_EQ(opened.sequences[1].length(), 48 + 64);
}

TEST_P(RemoteKinds, StopTokensEndADrawAndAreKept) {
  SimulatedServer server(GetParam().options);
  RemoteEngine engine(simulated_options({server.url()}), simulated_model());
  Opened opened = engine.open(kPrompts);
  ExtendRequest request;
  request.sequence = &opened.sequences[0];
  request.max_tokens = 60;
  for (TokenId id = 0; id < 20; ++id) request.stop.push_back(id);
  const Extension result = engine.extend({&request, 1})[0];
  ASSERT_FALSE(result.tokens.empty());
  EXPECT_TRUE(result.stopped);
  EXPECT_LT(result.tokens.back(), 20);
  for (std::size_t i = 0; i + 1 < result.tokens.size(); ++i) EXPECT_GE(result.tokens[i], 20);
}

TEST_P(RemoteKinds, SixteenBeamsTakeThreeRoundsAtMost) {
  SimulatedServer server(GetParam().options);
  RemoteEngine engine(simulated_options({server.url()}), simulated_model());
  Opened opened = engine.open(kPrompts);
  std::vector<std::vector<Sequence>> beams;
  for (int b = 0; b < 16; ++b) {
    auto& beam = beams.emplace_back();
    for (const Sequence& one : opened.sequences) beam.push_back(one.fork());
  }
  for (std::uint32_t block = 0; block < 3; ++block) {
    std::vector<ExtendRequest> requests(16);
    for (std::uint32_t b = 0; b < 16; ++b) {
      requests[b].sequence = &beams[b][0];
      requests[b].followers = {&beams[b][1], &beams[b][2]};
      requests[b].max_tokens = 32;
      requests[b].key = {0, 0, block, b, 32 * block};
    }
    const std::int64_t before = engine.fleet().rounds();
    const auto results = engine.extend(requests);
    EXPECT_LE(engine.fleet().rounds() - before, 3);
    for (const Extension& one : results) EXPECT_EQ(one.tokens.size(), 32u);
  }
}

TEST_P(RemoteKinds, ScoresGivenTokens) {
  SimulatedServer server(GetParam().options);
  RemoteEngine engine(simulated_options({server.url()}), simulated_model());
  Opened opened = engine.open(kPrompts);
  const std::vector<TokenId> answer = {9, 8, 7, 6, 5, 4, 3, 2, 1, 9, 8, 7, 6, 5, 4, 3, 2, 1, 11};
  std::vector<ReadTokens> read(3);
  std::vector<ScoreRequest> requests;
  for (std::size_t i = 0; i < 3; ++i)
    requests.push_back({.sequence = &opened.sequences[i], .tokens = answer, .read = &read[i]});
  const auto scores = engine.score(requests);
  for (std::size_t i = 0; i < 3; ++i) expect_logprobs(server.toy(), kPrompts[i], answer, scores[i]);
  // A second reading is remembered.
  Opened again = engine.open(kPrompts);
  Sequence fork = again.sequences[0].fork();
  const ScoreRequest first{.sequence = &again.sequences[0], .tokens = answer};
  ReadTokens none;
  const ScoreRequest second{.sequence = &fork, .tokens = answer, .read = &none};
  engine.score({&first, 1});
  const std::int64_t before = engine.fleet().requests();
  expect_logprobs(server.toy(), kPrompts[0], answer, engine.score({&second, 1})[0]);
  EXPECT_EQ(engine.fleet().requests(), before);
  EXPECT_EQ(none.remembered, static_cast<std::int64_t>(answer.size()));
}

TEST(RemoteEngine, DuplicateContinuationsAreScoredOnce) {
  SimulatedServer server;
  RemoteEngine engine(simulated_options({server.url()}), simulated_model());
  Opened opened = engine.open(kPrompts);
  std::vector<Sequence> bases, others;
  std::vector<ExtendRequest> requests(8);
  for (int b = 0; b < 8; ++b) {
    bases.push_back(opened.sequences[0].fork());
    others.push_back(opened.sequences[1].fork());
  }
  for (std::size_t b = 0; b < 8; ++b) {
    requests[b].sequence = &bases[b];
    requests[b].followers = {&others[b]};
    requests[b].max_tokens = 8;
    requests[b].sampling.temperature = 0;
  }
  const std::int64_t before = engine.fleet().requests();
  const auto results = engine.extend(requests);
  EXPECT_EQ(engine.fleet().requests() - before, 2);  // one draw, one scoring
  for (const Extension& one : results) {
    EXPECT_EQ(one.tokens, results[0].tokens);
    EXPECT_EQ(one.follower_logprobs, results[0].follower_logprobs);
  }
  EXPECT_EQ(results[1].read.remembered, 8);
}

TEST(RemoteEngine, CountsWhatTheServerComputed) {
  SimulatedOptions options;
  options.nan = false;  // a refused request says nothing of what it computed
  SimulatedServer server(options);
  RemoteEngine engine(simulated_options({server.url()}), simulated_model());
  Opened opened = engine.open(kPrompts);
  ExtendRequest request;
  request.sequence = &opened.sequences[0];
  request.followers = {&opened.sequences[1]};
  request.max_tokens = 20;
  const std::int64_t before = server.computed_tokens();
  std::int64_t counted = 0, cached = 0;
  for (std::uint32_t block = 0; block < 3; ++block) {
    request.key.block = block;
    const Extension result = engine.extend({&request, 1})[0];
    counted += result.read.computed + 2 * 20;  // drawn, and scored once
    cached += result.read.cached;
  }
  // A scoring request draws one token more, which is left out of account.
  EXPECT_NEAR(double(server.computed_tokens() - before), double(counted), 8);
  EXPECT_GT(cached, 100);
}

TEST(RemoteEngine, EndsAtTheModelsLength) {
  SimulatedServer server;
  RemoteEngine engine(simulated_options({server.url()}), simulated_model());
  const std::vector<std::vector<TokenId>> prompts = {std::vector<TokenId>(390, 2)};
  Opened opened = engine.open(prompts);
  ExtendRequest request;
  request.sequence = &opened.sequences[0];
  request.max_tokens = 32;
  const Extension result = engine.extend({&request, 1})[0];
  EXPECT_EQ(result.tokens.size(), 9u);  // a scoring request draws one more
  EXPECT_TRUE(result.full);
  EXPECT_TRUE(engine.extend({&request, 1})[0].tokens.empty());
  const std::vector<std::vector<TokenId>> longer = {std::vector<TokenId>(399, 2)};
  EXPECT_THROW(engine.open(longer), BadInput);
}

TEST(RemoteEngine, RefusesMixturesAndForeignSequences) {
  SimulatedServer server;
  RemoteEngine engine(simulated_options({server.url()}), simulated_model());
  RemoteEngine other(simulated_options({server.url()}), simulated_model());
  Opened opened = engine.open(kPrompts);
  ExtendRequest request;
  request.sequence = &opened.sequences[0];
  request.followers = {&opened.sequences[1]};
  request.max_tokens = 4;
  EXPECT_THROW(other.extend({&request, 1}), BadInput);
  request.mix = {1, 1};
  EXPECT_THROW(engine.extend({&request, 1}), BadInput);
}

TEST(RemoteEngine, WithoutLogprobsOfGivenTokensOnlyDraws) {
  SimulatedOptions options;
  options.kind = Kind::DrawsOnly;
  SimulatedServer server(options);
  RemoteEngine engine(simulated_options({server.url()}), simulated_model());
  EXPECT_FALSE(engine.info().abilities.given_logprobs);
  Opened opened = engine.open(kPrompts);
  ExtendRequest request;
  request.sequence = &opened.sequences[0];
  request.max_tokens = 8;
  const Extension drawn = engine.extend({&request, 1})[0];
  expect_logprobs(server.toy(), kPrompts[0], drawn.tokens, drawn.logprobs);
  request.followers = {&opened.sequences[1]};
  EXPECT_THROW(engine.extend({&request, 1}), Failed);
  EXPECT_EQ(opened.sequences[0].length(), 37 + 8);  // as it was before the call
}

TEST(RemoteEngine, ASearchStaysOnOneRank) {
  SimulatedOptions options;
  options.ranks = 4;
  SimulatedServer server(options);
  RemoteEngine engine(simulated_options({server.url()}), simulated_model());
  EXPECT_EQ(engine.fleet().servers()[0].finding.kind.ranks, 4);
  Opened opened = engine.open(kPrompts);
  ExtendRequest request;
  request.sequence = &opened.sequences[0];
  request.followers = {&opened.sequences[1]};
  request.max_tokens = 8;
  for (int block = 0; block < 3; ++block) engine.extend({&request, 1});
  EXPECT_EQ(server.ranks_heard().size(), 1u);
  Opened second = engine.open(kPrompts);
  request.sequence = &second.sequences[0];
  request.followers.clear();
  engine.extend({&request, 1});
  EXPECT_EQ(server.ranks_heard().size(), 2u);
}

// Forks, extensions and readings in random order over a cache that makes rows unreadable: whatever
// is reused, every log-probability is the model's.
TEST(RemoteEngine, RandomSchedulesGiveTheModelsLogprobs) {
  for (const Kind kind : {Kind::VllmV1, Kind::VllmV2, Kind::SGLang}) {
    std::int64_t garbage = 0;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      SimulatedOptions options;
      options.kind = kind;
      options.block_size = seed % 2 ? 4 : 8;
      SimulatedServer server(options);
      RemoteOptions remote = simulated_options({server.url()});
      RemoteEngine engine(remote, simulated_model());
      std::mt19937_64 numbers(seed);
      const auto below = [&](std::size_t bound) { return numbers() % bound; };
      struct Held {
        Sequence sequence;
        std::vector<TokenId> text;
      };
      std::vector<Held> held;
      Opened opened = engine.open(kPrompts);
      for (std::size_t i = 0; i < 3; ++i)
        held.push_back({std::move(opened.sequences[i]), kPrompts[i]});
      for (int step = 0; step < 40; ++step) {
        const std::size_t a = below(held.size());
        std::size_t b = below(held.size());
        if (held[a].text.size() > 200 || held.size() > 12) {
          held.erase(held.begin() + std::ptrdiff_t(a));
          if (held.size() < 3) break;
          continue;
        }
        switch (below(3)) {
          case 0:
            held.push_back({held[a].sequence.fork(), held[a].text});
            break;
          case 1: {
            if (a == b) break;
            ExtendRequest request;
            request.sequence = &held[a].sequence;
            request.followers = {&held[b].sequence};
            request.max_tokens = 1 + int(below(24));
            request.key.seed = numbers();
            const Extension result = engine.extend({&request, 1})[0];
            expect_logprobs(server.toy(), held[a].text, result.tokens, result.logprobs);
            expect_logprobs(server.toy(), held[b].text, result.tokens, result.follower_logprobs[0]);
            held[a].text = joined(held[a].text, result.tokens);
            held[b].text = joined(held[b].text, result.tokens);
            break;
          }
          case 2: {
            std::vector<TokenId> tokens(1 + below(20));
            for (TokenId& token : tokens) token = TokenId(below(3));
            const ScoreRequest request{.sequence = &held[a].sequence, .tokens = tokens};
            expect_logprobs(server.toy(), held[a].text, tokens, engine.score({&request, 1})[0]);
            held[a].text = joined(held[a].text, tokens);
            break;
          }
        }
      }
      garbage += server.garbage_rows();
    }
    EXPECT_EQ(garbage > 100, kind == Kind::VllmV1);  // the trap was there
  }
}

}  // namespace
}  // namespace counterbeam::testing
