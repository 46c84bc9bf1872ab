// The paper's figures are shown for its models and tasks, and for no others.
#include "eval/published.h"

#include <gtest/gtest.h>

#include "eval/presets.h"

namespace counterbeam {
namespace {

const std::vector<std::string> kTasks = {"math500", "humaneval", "gpqa"};

PublishedTable of(const std::string& experiment, const std::string& model,
                  const std::vector<std::string>& tasks = kTasks) {
  const auto methods = preset_named(experiment.empty() ? "table1" : experiment).methods;
  return published_figures(experiment, model, tasks, methods);
}

double figure(const PublishedTable& table, const std::string& row, std::size_t column) {
  for (const PublishedTable::Row& candidate : table.rows)
    if (candidate.name == row) return candidate.values.at(column).value();
  ADD_FAILURE() << row;
  return 0;
}

TEST(Published, MainTable) {
  const PublishedTable small = of("table1", "Qwen/Qwen3.5-0.8B");
  ASSERT_EQ(small.rows.size(), 7u);
  EXPECT_DOUBLE_EQ(figure(small, "sample", 2), .020);
  EXPECT_DOUBLE_EQ(figure(small, "CBS 0.25", 0), .480);
  EXPECT_DOUBLE_EQ(figure(of("", "qwen2.5-7b"), "CBS 0.7", 0), .640);
  EXPECT_DOUBLE_EQ(figure(of("", "Qwen/Qwen3.5-2B"), "beam search", 1), .560);
  EXPECT_DOUBLE_EQ(figure(of("table1", "deepseek-ai/deepseek-math-7b-instruct"), "power, tau 1", 2),
                   .303);
}

TEST(Published, PopulationAndContexts) {
  const std::pair<const char*, double> wide[] = {{"Qwen3.5-0.8B", .391},
                                                 {"Qwen2.5-7B", .600},
                                                 {"Qwen3.5-2B", .676},
                                                 {"deepseek-math-7b-instruct", .452}};
  for (const auto& [model, accuracy] : wide) {
    const PublishedTable table = of("population", model);
    ASSERT_EQ(table.rows.size(), 4u);
    EXPECT_DOUBLE_EQ(figure(table, "beam search, N = 24", 0), accuracy);
    EXPECT_FALSE(table.rows[1].values.at(1).has_value()) << "published for MATH500 only";
  }
  const PublishedTable contexts = of("contexts", "Qwen3.5-0.8B");
  ASSERT_EQ(contexts.rows.size(), 3u);
  EXPECT_DOUBLE_EQ(figure(contexts, "no contexts", 0), .398);
  EXPECT_DOUBLE_EQ(figure(contexts, "neutral contexts", 0), .380);
  EXPECT_DOUBLE_EQ(figure(contexts, "contrastive contexts", 0), .509);
  EXPECT_TRUE(of("contexts", "Qwen2.5-7B").rows.empty()) << "published for one model only";
}

TEST(Published, StatementsWithoutFigures) {
  EXPECT_NE(of("block-size", "Qwen2.5-7B").notes.at(0).find("peak at 32"), std::string::npos);
  EXPECT_NE(of("pass-at-k", "Qwen2.5-7B").notes.at(0).find("every k"), std::string::npos);
  EXPECT_NE(of("efficiency", "Qwen2.5-7B").notes.at(0).find("11 to 20 %"), std::string::npos);
  EXPECT_TRUE(of("table1", "Qwen2.5-7B").notes.empty());
  EXPECT_TRUE(of("efficiency", "tiny-dense").notes.empty());
  EXPECT_TRUE(of("efficiency", "Qwen2.5-7B", {"tiny-math"}).notes.empty());
}

TEST(Published, EveryRowOfAPresetIsMatchedToOurMethod) {
  for (const char* experiment : {"table1", "population", "contexts", "efficiency", "pass-at-k"})
    for (const PublishedTable::Row& row : of(experiment, "Qwen3.5-0.8B").rows)
      EXPECT_FALSE(row.method.empty()) << experiment << ": " << row.name;
  const PublishedTable spelled =
      published_figures("", "Qwen2.5-7B", kTasks, {"cbs:block=32:steer=.7", "cbs:steer=0.5"});
  EXPECT_EQ(spelled.rows.back().name, "CBS 0.7");
  EXPECT_EQ(spelled.rows.back().method, "cbs:block=32:steer=.7");
  EXPECT_EQ(spelled.rows.at(0).method, "");
}

TEST(Published, NothingForOtherModelsOrTasks) {
  EXPECT_TRUE(of("", "tiny-dense").rows.empty());
  EXPECT_TRUE(of("", "Qwen/Qwen2.5-7B", {"gsm8k"}).rows.empty());
  EXPECT_TRUE(of("", "Qwen/Qwen2.5-7B-Instruct").rows.empty());
  const PublishedTable part = of("", "Qwen/Qwen2.5-7B", {"gsm8k", "gpqa"});
  ASSERT_EQ(part.rows.size(), 7u);
  EXPECT_FALSE(part.rows[0].values.at(0).has_value());
  EXPECT_DOUBLE_EQ(part.rows[0].values.at(1).value(), .222);
}

}  // namespace
}  // namespace counterbeam
