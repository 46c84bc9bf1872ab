// Every experiment draws the paper's figure, with the paper's figures where there are any.
#include "eval/figures.h"

#include <gtest/gtest.h>

#include "eval/method_labels.h"
#include "eval/presets.h"

namespace counterbeam {
namespace {

EvalSummary summary_of(const Preset& preset, const std::vector<std::string>& tasks) {
  EvalSummary summary;
  for (const std::string& task : tasks) {
    summary.tasks.push_back({task, {}, {}, {}});
    double accuracy = 0.3;
    for (const std::string& method : preset.methods) {
      MethodSummary& one = summary.tasks.back().methods.emplace_back();
      one.method = method;
      accuracy += 0.01;
      one.accuracy = {accuracy, accuracy - 0.05, accuracy + 0.05};
      for (int k = 1; k <= preset.samples; ++k) {
        const double pass = accuracy + 0.05 * (k - 1);
        one.pass_at.push_back({pass, pass - 0.05, pass + 0.05});
      }
      one.generated_tokens = 100 / accuracy;
      one.seconds = 2;
    }
  }
  return summary;
}

std::vector<Figure> drawn(const std::string& experiment, const std::string& model,
                          const std::vector<std::string>& tasks) {
  const EvalSummary summary = summary_of(preset_named(experiment), tasks);
  return figures_of(experiment, summary,
                    published_figures(published_query(summary, experiment, model)));
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

TEST(Figures, EveryExperimentHasFiguresForEveryTask) {
  for (const Preset& preset : presets()) {
    const std::string name(preset.name);
    const auto figures = drawn(name, "tiny-dense", {"tiny-math", "tiny-code"});
    std::string all;
    for (const Figure& figure : figures) {
      EXPECT_FALSE(figure.title.empty());
      EXPECT_TRUE(contains(figure.svg, "</svg>")) << figure.name;
      EXPECT_FALSE(contains(figure.svg, "no data")) << figure.name;
      EXPECT_FALSE(contains(figure.svg, "the paper")) << figure.name;
      EXPECT_EQ(figure.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-."),
                std::string::npos);
      all += figure.svg;
    }
    EXPECT_TRUE(contains(all, "tiny-math") && contains(all, "tiny-code")) << name;
  }
}

TEST(Figures, ThePapersFiguresAreDrawnForItsModels) {
  for (const char* name : {"table1", "population", "block-size", "pass-at-k", "pairs"})
    EXPECT_TRUE(contains(drawn(name, "Qwen/Qwen2.5-7B", {"math500"})[0].svg, "the paper")) << name;
  EXPECT_TRUE(contains(drawn("contexts", "Qwen3.5-0.8B", {"math500"})[0].svg, "the paper"));
  EXPECT_FALSE(contains(drawn("contexts", "Qwen2.5-7B", {"math500"})[0].svg, "the paper"));
}

TEST(Figures, PairsHaveTenBarsPerStrengthAndADashedBaseline) {
  const std::string svg = drawn("pairs", "tiny-dense", {"tiny-math"})[0].svg;
  for (const char* text : {"1/alpha 0.25", "1/alpha 0.7", "step-verification", ">beam<"})
    EXPECT_TRUE(contains(svg, text)) << text;
  std::size_t bars = 0, at = 0;
  while ((at = svg.find("1/alpha 0.7: ", at)) != svg.npos) ++bars, ++at;
  EXPECT_EQ(bars, 10u);
  EXPECT_TRUE(contains(svg, "stroke-dasharray"));
}

TEST(Figures, EfficiencyHasTokensAndSecondsWhereTheyWereMeasured) {
  EXPECT_EQ(drawn("efficiency", "tiny-dense", {"tiny-math"}).size(), 3u);
  EvalSummary summary = summary_of(preset_named("efficiency"), {"tiny-math"});
  for (MethodSummary& method : summary.tasks[0].methods) method.seconds = 0;
  EXPECT_EQ(figures_of("efficiency", summary, {}).size(), 2u);
}

TEST(MethodLabels, DropWhatAllMethodsShare) {
  const std::vector<std::string> methods = {"sample", "power:temperature=0.25:draws=8",
                                            "power:temperature=1:draws=8", "cbs:steer=0.7:block=16",
                                            "beam"};
  EXPECT_EQ(method_labels(methods),
            (std::vector<std::string>{"sample", "power:temperature=0.25", "power:temperature=1",
                                      "cbs:steer=0.7:block=16", "beam"}));
  const std::vector<std::string> own = {"cbs:positive=\"a: b, \\\" c\":steer=1",
                                        "cbs:positive=\"d: e\":steer=1", "cbs"};
  EXPECT_EQ(method_labels(own), own);
}

TEST(MethodLabels, AreWordsInCharts) {
  EXPECT_EQ(method_words({"sample", "power:temperature=1:draws=8", "power:temperature=0.25:draws=8",
                          "cbs:steer=0.25:contexts=neutral", "cbs:steer=0.7", "cbs:contexts=none",
                          "cbs:block=16", "cbs:positive=\"a: b\":negative=c"}),
            (std::vector<std::string>{"sample", "power temperature 1", "power temperature 0.25",
                                      "cbs 0.25 neutral", "cbs 0.7", "cbs none", "cbs block 16",
                                      "cbs positive a: b negative c"}));
  const std::vector<std::string> alike = {"cbs:contexts=x", "cbs:policy=x"};
  EXPECT_EQ(method_words(alike), alike) << "names stay as different as the methods";
}

}  // namespace
}  // namespace counterbeam
