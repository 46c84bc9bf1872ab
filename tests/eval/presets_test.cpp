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

TEST(Presets, AreThoseOfThePaper) {
  EXPECT_EQ(preset_named("table1").methods.size(), 7u);
  EXPECT_EQ(preset_named("pass-at-k").samples, 4);
  EXPECT_EQ(preset_named("pairs").methods.size(), 21u);  // ten pairs at two strengths, and none
  std::set<int> blocks;
  for (const std::string& method : preset_named("block-size").methods)
    blocks.insert(parse_method(method).block);
  EXPECT_EQ(blocks, (std::set<int>{8, 16, 32, 64, 128}));
  std::set<std::string> contexts;
  for (const std::string& method : preset_named("contexts").methods)
    contexts.insert(parse_method(method).contexts);
  EXPECT_EQ(contexts, (std::set<std::string>{"none", "neutral", "reasoning"}));
  EXPECT_EQ(preset_named("efficiency").concurrency, 1);
}

}  // namespace
}  // namespace counterbeam
