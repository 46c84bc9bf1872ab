#include "eval/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "eval/plot_frame.h"

namespace counterbeam {
namespace {

constexpr PlotPaint kInkPaint = {};

std::string values_text(double x, const PlotPoint& point) {
  std::string text = fmt::format("{:g}: {:.4g}", x, point.y);
  if (std::isfinite(point.low) && std::isfinite(point.high))
    text += fmt::format(" [{:.4g}, {:.4g}]", point.low, point.high);
  return text;
}

struct XyChart {
  PlotCanvas canvas;
  PlotFrame frame;
  int missing = 0;
  int drawn = 0;

  bool shows(const PlotPoint& point) const {
    return frame.x.shows(point.x) && frame.y.shows(point.y);
  }
};

XyChart start_chart(const Plot& plot) {
  XyChart chart;
  std::vector<double> xs, ys;
  for (const PlotSeries& series : plot.series)
    for (const PlotPoint& point : series.points) {
      xs.push_back(point.x);
      for (const double y : {point.y, point.low, point.high}) ys.push_back(y);
    }
  for (const PlotReference& reference : plot.references) ys.push_back(reference.value);
  const double top = draw_title(chart.canvas, plot.title);
  chart.frame = draw_axes(chart.canvas, top, plot.x, scale_of(plot.x, xs, 6), plot.y,
                          scale_of(plot.y, ys, 5));
  for (const PlotSeries& series : plot.series)
    for (const PlotPoint& point : series.points)
      ++(chart.shows(point) ? chart.drawn : chart.missing);
  if (chart.drawn == 0) draw_no_data(chart.canvas, chart.frame.area);
  return chart;
}

void draw_error_bar(XyChart& chart, const PlotPoint& point, PlotPaint paint) {
  if (!chart.frame.y.shows(point.low) || !chart.frame.y.shows(point.high)) return;
  const double x = chart.frame.across(point.x);
  const double low = chart.frame.up(point.low), high = chart.frame.up(point.high);
  chart.canvas.line(x, low, x, high, paint, 1.5);
  for (const double end : {low, high}) chart.canvas.line(x - 4, end, x + 4, end, paint, 1.5);
}

void draw_band(XyChart& chart, const PlotSeries& series, PlotPaint paint) {
  std::string forth, back;
  for (const PlotPoint& point : series.points) {
    if (!chart.shows(point) || !chart.frame.y.shows(point.low) || !chart.frame.y.shows(point.high))
      continue;
    const double x = chart.frame.across(point.x);
    forth +=
        fmt::format("{}{:.1f} {:.1f}", forth.empty() ? "M" : "L", x, chart.frame.up(point.high));
    back = fmt::format("L{:.1f} {:.1f}", x, chart.frame.up(point.low)) + back;
  }
  if (!forth.empty()) chart.canvas.area(forth + back + "Z", paint, 0.15);
}

void draw_line(XyChart& chart, const PlotSeries& series, PlotPaint paint) {
  std::string data;
  bool pen_down = false;  // a point that is not drawn interrupts the line
  for (const PlotPoint& point : series.points) {
    const bool shown = chart.shows(point);
    if (shown)
      data += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", chart.frame.across(point.x),
                          chart.frame.up(point.y));
    pen_down = shown;
  }
  if (!data.empty() && !series.published) chart.canvas.path(data, paint, 2);
}

void draw_points(XyChart& chart, const PlotSeries& series, PlotPaint paint) {
  for (const PlotPoint& point : series.points)
    if (chart.shows(point))
      chart.canvas.marker(chart.frame.across(point.x), chart.frame.up(point.y), paint,
                          series.published, series.name + ", " + values_text(point.x, point));
}

void draw_references(XyChart& chart, const std::vector<PlotReference>& references,
                     std::vector<LegendEntry>& legend) {
  for (const PlotReference& reference : references) {
    if (!chart.frame.y.shows(reference.value)) continue;
    const double y = chart.frame.up(reference.value);
    chart.canvas.line(chart.frame.area.left, y, chart.frame.area.right, y, kInkPaint, 1.2, true);
    legend.push_back({reference.name, kInkPaint, LegendEntry::Mark::Dashed});
  }
}

std::string finish_chart(XyChart& chart, const Plot& plot, const std::vector<LegendEntry>& legend) {
  const double bottom = draw_legend(chart.canvas, legend, legend_top(chart.frame));
  return chart.canvas.finish(bottom + 4, plot.title, with_missing(plot.description, chart.missing));
}

// Tries places around the point, near ones first. False if the label fits nowhere.
bool place_label(XyChart& chart, const PlotPoint& point, const std::string& name, PlotPaint paint) {
  const double x = chart.frame.across(point.x), y = chart.frame.up(point.y);
  const PlotBox area = {chart.frame.area.left, chart.frame.area.top, kPlotWidth - 2,
                        chart.frame.area.bottom - 2};
  for (const double away : {9.0, 18.0, 30.0})
    for (const auto& [dx, dy] : {std::pair{1.0, 0.0},
                                 {-1.0, 0.0},
                                 {0.0, -1.0},
                                 {0.0, 1.0},
                                 {1.0, -1.0},
                                 {1.0, 1.0},
                                 {-1.0, -1.0},
                                 {-1.0, 1.0}}) {
      const PlotAnchor anchor = dx > 0   ? PlotAnchor::Start
                                : dx < 0 ? PlotAnchor::End
                                         : PlotAnchor::Middle;
      const double tx = x + dx * away, ty = y + dy * (away + 2) + 4;
      if (!chart.canvas.is_free(plot_text_box(tx, ty, anchor, kPlotText, name), area)) continue;
      const PlotBox leader = {std::min(x + dx * 6, tx), std::min(y + dy * 6, y + dy * away) - 1,
                              std::max(x + dx * 6, tx), std::max(y + dy * 6, y + dy * away) + 1};
      if (away > 10 && !chart.canvas.is_free(leader, area)) continue;
      if (away > 10) chart.canvas.line(x + dx * 5, y + dy * 5, tx, y + dy * away, paint, 0.8);
      chart.canvas.text(tx, ty, anchor, name);
      return true;
    }
  return false;
}

}  // namespace

