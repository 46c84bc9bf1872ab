#include "eval/plot_frame.h"

#include <fmt/format.h>

#include <algorithm>

namespace counterbeam {
namespace {

constexpr double kMargin = 10, kRowHeight = 18, kPlotHeight = 230, kTickGap = 8;
constexpr PlotPaint kFaintPaint = {PlotPaint::Kind::Faint, 0};

void draw_mark(PlotCanvas& canvas, const LegendEntry& entry, double x, double y) {
  using Mark = LegendEntry::Mark;
  switch (entry.mark) {
    case Mark::Marker:
    case Mark::Hollow:
      canvas.marker(x + 10, y, entry.paint, entry.mark == Mark::Hollow);
      return;
    case Mark::Line:
      canvas.line(x, y, x + 20, y, entry.paint, 2);
      canvas.marker(x + 10, y, entry.paint, false);
      return;
    case Mark::Dashed:
      canvas.line(x, y, x + 20, y, entry.paint, 1.5, true);
      return;
    case Mark::Block:
      canvas.rectangle({x + 4, y - 5, x + 16, y + 5}, entry.paint, 0.8);
  }
}

}  // namespace

double draw_title(PlotCanvas& canvas, const std::string& title) {
  double baseline = 8;
  for (const std::string& line : plot_text_lines(title, kPlotTitle, kPlotWidth - 2 * kMargin))
    canvas.text(kMargin, baseline += kRowHeight, PlotAnchor::Start, line, kPlotTitle);
  return baseline + 6;
}

double draw_legend(PlotCanvas& canvas, const std::vector<LegendEntry>& entries, double top) {
  constexpr double kMark = 26, kGap = 14;
  double x = kMargin, baseline = top + kPlotText;
  for (const LegendEntry& entry : entries) {
    const std::string name =
        plot_text_within(entry.name, kPlotText, kPlotWidth - 2 * kMargin - kMark);
    const double width = kMark + plot_text_width(name, kPlotText);
    if (x > kMargin && x + width > kPlotWidth - kMargin) {
      x = kMargin;
      baseline += kRowHeight;
    }
    draw_mark(canvas, entry, x, baseline - 4);
    canvas.text(x + kMark, baseline, PlotAnchor::Start, name);
    x += width + kGap;
  }
  return entries.empty() ? top : baseline + kMargin;
}

std::string with_missing(const std::string& description, int missing) {
  if (missing == 0) return description;
  return fmt::format("{}{}{} not drawn, because {} not finite or not on the scale.", description,
                     description.empty() ? "" : " ",
                     missing == 1 ? "1 value is" : fmt::format("{} values are", missing),
                     missing == 1 ? "it is" : "they are");
}

PlotScale scale_of(const PlotAxis& axis, const std::vector<double>& values, int count) {
  PlotRange range = {axis.low ? &*axis.low : nullptr, axis.high ? &*axis.high : nullptr,
                     axis.logarithmic};
  PlotScale scale = make_plot_scale(values, range, count);
  if (axis.ticks.empty()) return scale;
  scale.ticks.clear();
  scale.tick_texts.clear();
  for (const double tick : axis.ticks) {
    if (!scale.shows(tick) || tick < scale.low || tick > scale.high) continue;
    scale.ticks.push_back(tick);
    scale.tick_texts.push_back(fmt::format("{:g}", tick));
  }
  return scale;
}

void draw_bottom_axis(PlotCanvas& canvas, const PlotBox& area, const PlotScale& scale,
                      const std::string& name) {
  canvas.line(area.left, area.bottom, area.right, area.bottom, {}, 1);
  double free_from = 0;
  for (std::size_t i = 0; i < scale.ticks.size(); ++i) {
    const double x = area.left + (area.right - area.left) * scale.at(scale.ticks[i]);
    const double half = plot_text_width(scale.tick_texts[i], kPlotText) / 2;
    if (x - half < free_from || x + half > kPlotWidth) continue;
    canvas.line(x, area.bottom, x, area.bottom + 4, {}, 1);
    canvas.text(x, area.bottom + 17, PlotAnchor::Middle, scale.tick_texts[i]);
    free_from = x + half + kTickGap;
  }
  const std::string fitted = plot_text_within(name, kPlotText, kPlotWidth - 2 * kMargin);
  const double half = plot_text_width(fitted, kPlotText) / 2;
  const double centre = std::clamp((area.left + area.right) / 2, kMargin + half,
                                   std::max(kMargin + half, kPlotWidth - kMargin - half));
  if (!fitted.empty()) canvas.text(centre, area.bottom + 36, PlotAnchor::Middle, fitted);
}

PlotFrame draw_axes(PlotCanvas& canvas, double top, const PlotAxis& x_axis, PlotScale x,
                    const PlotAxis& y_axis, PlotScale y) {
  PlotFrame frame;
  double widest = 0;
  for (const std::string& text : y.tick_texts)
    widest = std::max(widest, plot_text_width(text, kPlotText));
  if (!y_axis.name.empty())
    canvas.text(kMargin, top + 14, PlotAnchor::Start,
                plot_text_within(y_axis.name, kPlotText, kPlotWidth - 2 * kMargin));
  frame.area = {kMargin + widest + 8, top + 28, kPlotWidth - 2 * kMargin, top + 28 + kPlotHeight};
  frame.x = std::move(x);
  frame.y = std::move(y);
  double free_below = frame.area.bottom + kPlotText;
  for (std::size_t i = 0; i < frame.y.ticks.size(); ++i) {
    const double at = frame.up(frame.y.ticks[i]);
    if (at + 4 > free_below) continue;
    canvas.line(frame.area.left, at, frame.area.right, at, kFaintPaint, 0.6);
    canvas.text(frame.area.left - 6, at + 4, PlotAnchor::End, frame.y.tick_texts[i]);
    free_below = at - kPlotText;
  }
  draw_bottom_axis(canvas, frame.area, frame.x, x_axis.name);
  return frame;
}

double legend_top(const PlotFrame& frame) {
  return frame.area.bottom + 48;
}

void draw_no_data(PlotCanvas& canvas, const PlotBox& area) {
  canvas.text((area.left + area.right) / 2, (area.top + area.bottom) / 2, PlotAnchor::Middle,
              "no data");
}

}  // namespace counterbeam
