// Charts as SVG: lines, points, horizontal bars, histograms. A chart scales to any width from 390
// pixels on, takes its colours from the page it stands in, and reads as a file of its own too.
// Texts never overlap: legends flow in rows below the plot, labels of points are placed where there
// is room, and ticks that would touch are left out. Values that are not finite are not drawn, and
// the description of the chart says how many; a chart without any value says so.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace counterbeam {

inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

struct PlotAxis {
  std::string name = {};
  bool logarithmic = false;                   // values that are not positive are not drawn
  std::optional<double> low = {}, high = {};  // ends; otherwise from the values
  std::vector<double> ticks = {};             // otherwise round numbers
};

// A value with its interval; low and high stay kNoValue where there is none.
struct PlotPoint {
  double x = 0, y = 0;
  double low = kNoValue, high = kNoValue;  // of y
};

struct PlotSeries {
  std::string name = {};
  std::vector<PlotPoint> points = {};
  bool published = false;  // figures of others, drawn as hollow diamonds in the colour before it
};

// A dashed line across the plot.
struct PlotReference {
  std::string name = {};
  double value = 0;  // of y; of the value in bars and histograms
};

struct Plot {
  std::string title = {};
  std::string description = {};  // a sentence or two for those who cannot see the chart
  PlotAxis x = {}, y = {};
  std::vector<PlotSeries> series = {};
  std::vector<PlotReference> references = {};
};

enum class PlotIntervals { Bars, Bands };

// The points of each series, joined in the order given.
std::string line_chart(const Plot& plot, PlotIntervals intervals = PlotIntervals::Bars);

// Points without lines. A series of one point is labelled at the point where there is room for the
// label, otherwise in the legend.
std::string scatter_chart(const Plot& plot);

struct BarSeries {
  struct Bar {
    double value = kNoValue, low = kNoValue, high = kNoValue;
  };
  std::string name = {};
  std::vector<Bar> bars = {};  // one per category; missing ones are left out
  bool published = false;      // figures of others: a hollow diamond beside the bar before it
};

struct BarPlot {
  std::string title = {}, description = {};
  PlotAxis value = {};
  std::vector<std::string> categories = {};
  std::vector<BarSeries> series = {};
  std::vector<PlotReference> references = {};
  bool dots = false;  // points with intervals instead of bars: no bar has to start at zero
};

// Horizontal bars, grouped by category, with the value in figures at the end of the row.
std::string bar_chart(const BarPlot& plot);

struct HistogramSeries {
  std::string name = {};
  std::vector<double> values = {};
};

struct HistogramPlot {
  std::string title = {}, description = {};
  PlotAxis x = {};
  std::vector<HistogramSeries> series = {};    // each as shares of its own values
  std::vector<PlotReference> references = {};  // vertical
  int bins = 0;                                // 0: by the number of values, 5 to 40
};

std::string histogram_chart(const HistogramPlot& plot);

}  // namespace counterbeam
