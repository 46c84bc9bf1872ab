#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "search/contexts.h"
#include "search/method_strings.h"

namespace counterbeam {
namespace {

std::string error_of(std::string_view method) {
  try {
    parse_method(method);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::BadInput);
    return error.what();
  }
  return "accepted";
}

TEST(Settings, PublishedDefaults) {
  const Settings cbs = parse_method("cbs");
  EXPECT_EQ(cbs.beams, 16);
  EXPECT_EQ(cbs.prune, 4);
  EXPECT_EQ(cbs.block, 32);
  EXPECT_EQ(cbs.max_tokens, 3072);
  EXPECT_EQ(cbs.temperature, 1.0);
  EXPECT_EQ(cbs.steer, 0.25);
  EXPECT_EQ(parse_method("low-temperature").temperature, 0.25);
  EXPECT_EQ(parse_method("sample").beams, 1);
  EXPECT_EQ(parse_method("beam").steer, 0);
  EXPECT_EQ(parse_method("mcmc-power").block, 192);
  EXPECT_EQ(parse_method("power").rollouts, 16);
}

TEST(Settings, EveryPolicyHasItsOwnStrength) {
  EXPECT_EQ(parse_method("token-contrast").steer, 0.25);
  EXPECT_EQ(parse_method("token-contrast:policy=cfg").steer, 1.5);
  EXPECT_EQ(parse_method("token-contrast:policy=cad").steer, 0.5);
  EXPECT_EQ(parse_method("token-contrast:policy=cad:steer=1").steer, 1);
  EXPECT_EQ(parse_method("token-contrast:steer=2:policy=cfg").steer, 2);
  EXPECT_EQ(parse_method("token-contrast").contrast, "both");
  EXPECT_EQ(parse_method("token-contrast:policy=cad").contrast, "positive");
  EXPECT_EQ(parse_method("token-contrast:policy=cad:contrast=both").contrast, "both");
}

TEST(Settings, NoPolicyLeansTowardsTheNegativeContextByDefault) {
  for (const char* policy : {"tilt", "cfg", "cad"}) {
    const Settings settings = parse_method(std::string("token-contrast:policy=") + policy);
    const auto [base, positive, negative] = settings.method->mixture(settings);
    EXPECT_GT(positive, 0) << policy;
    EXPECT_LE(negative, 0) << policy;
    EXPECT_NEAR(base + positive + negative, 1, 1e-6) << policy;
  }
}

TEST(Settings, AOneSidedContrastNeedsOneContext) {
  const Settings positive = parse_method("cbs:contrast=positive:positive=\"Good:\"");
  EXPECT_EQ(chosen_contexts(positive)->positive, "Good:");
  EXPECT_EQ(chosen_contexts(positive)->negative, "");
  const Settings negative = parse_method("cbs:contrast=negative:contexts=detail");
  EXPECT_EQ(chosen_contexts(negative)->positive, "");
  EXPECT_THAT(chosen_contexts(negative)->negative, ::testing::HasSubstr("overlooks"));
}

TEST(Settings, MethodStrings) {
  const Settings settings = parse_method("cbs:steer=0.7:block=16:contexts=detail");
  EXPECT_EQ(settings.steer, 0.7);
  EXPECT_EQ(settings.block, 16);
  EXPECT_EQ(settings.contexts, "detail");
  EXPECT_EQ(parse_method("beam:beams=24:prune=5").beams, 24);  // 24/5 = 4 survivors
}

struct BadSetting {
  const char* method;
  const char* message;
};

TEST(Settings, ErrorsNameTheSettingAndTheRange) {
  const BadSetting cases[] = {
      {"cbs:beams=0", "cbs:beams: 0 is out of range; allowed: 1 to 4096"},
      {"cbs:block=0", "cbs:block: 0 is out of range; allowed: 1 to 4096"},
      {"cbs:prune=17", "--prune: 17 is more than --beams 16; allowed: 1 to 16"},
      {"cbs:temperature=-1", "cbs:temperature: -1 is out of range; allowed: 0 to 100"},
      {"cbs:steer=inf", "cbs:steer: inf is out of range"},
      {"cbs:steer=nan", "cbs:steer: nan is out of range"},
      {"cbs:steer=", "cbs:steer: \"\" is not a number"},
      {"cbs:steer=0\x01\f", R"(cbs:steer: "0\x01\x0c" is not a number)"},
      {"cbs:beams=2.5", "cbs:beams: \"2.5\" is not a whole number"},
      {"cbs:max-tokens=0", "cbs:max-tokens: 0 is out of range"},
      {"cbs:beams=99999999999", "cbs:beams: \"99999999999\" is not a whole number"},
      {"cbs:top-p=0", "cbs:top-p: 0 is out of range"},
      {"cbs:stear=1", "cbs has no setting \"stear\"; it has: beams, prune, block"},
      {"sample:steer=1", "sample has no setting \"steer\""},
      {"cbs:steer", "expected NAME=VALUE"},
      {"cbs:", "expected NAME=VALUE"},
      {"sbc", "method \"sbc\" is not known; known: cbs, beam"},
      {"", "method \"\" is not known"},
      {"cbs:positive=x", "--positive and --negative go together"},
      {"cbs:contrast=positive:negative=x", "--positive: contrast=positive needs the positive"},
      {"cbs:contrast=one", "cbs:contrast: \"one\" is not known; allowed: both, positive, negative"},
      {"cbs:aggregate=max", "cbs:aggregate: \"max\" is not known; allowed: mean, sum"},
      {"token-contrast:policy=cfg:steer=0.25", "leans towards the negative context"},
      {"token-contrast:policy=cad:contrast=negative", "contrast=negative leaves nothing"},
      {"power:jackknife=maybe", "power:jackknife: \"maybe\" is neither true nor false"},
      {"token-contrast:policy=x", "policy: \"x\" is not known; allowed: tilt, cfg, cad"},
      {"token-contrast:contexts=none", "--contexts: token-contrast draws from a contrast"},
  };
  for (const auto& [method, message] : cases)
    EXPECT_NE(error_of(method).find(message), std::string::npos)
        << method << ": " << error_of(method);
}

TEST(Settings, JsonHasTheSettingsThatTheMethodUses) {
  const Json json = to_json(parse_method("beam"));
  EXPECT_EQ(json["method"], "beam");
  EXPECT_EQ(json["beams"], 16);
  EXPECT_FALSE(json.contains("steer"));
}

TEST(Contexts, TenNamedPairsAndTheControl) {
  EXPECT_EQ(named_contexts().size(), 11u);
  Settings settings;
  EXPECT_EQ(chosen_contexts(settings)->positive,
            "This is an example for a response with excellent reasoning:");
  EXPECT_EQ(chosen_contexts(settings)->negative,
            "This is an example for a response with wrong reasoning:");
  settings.contexts = "neutral";
  EXPECT_EQ(chosen_contexts(settings)->negative,
            "This is an example for a response to the question assigned to control group two:");
  settings.contexts = "none";
  EXPECT_FALSE(chosen_contexts(settings));
  settings.contexts = "excellence";
  EXPECT_THROW(chosen_contexts(settings), Error);
  settings.positive = "Good:";
  settings.negative = "Bad:";
  EXPECT_EQ(chosen_contexts(settings)->negative, "Bad:");
}

TEST(Contexts, JoinerOnlyIfNeeded) {
  EXPECT_EQ(with_context("What?", " ", "Good:"), "What? Good:");
  EXPECT_EQ(with_context("What?\n", " ", "Good:"), "What?\nGood:");
  EXPECT_EQ(with_context("What?", "\n\n", "Good:"), "What?\n\nGood:");
}

}  // namespace
}  // namespace counterbeam
