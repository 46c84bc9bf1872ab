// Horizontal bars and histograms.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "eval/plot.h"
#include "eval/plot_frame.h"

namespace counterbeam {
namespace {

constexpr double kBarHeight = 15, kGroupGap = 7, kNamesShare = 0.42;

bool has_interval(const BarSeries::Bar& bar) {
  return std::isfinite(bar.low) && std::isfinite(bar.high);
}

std::string bar_text(const BarSeries::Bar& bar) {
  if (!std::isfinite(bar.value)) return "";
  const double size = std::abs(bar.value);
  if (size == 0 || (size >= 0.001 && size < 1)) return fmt::format("{:.3f}", bar.value);
  return size < 1000 ? fmt::format("{:.3g}", bar.value) : fmt::format("{:.4g}", bar.value);
}

// The rows of one category. Figures of others stand in the row of the series before them.
struct BarChart {
  const BarPlot& plot;
  std::vector<PlotPaint> paints;
  std::vector<std::size_t> rows;  // by series
  std::size_t row_count = 0;
  PlotCanvas canvas;
  PlotScale scale;
  PlotBox area;
  int missing = 0, drawn = 0;

  explicit BarChart(const BarPlot& shown) : plot(shown), paints(paints_of(shown.series)) {
    for (const BarSeries& series : plot.series) {
      row_count += !series.published || row_count == 0;
      rows.push_back(row_count - 1);
    }
    row_count = std::max<std::size_t>(row_count, 1);
  }

