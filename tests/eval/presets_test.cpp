// The paper's experiments: every method parses, and the settings are those of the paper.
#include "eval/presets.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "search/method_strings.h"

namespace counterbeam {
namespace {

TEST(Presets, AllSevenExistAndTheirMethodsParse) {
  std::set<std::string_view> names;
  for (const Preset& preset : presets()) {
    names.insert(preset.name);
    EXPECT_FALSE(preset.methods.empty());
    for (const auto& list : {preset.methods, preset.quick_methods}) {
      EXPECT_EQ(std::set<std::string>(list.begin(), list.end()).size(), list.size());
      for (const std::string& method : list) EXPECT_NO_THROW(validate(parse_method(method)));
    }
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"table1", "contexts", "pairs", "population",
                                               "block-size", "pass-at-k", "efficiency"}));
  EXPECT_THROW(preset_named("table9"), Error);
}

std::set<std::string> methods_of(std::string_view preset) {
  const auto& methods = preset_named(preset).methods;
  return {methods.begin(), methods.end()};
}

TEST(Presets, AreThoseOfThePaper) {
  EXPECT_EQ(preset_named("table1").methods.size(), 7u);
  EXPECT_EQ(preset_named("pass-at-k").samples, 4);
  EXPECT_TRUE(methods_of("pass-at-k").contains("beam"));
  EXPECT_EQ(
      methods_of("contexts"),
      (std::set<std::string>{"cbs:contexts=none", "cbs:steer=0.25:contexts=neutral",
                             "cbs:steer=0.7:contexts=neutral", "cbs:steer=0.25", "cbs:steer=0.7"}));
  EXPECT_EQ(methods_of("efficiency"),
            (std::set<std::string>{"sample", "low-temperature", "beam", "beam:beams=24",
                                   "cbs:steer=0.25", "cbs:steer=0.7"}));
  EXPECT_EQ(preset_named("efficiency").concurrency, 1);
  EXPECT_EQ(methods_of("population"),
            (std::set<std::string>{"beam", "beam:beams=24", "cbs:steer=0.25", "cbs:steer=0.7"}));
  std::set<int> blocks;
  for (const std::string& method : preset_named("block-size").methods)
    blocks.insert(parse_method(method).block);
  EXPECT_EQ(blocks, (std::set<int>{8, 16, 32, 64, 128}));
}

TEST(Presets, TenPairsAtTwoStrengthsBesideTwoBaselines) {
  EXPECT_EQ(preset_named("pairs").methods.size(), 22u);
  EXPECT_TRUE(methods_of("pairs").contains("beam"));
  EXPECT_TRUE(methods_of("pairs").contains("best-of-n"));
  for (const std::string& method : preset_named("pairs").methods)
    EXPECT_EQ(parse_method(method).beams, 16) << method;
}

// Blocks of 32 tokens and at most 3072 tokens, so 96 blocks, unless the block is what is studied.
TEST(Presets, LengthsAreThePapers) {
  for (const Preset& preset : presets())
    for (const std::string& method : preset.methods) {
      const Settings settings = parse_method(method);
      EXPECT_EQ(settings.max_tokens, 3072) << method;
      if (preset.name != "block-size") {
        EXPECT_EQ(settings.block, 32) << method;
      }
      EXPECT_EQ(settings.iterations, 0) << method << ": as many as 3072 tokens need";
    }
}

}  // namespace
}  // namespace counterbeam
