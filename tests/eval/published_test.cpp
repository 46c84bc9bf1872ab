// The paper's figures are shown for its models and tasks, and for no others.
#include "eval/published.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "eval/presets.h"
#include "search/method_strings.h"

namespace counterbeam {
namespace {

const std::vector<std::string> kTasks = {"math500", "humaneval", "gpqa"};

PublishedTable of(const std::string& experiment, const std::string& model,
                  const std::vector<std::string>& tasks = kTasks) {
  const auto methods = preset_named(experiment.empty() ? "table1" : experiment).methods;
  return published_figures({experiment, model, tasks, methods, {}});
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
  ASSERT_EQ(contexts.rows.size(), 5u) << "neutral and contrastive ones beside both strengths";
  EXPECT_DOUBLE_EQ(figure(contexts, "no contexts", 0), .398);
  EXPECT_DOUBLE_EQ(figure(contexts, "neutral contexts", 0), .380);
  EXPECT_DOUBLE_EQ(figure(contexts, "contrastive contexts", 0), .509);
  EXPECT_TRUE(of("contexts", "Qwen2.5-7B").rows.empty()) << "published for one model only";
}

bool says(const PublishedTable& table, const std::string& words) {
  for (const std::string& note : table.notes)
    if (note.find(words) != note.npos) return true;
  return false;
}

TEST(Published, StatementsStandBesideTheModelsAndTasksThatTheyAreAbout) {
  EXPECT_TRUE(says(of("block-size", "Qwen/Qwen3.5-0.8B"), "peak at 32"));
  for (const char* other : {"Qwen2.5-7B", "Qwen3.5-2B", "deepseek-math-7b-instruct", "tiny-dense"})
    EXPECT_FALSE(says(of("block-size", other), "peak at 32")) << other;
  EXPECT_FALSE(says(of("block-size", "Qwen3.5-0.8B", {"gsm8k"}), "peak at 32"));
  EXPECT_TRUE(says(of("contexts", "Qwen3.5-0.8B"), ".509"));
  EXPECT_FALSE(says(of("contexts", "Qwen3.5-0.8B", {"humaneval"}), ".509"));
  EXPECT_FALSE(says(of("contexts", "Qwen2.5-7B"), ".509"));
  EXPECT_TRUE(says(of("pass-at-k", "Qwen2.5-7B"), "every k"));
  EXPECT_TRUE(says(of("efficiency", "Qwen2.5-7B"), "11 to 20 %"));
  EXPECT_TRUE(says(of("pairs", "Qwen2.5-7B"), "ten pairs"));
  EXPECT_TRUE(of("table1", "Qwen2.5-7B").notes.empty());
  for (const Preset& preset : presets()) {
    const std::string name(preset.name);
    EXPECT_TRUE(of(name, "tiny-dense").notes.empty()) << name;
    EXPECT_TRUE(of(name, "Qwen2.5-7B-Instruct").notes.empty()) << name;
    EXPECT_TRUE(of(name, "Qwen2.5-7B", {"tiny-math"}).notes.empty()) << name;
  }
}

TEST(Published, EveryRowOfAPresetIsMatchedToOurMethod) {
  for (const char* experiment :
       {"table1", "population", "contexts", "efficiency", "pass-at-k", "pairs", "block-size"})
    for (const PublishedTable::Row& row : of(experiment, "Qwen3.5-0.8B").rows)
      EXPECT_FALSE(row.method.empty()) << experiment << ": " << row.name;
  const PublishedTable spelled =
      published_figures({"", "Qwen2.5-7B", kTasks, {"cbs:block=32:steer=.7", "cbs:steer=0.5"}, {}});
  EXPECT_EQ(spelled.rows.back().name, "CBS 0.7");
  EXPECT_EQ(spelled.rows.back().method, "cbs:block=32:steer=.7");
  EXPECT_EQ(spelled.rows.at(0).method, "");
}

TEST(Published, SettingsOfTheRunCountAndNotOnlyTheText) {
  PublishedQuery query = {"", "Qwen2.5-7B", kTasks, {"cbs:steer=0.7"}, {}};
  EXPECT_TRUE(published_figures(query).value("math500", "cbs:steer=0.7"));
  Json settings = to_json(parse_method("cbs:steer=0.7"));
  query.settings["cbs:steer=0.7"] = to_line(settings);
  EXPECT_TRUE(published_figures(query).value("math500", "cbs:steer=0.7"));
  settings["max-tokens"] = 512;  // by an option that all methods share
  query.settings["cbs:steer=0.7"] = to_line(settings);
  EXPECT_FALSE(published_figures(query).value("math500", "cbs:steer=0.7"));
}

TEST(Published, TheTerminalShowsOursBesideThePapers) {
  EvalSummary summary;
  summary.tasks = {{"math500", {}, {}, {}}};
  summary.tasks[0].methods.resize(1);
  summary.tasks[0].methods[0].method = "beam";
  summary.tasks[0].methods[0].accuracy = {.55, .51, .59};
  const PublishedTable table =
      published_figures(published_query(summary, "table1", "Qwen/Qwen2.5-7B"));
  const std::string text = to_table(table, summary);
  EXPECT_NE(text.find("math500, ours paper"), text.npos) << text;
  EXPECT_NE(text.find("beam search      0.550 [0.510,0.590] 0.570"), text.npos) << text;
  EXPECT_NE(text.find("CBS 0.7                            - 0.640"), text.npos) << text;
  const Json json = to_json(table);
  EXPECT_EQ(json["model"], "Qwen2.5-7B");
  EXPECT_EQ(json["rows"][2]["method"], "beam");
  EXPECT_EQ(to_table(published_figures(published_query(summary, "table1", "tiny-dense")), summary),
            "");
}

TEST(Published, NothingForOtherModelsOrTasks) {
  for (const char* other :
       {"tiny-dense", "", "Qwen2.5-7B-Instruct", "MyQwen2.5-7B", "Qwen2.5-7B-AWQ",
        "my/MyQwen2.5-7B", "Qwen2.5-7B/", "Qwen/Qwen2.5-7B-Base"})
    EXPECT_TRUE(of("", other).rows.empty()) << other;
  EXPECT_FALSE(of("", "QWEN/qwen2.5-7b").rows.empty());
  EXPECT_TRUE(of("", "Qwen/Qwen2.5-7B", {"gsm8k"}).rows.empty());
  EXPECT_TRUE(of("", "Qwen/Qwen2.5-7B-Instruct").rows.empty());
  const PublishedTable part = of("", "Qwen/Qwen2.5-7B", {"gsm8k", "gpqa"});
  ASSERT_EQ(part.rows.size(), 7u);
  EXPECT_FALSE(part.rows[0].values.at(0).has_value());
  EXPECT_DOUBLE_EQ(part.rows[0].values.at(1).value(), .222);
}

}  // namespace
}  // namespace counterbeam