std::string line_chart(const Plot& plot, PlotIntervals intervals) {
  XyChart chart = start_chart(plot);
  const std::vector<PlotPaint> paints = paints_of(plot.series);
  std::vector<LegendEntry> legend;
  if (intervals == PlotIntervals::Bands)
    for (std::size_t i = 0; i < plot.series.size(); ++i)
      draw_band(chart, plot.series[i], paints[i]);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const PlotSeries& series = plot.series[i];
    draw_line(chart, series, paints[i]);
    if (intervals == PlotIntervals::Bars)
      for (const PlotPoint& point : series.points)
        if (chart.shows(point)) draw_error_bar(chart, point, paints[i]);
    draw_points(chart, series, paints[i]);
    legend.push_back({series.name, paints[i],
                      series.published ? LegendEntry::Mark::Hollow : LegendEntry::Mark::Line});
  }
  draw_references(chart, plot.references, legend);
  return finish_chart(chart, plot, legend);
}

std::string scatter_chart(const Plot& plot) {
  XyChart chart = start_chart(plot);
  const std::vector<PlotPaint> paints = paints_of(plot.series);
  std::vector<LegendEntry> legend;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    for (const PlotPoint& point : plot.series[i].points) {
      if (!chart.shows(point)) continue;
      draw_error_bar(chart, point, paints[i]);
      const double x = chart.frame.across(point.x), y = chart.frame.up(point.y);
      chart.canvas.reserve({x - 5, y - 5, x + 5, y + 5});
      if (chart.frame.y.shows(point.low) && chart.frame.y.shows(point.high))
        chart.canvas.reserve({x - 4, chart.frame.up(point.high), x + 4, chart.frame.up(point.low)});
    }
    draw_points(chart, plot.series[i], paints[i]);
  }
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const PlotSeries& series = plot.series[i];
    const bool labelled = series.points.size() == 1 && chart.shows(series.points[0]) &&
                          place_label(chart, series.points[0], series.name, paints[i]);
    if (!labelled)
      legend.push_back({series.name, paints[i],
                        series.published ? LegendEntry::Mark::Hollow : LegendEntry::Mark::Marker});
  }
  draw_references(chart, plot.references, legend);
  return finish_chart(chart, plot, legend);
}

}  // namespace counterbeam
