// Which model a server computes: servers of one engine must have the same, also after they were
// lost, whatever dtype each of them computes in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/simulated_server.h"

namespace counterbeam::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Kind = SimulatedOptions::Kind;

constexpr double kOtherDtype = 0.03;  // of logits: more than bf16 weights are off
constexpr Kind kScoringKinds[] = {Kind::VllmV1, Kind::VllmV2, Kind::Completions,
                                  Kind::Echo,   Kind::SGLang, Kind::StepsOnly};

std::string refusal_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const BadInput& error) {
    return error.what();
  } catch (const Failed& error) {
    return std::string("failed: ") + error.what();
  }
  return "";
}

std::string connecting(const SimulatedOptions& a, const SimulatedOptions& b,
                       const std::string& model = "") {
  const SimulatedServer first(a), second(b);
  RemoteOptions options = simulated_options({first.url(), second.url()});
  options.probe.model = model;
  const std::string refusal = refusal_of([&] { RemoteEngine(options, simulated_model()); });
  if (!refusal.empty()) {
    EXPECT_THAT(refusal, AllOf(HasSubstr(first.url()), HasSubstr(second.url())));
  }
  return refusal;
}

Extension drawn_block(RemoteEngine& engine) {
  const std::vector<std::vector<TokenId>> prompts = {std::vector<TokenId>(20, 5)};
  Opened opened = engine.open(prompts);
  ExtendRequest request;
  request.sequence = &opened.sequences[0];
  request.max_tokens = 4;
  return engine.extend({&request, 1})[0];
}

TEST(ServedModelTest, DistanceIsTheMeanOverWhatBothHave) {
  EXPECT_FALSE(mean_distance({}, {}).has_value());
  const std::vector<float> a = {-1, -2, -3}, b = {-1.5f, -2};
  EXPECT_FALSE(mean_distance(a, {}).has_value());
  EXPECT_DOUBLE_EQ(*mean_distance(a, b), 0.25);
  EXPECT_DOUBLE_EQ(*mean_distance(b, a), 0.25);
  EXPECT_EQ(difference({.id = "m", .logprobs = {-1, -2}}, {.id = "m", .logprobs = {-1.1f, -2.05f}}),
            "");
  EXPECT_THAT(difference({.id = "m", .logprobs = {-1}}, {.id = "m", .logprobs = {-2}}),
              HasSubstr("off by 1.00 on average"));
  EXPECT_EQ(difference({.id = "m"}, {.id = "m", .logprobs = {-2}}), "");
  EXPECT_EQ(difference({.id = "m"}, {.id = "n"}), "serves \"n\" in place of \"m\"");
}

TEST(RemoteModels, WhatAServerSaysIsFound) {
  for (const Kind kind : kScoringKinds) {
    SimulatedOptions options;
    options.kind = kind;
    const SimulatedServer server(options);
    const RemoteOptions remote = simulated_options({server.url()});
    const RemoteEngine engine(remote, simulated_model());
    ASSERT_TRUE(engine.info().served.has_value());
    const ServedModel& served = *engine.info().served;
    EXPECT_EQ(served.id, "toy");
    EXPECT_EQ(served.root, "toy");
    EXPECT_EQ(served.max_length, 400);
    ASSERT_EQ(served.logprobs.size(), remote.probe.tokens.size() - 1) << int(kind);
    for (std::size_t i = 0; i < served.logprobs.size(); ++i)
      EXPECT_NEAR(served.logprobs[i],
                  server.toy().logprob(std::span(remote.probe.tokens).first(i + 1),
                                       remote.probe.tokens[i + 1]),
                  1e-5);
  }
}

TEST(RemoteModels, ServersOfDifferentModelsAreRefusedByName) {
  SimulatedOptions dense, hybrid;
  dense.models = {"dense"};
  hybrid.models = {"hybrid"};
  EXPECT_THAT(connecting(dense, hybrid),
              AllOf(HasSubstr("serves \"hybrid\" in place of \"dense\""),
                    HasSubstr("serves \"dense\". All servers must compute the same model")));
  dense.models = {"dense", "large"};
  hybrid.models = {"hybrid", "large"};
  EXPECT_EQ(connecting(dense, hybrid, "large"), "");
}

TEST(RemoteModels, OtherWeightsOfTheSameNameAreRefused) {
  for (const Kind kind : kScoringKinds) {
    SimulatedOptions one, same, other;
    same.rounding = kOtherDtype;
    other.kind = same.kind = kind;
    other.weights = 1;
    EXPECT_EQ(connecting(one, same), "") << int(kind);
    EXPECT_THAT(connecting(one, other), HasSubstr("its \"toy\" is another model")) << int(kind);
  }
}

// Nothing is known of such a server but the name.
TEST(RemoteModels, AServerWithoutLogprobsOfAPromptIsKnownByItsName) {
  SimulatedOptions one, draws, named;
  named.kind = draws.kind = Kind::DrawsOnly;
  named.models = {"other"};
  EXPECT_EQ(connecting(one, draws), "");
  EXPECT_THAT(connecting(one, named), HasSubstr("serves \"other\""));
}

TEST(RemoteModels, AServerThatComesBackWithAnotherModelIsNotUsed) {
  SimulatedServer stays;
  std::optional<SimulatedServer> goes(std::in_place);
  const int port = goes->port();
  RemoteEngine engine(simulated_options({goes->url(), stays.url()}), simulated_model());
  const auto restart = [&](std::uint64_t weights) {
    goes.reset();
    SimulatedOptions back;
    back.port = port;
    back.weights = weights;
    goes.emplace(back);
  };
  const auto wait_for = [&](const std::function<bool(const RemoteFleet::Server&)>& reached) {
    for (int i = 0; i < 500 && !reached(engine.fleet().servers()[0]); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return reached(engine.fleet().servers()[0]);
  };
  goes.reset();
  for (int i = 0; i < 2; ++i) drawn_block(engine);  // the searches go around
  ASSERT_FALSE(engine.fleet().servers()[0].alive);
  restart(1);
  EXPECT_TRUE(wait_for([](const auto& server) {
    return server.problem.find("is another model") != std::string::npos;
  }));
  EXPECT_FALSE(engine.fleet().servers()[0].alive);
  drawn_block(engine);
  restart(0);
  EXPECT_TRUE(wait_for([](const auto& server) { return server.alive; }));
}

// There is nobody to compare it with but itself.
TEST(RemoteModels, ALoneServerThatComesBackWithAnotherModelFails) {
  std::optional<SimulatedServer> server(std::in_place);
  const int port = server->port();
  RemoteOptions options = simulated_options({server->url()});
  options.patience = std::chrono::milliseconds(20'000);
  RemoteEngine engine(options, simulated_model());
  const auto restart = [&](std::uint64_t weights, const std::string& name) {
    server.reset();
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      SimulatedOptions back;
      back.port = port;
      back.weights = weights;
      back.models = {name};
      server.emplace(back);
    });
    const std::string refusal = refusal_of([&] { drawn_block(engine); });
    later.join();
    return refusal;
  };
  EXPECT_THAT(restart(1, "toy"),
              AllOf(HasSubstr("failed: http://"), HasSubstr("could not be reached"),
                    HasSubstr("is another model")));
  EXPECT_THAT(refusal_of([&] { drawn_block(engine); }), HasSubstr("is another model"));
  EXPECT_THAT(restart(0, "new"), HasSubstr("serves \"new\" in place of \"toy\""));
  EXPECT_EQ(restart(0, "toy"), "");
  EXPECT_EQ(refusal_of([&] { drawn_block(engine); }), "");
}

}  // namespace
}  // namespace counterbeam::testing