  double across(double value) const {
    return area.left + (area.right - area.left) * scale.at(value);
  }
};

PlotScale value_scale(const BarPlot& plot) {
  std::vector<double> values;
  if (!plot.dots && !plot.value.logarithmic) values.push_back(0);
  for (const BarSeries& series : plot.series)
    for (const BarSeries::Bar& bar : series.bars)
      for (const double value : {bar.value, bar.low, bar.high}) values.push_back(value);
  for (const PlotReference& reference : plot.references) values.push_back(reference.value);
  return scale_of(plot.value, values, 5);
}

void draw_bar(BarChart& chart, std::size_t series, const BarSeries::Bar& bar, double top) {
  const BarSeries& one = chart.plot.series[series];
  const double middle = top + kBarHeight / 2, x = chart.across(bar.value);
  std::string about = fmt::format("{}: {}", one.name, bar_text(bar));
  if (has_interval(bar)) about += fmt::format(" [{:.3g}, {:.3g}]", bar.low, bar.high);
  const bool plain = !chart.plot.dots && !one.published;
  if (plain) {
    const double from = chart.scale.logarithmic ? chart.area.left : chart.across(0);
    chart.canvas.rectangle({std::min(from, x), top + 2, std::max(from, x), top + kBarHeight - 2},
                           chart.paints[series], 0.75, about);
  }
  if (has_interval(bar) && chart.scale.shows(bar.low) && chart.scale.shows(bar.high)) {
    const PlotPaint paint = plain ? PlotPaint{} : chart.paints[series];
    const double low = chart.across(bar.low), high = chart.across(bar.high);
    chart.canvas.line(low, middle, high, middle, paint, 1.4);
    for (const double end : {low, high})
      chart.canvas.line(end, middle - 3, end, middle + 3, paint, 1.4);
  }
  if (!plain) chart.canvas.marker(x, middle, chart.paints[series], one.published, about);
  ++chart.drawn;
}

void draw_category(BarChart& chart, std::size_t category, double top) {
  const double height = kBarHeight * static_cast<double>(chart.row_count);
  chart.canvas.text(
      chart.area.left - 6, top + height / 2 + 4, PlotAnchor::End,
      plot_text_within(chart.plot.categories[category], kPlotText, kPlotWidth * kNamesShare - 16));
  for (std::size_t i = 0; i < chart.plot.series.size(); ++i) {
    const BarSeries& series = chart.plot.series[i];
    if (category >= series.bars.size()) continue;
    const BarSeries::Bar& bar = series.bars[category];
    if (!chart.scale.shows(bar.value)) {
      chart.missing += !series.published;
      continue;
    }
    const double row = top + kBarHeight * static_cast<double>(chart.rows[i]);
    draw_bar(chart, i, bar, row);
    if (!series.published)
      chart.canvas.text(kPlotWidth - 6, row + kBarHeight / 2 + 4, PlotAnchor::End, bar_text(bar));
  }
}

std::vector<LegendEntry> bar_legend(const BarChart& chart) {
  std::vector<LegendEntry> legend;
  using Mark = LegendEntry::Mark;
  for (std::size_t i = 0; i < chart.plot.series.size(); ++i) {
    const BarSeries& series = chart.plot.series[i];
    const Mark mark = series.published  ? Mark::Hollow
                      : chart.plot.dots ? Mark::Marker
                                        : Mark::Block;
    if (!series.name.empty()) legend.push_back({series.name, chart.paints[i], mark});
  }
  return legend;
}

// Bins of equal width over the scale of the values.
std::vector<double> shares_in_bins(const std::vector<double>& values, const PlotScale& scale,
                                   std::size_t bins) {
  std::vector<double> shares(bins, 0);
  double count = 0;
  for (const double value : values) {
    if (!scale.shows(value)) continue;
    const auto bin = static_cast<std::size_t>(scale.at(value) * static_cast<double>(bins));
    ++shares[std::min(bin, bins - 1)];
    ++count;
  }
  for (double& share : shares) share /= std::max(count, 1.0);
  return shares;
}

}  // namespace

std::string bar_chart(const BarPlot& plot) {
  BarChart chart(plot);
  chart.scale = value_scale(plot);
  double names = 0, figures = plot_text_width("0.000", kPlotText);
  for (const std::string& category : plot.categories)
    names = std::max(names, plot_text_width(category, kPlotText) + 16);
  for (const BarSeries& series : plot.series)
    for (const BarSeries::Bar& bar : series.bars)
      figures = std::max(figures, plot_text_width(bar_text(bar), kPlotText));
  const double top = draw_title(chart.canvas, plot.title) + 6;
  const double group = kBarHeight * static_cast<double>(chart.row_count) + kGroupGap;
  const auto groups = static_cast<double>(std::max<std::size_t>(plot.categories.size(), 1));
  chart.area = {std::max(20.0, std::min(names, kPlotWidth * kNamesShare)), top,
                kPlotWidth - figures - 18, top + group * groups + 4};
  for (const double tick : chart.scale.ticks)
    chart.canvas.line(chart.across(tick), top, chart.across(tick), chart.area.bottom,
                      {PlotPaint::Kind::Faint, 0}, 0.6);
  draw_bottom_axis(chart.canvas, chart.area, chart.scale, plot.value.name);
  for (std::size_t i = 0; i < plot.categories.size(); ++i)
    draw_category(chart, i, top + 4 + group * static_cast<double>(i));
  std::vector<LegendEntry> legend = bar_legend(chart);
  for (const PlotReference& reference : plot.references) {
    if (!chart.scale.shows(reference.value)) continue;
    const double x = chart.across(reference.value);
    chart.canvas.line(x, top, x, chart.area.bottom, {}, 1.2, true);
    legend.push_back({reference.name, {}, LegendEntry::Mark::Dashed});
  }
  if (chart.drawn == 0) draw_no_data(chart.canvas, chart.area);
  const double bottom = draw_legend(chart.canvas, legend, chart.area.bottom + 48);
  return chart.canvas.finish(bottom + 4, plot.title, with_missing(plot.description, chart.missing));
}

std::string histogram_chart(const HistogramPlot& plot) {
  std::vector<double> values;
  std::size_t most = 0;
  int missing = 0;
  for (const HistogramSeries& series : plot.series) {
    values.insert(values.end(), series.values.begin(), series.values.end());
    most = std::max(most, series.values.size());
  }
  for (const double value : values)
    missing += !std::isfinite(value) || (plot.x.logarithmic && value <= 0);
  for (const PlotReference& reference : plot.references) values.push_back(reference.value);
  const PlotScale x = scale_of(plot.x, values, 6);
  const std::size_t bins =
      plot.bins > 0
          ? static_cast<std::size_t>(plot.bins)
          : std::clamp<std::size_t>(
                static_cast<std::size_t>(2 * std::cbrt(static_cast<double>(most))), 5, 40);
  std::vector<std::vector<double>> shares;
  std::vector<double> heights = {0};
  for (const HistogramSeries& series : plot.series) {
    shares.push_back(shares_in_bins(series.values, x, bins));
    heights.insert(heights.end(), shares.back().begin(), shares.back().end());
  }
  const PlotAxis y = {.name = "share of values", .low = 0.0, .high = {}};
  PlotCanvas canvas;
  const double top = draw_title(canvas, plot.title);
  const PlotFrame frame = draw_axes(canvas, top, plot.x, x, y, scale_of(y, heights, 5));
  std::vector<LegendEntry> legend;
  const double width = (frame.area.right - frame.area.left) / static_cast<double>(bins);
  bool any = false;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const PlotPaint paint = {PlotPaint::Kind::Series, i};
    for (std::size_t bin = 0; bin < bins; ++bin) {
      if (shares[i][bin] == 0) continue;
      any = true;
      const double left = frame.area.left + width * static_cast<double>(bin);
      canvas.rectangle(
          {left + 0.5, frame.up(shares[i][bin]), left + width - 0.5, frame.area.bottom}, paint,
          plot.series.size() == 1 ? 0.75 : 0.5,
          fmt::format("{}: {:.3f}", plot.series[i].name, shares[i][bin]));
    }
    if (!plot.series[i].name.empty())
      legend.push_back({plot.series[i].name, paint, LegendEntry::Mark::Block});
  }
  for (const PlotReference& reference : plot.references) {
    if (!frame.x.shows(reference.value)) continue;
    const double at = frame.across(reference.value);
    canvas.line(at, frame.area.top, at, frame.area.bottom, {}, 1.2, true);
    legend.push_back({reference.name, {}, LegendEntry::Mark::Dashed});
  }
  if (!any) draw_no_data(canvas, frame.area);
  const double bottom = draw_legend(canvas, legend, legend_top(frame));
  return canvas.finish(bottom + 4, plot.title, with_missing(plot.description, missing));
}

}  // namespace counterbeam
