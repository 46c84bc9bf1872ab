// Charts are well-formed XML whose texts do not overlap, whatever the values and names are.
#include "eval/plot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "eval/plot_canvas.h"

namespace counterbeam {
namespace {

std::string unescaped(std::string text) {
  for (const auto& [entity, character] :
       {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&amp;", "&"}})
    for (std::size_t at = 0; (at = text.find(entity, at)) != text.npos; ++at)
      text.replace(at, std::string(entity).size(), character);
  return text;
}

// Checks that tags match, attributes are quoted and nothing stands unescaped.
void expect_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  std::size_t at = 0;
  while ((at = svg.find('<', at)) != svg.npos) {
    const std::size_t end = svg.find('>', at);
    ASSERT_NE(end, svg.npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    ASSERT_EQ(tag.find('<'), tag.npos) << tag;
    EXPECT_EQ(std::count(tag.begin(), tag.end(), '"') % 2, 0) << tag;
    const std::string name = tag.substr(tag[0] == '/', tag.find(' ') - (tag[0] == '/'));
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), name);
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end;
  }
  EXPECT_TRUE(open.empty());
  EXPECT_FALSE(std::regex_search(svg, std::regex("&(?!(amp|lt|gt|quot);)")));
  EXPECT_EQ(svg.find("nan"), svg.npos) << svg;
  EXPECT_EQ(svg.find("inf"), svg.npos) << svg;
}

struct Label {
  std::string text;
  PlotBox box;
};

std::vector<Label> labels_of(const std::string& svg) {
  static const std::regex kText(
      "<text x=\"([-0-9.]+)\" y=\"([-0-9.]+)\" text-anchor=\"(\\w+)\" font-size=\"([0-9.]+)\" "
      "[^>]*>([^<]*)</text>");
  std::vector<Label> labels;
  for (std::sregex_iterator match(svg.begin(), svg.end(), kText), end; match != end; ++match) {
    const std::string anchor = (*match)[3], text = unescaped((*match)[5]);
    labels.push_back({text, plot_text_box(std::stod((*match)[1]), std::stod((*match)[2]),
                                          anchor == "start"    ? PlotAnchor::Start
                                          : anchor == "middle" ? PlotAnchor::Middle
                                                               : PlotAnchor::End,
                                          std::stod((*match)[4]), text)});
  }
  return labels;
}

void expect_readable(const std::string& svg) {
  expect_well_formed(svg);
  std::smatch size;
  ASSERT_TRUE(std::regex_search(svg, size, std::regex("viewBox=\"0 0 (\\d+) (\\d+)\"")));
  const PlotBox page = {0, 0, std::stod(size[1]), std::stod(size[2])};
  const std::vector<Label> labels = labels_of(svg);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const PlotBox& box = labels[i].box;
    EXPECT_TRUE(box.left >= -1 && box.top >= 0 && box.right <= page.right + 1 &&
                box.bottom <= page.bottom)
        << labels[i].text << " leaves the chart";
    for (std::size_t j = i + 1; j < labels.size(); ++j)
      EXPECT_FALSE(box.overlaps(labels[j].box))
          << "\"" << labels[i].text << "\" and \"" << labels[j].text << "\" overlap";
  }
}

Plot accuracy_over_blocks() {
  Plot plot = {
      .title = "Accuracy over the block size",
      .description = "CBS.",
      .x = {.name = "tokens of a block", .logarithmic = true, .ticks = {8, 16, 32, 64, 128}},
      .y = {.name = "accuracy"}};
  plot.series = {{"tiny-math",
                  {{8, .4, .3, .5},
                   {16, .45, .4, .5},
                   {32, .5, .4, .6},
                   {64, .48, .4, .55},
                   {128, .3, .2, .4}}},
                 {"tiny-choice", {{8, .1}, {32, .15}, {128, .12}}},
                 {"paper", {{32, .48}}, true}};
  plot.references = {{"beam search", .42}};
  return plot;
}

TEST(Plot, LinesWithIntervalsAndAReference) {
  for (const PlotIntervals intervals : {PlotIntervals::Bars, PlotIntervals::Bands}) {
    const std::string svg = line_chart(accuracy_over_blocks(), intervals);
    expect_readable(svg);
    for (const char* text : {"tiny-math", "beam search", ">8<", ">128<", "accuracy", "<desc>CBS.",
                             "stroke-dasharray", "var(--plot-1,", "currentColor"})
      EXPECT_NE(svg.find(text), svg.npos) << text;
  }
}

TEST(Plot, HostileTextsAreEscaped) {
  Plot plot = accuracy_over_blocks();
  plot.title = "a < b & \"c\" </svg><script>alert(1)</script> \x01 \xff \xe6\x97\xa5";
  plot.description = plot.x.name = plot.y.name = plot.title;
  plot.series[0].name = plot.title;
  plot.references[0].name = plot.title;
  const std::string svg = line_chart(plot);
  expect_readable(svg);
  EXPECT_EQ(svg.find("<script"), svg.npos);
  EXPECT_EQ(svg.find('\x01'), svg.npos);
}

TEST(Plot, EmptyOnePointAndNotANumber) {
  Plot plot = {.title = "t", .x = {.name = "x"}, .y = {.name = "y"}};
  expect_readable(line_chart(plot));
  EXPECT_NE(line_chart(plot).find("no data"), std::string::npos);
  plot.series = {{"one", {{3, 7}}}};
  expect_readable(line_chart(plot));
  expect_readable(scatter_chart(plot));
  plot.series = {{"none", {{kNoValue, 1}, {1, kNoValue}, {INFINITY, -INFINITY}}}};
  expect_readable(scatter_chart(plot));
  EXPECT_NE(scatter_chart(plot).find("3 values are not drawn"), std::string::npos);
  EXPECT_NE(scatter_chart(plot).find("no data"), std::string::npos);
  expect_readable(bar_chart({}));
  expect_readable(bar_chart({.title = "b", .categories = {"c"}, .series = {{"s", {{kNoValue}}}}}));
  expect_readable(histogram_chart({}));
  expect_readable(histogram_chart({.title = "h", .series = {{"s", {1}}, {"n", {kNoValue}}}}));
}

TEST(Plot, AnyRangeHasTicks) {
  const std::vector<std::pair<double, double>> ranges = {
      {0, 1},         {-1e308, 1e308}, {1e-300, 1e300}, {0, 0},       {5, 5},
      {1e9, 1e9 + 1}, {-3e-7, 4e-7},   {-1e-300, 0},    {1e15, 3e15}, {-1e9, -1e9 + 1e-6}};
  for (const auto& [low, high] : ranges)
    for (const bool logarithmic : {false, true}) {
      Plot plot = {.title = "t",
                   .x = {.name = "x", .logarithmic = logarithmic},
                   .y = {.name = "y", .logarithmic = logarithmic},
                   .series = {{"s", {{low, low}, {high, high}}}}};
      SCOPED_TRACE(testing::Message() << low << " to " << high << " log " << logarithmic);
      expect_readable(line_chart(plot));
      EXPECT_GE(labels_of(line_chart(plot)).size(), 5u);
      expect_readable(bar_chart({.title = "b",
                                 .value = {.name = "v", .logarithmic = logarithmic},
                                 .categories = {"a", "b"},
                                 .series = {{"s", {{low}, {high}}}}}));
      expect_readable(histogram_chart({.title = "h", .series = {{"s", {low, high}}}}));
    }
}

TEST(Plot, TicksAreRound) {
  const PlotScale scale = make_plot_scale({.13, .88}, {}, 5);
  EXPECT_EQ(scale.tick_texts, (std::vector<std::string>{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  const PlotScale tokens = make_plot_scale({0, 43000}, {}, 5);
  EXPECT_EQ(tokens.tick_texts.back(), "50000");
  EXPECT_EQ(plot_number(2.5e6, 5e5), "2.5e6");
  EXPECT_EQ(plot_number(-0.0, 0.1), "0");
}

TEST(Plot, LabelsOfCrowdedPointsMoveOrGoToTheLegend) {
  Plot plot = {.title = "Accuracy and tokens", .x = {.name = "tokens"}, .y = {.name = "accuracy"}};
  for (int i = 0; i < 21; ++i)
    plot.series.push_back(
        {"cbs:steer=0.25:block=" + std::to_string(i), {{1000.0 + i, 0.5 + 0.0005 * i, 0.4, 0.6}}});
  const std::string svg = scatter_chart(plot);
  expect_readable(svg);
  for (const PlotSeries& series : plot.series)
    EXPECT_NE(svg.find(">" + series.name + "</text>"), svg.npos) << series.name;
}

TEST(Plot, BarsOfTenPairsWithABaseline) {
  BarPlot plot = {.title = "Ten pairs", .value = {.name = "accuracy", .low = 0.0}};
  BarSeries weak = {"1/alpha 0.25", {}}, strong = {"1/alpha 0.7", {}}, paper = {"paper", {}, true};
  for (int i = 0; i < 10; ++i) {
    plot.categories.push_back("a pair with a name that is much too long " + std::to_string(i));
    weak.bars.push_back({.3 + .02 * i, .25 + .02 * i, .4 + .02 * i});
    strong.bars.push_back({.35, kNoValue, kNoValue});
    paper.bars.push_back({i % 2 ? kNoValue : .41});
  }
  plot.series = {weak, strong, paper};
  plot.references = {{"beam search", .42}};
  for (const bool dots : {false, true}) {
    plot.dots = dots;
    const std::string svg = bar_chart(plot);
    expect_readable(svg);
    EXPECT_NE(svg.find("stroke-dasharray"), svg.npos);
    EXPECT_EQ(svg.find("not drawn"), svg.npos) << "a figure that nobody published is not missing";
  }
}

TEST(Plot, HistogramShowsSharesOfEachSeries) {
  HistogramPlot plot = {.title = "Reward", .x = {.name = "nats"}};
  plot.series = {{"right", {}}, {"wrong", {}}};
  for (int i = 0; i < 1000; ++i) {
    plot.series[0].values.push_back(std::sin(i) * 3);
    if (i % 10 == 0) plot.series[1].values.push_back(std::cos(i));
  }
  plot.references = {{"r_max", 3.2}};
  expect_readable(histogram_chart(plot));
  plot.bins = 1;
  EXPECT_NE(histogram_chart(plot).find("right: 1.000"), std::string::npos);
}

}  // namespace
}  // namespace counterbeam
