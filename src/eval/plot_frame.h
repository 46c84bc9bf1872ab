// What all charts share: the title above, the legend below, and the two axes of a plot.
#pragma once

#include <string>
#include <vector>

#include "eval/plot.h"
#include "eval/plot_canvas.h"

namespace counterbeam {

struct LegendEntry {
  std::string name = {};
  PlotPaint paint = {};
  enum class Mark { Marker, Hollow, Line, Dashed, Block } mark = Mark::Marker;
};

// The colour of each series: figures of others share that of the series before them.
template <typename Series>
std::vector<PlotPaint> paints_of(const std::vector<Series>& series) {
  std::vector<PlotPaint> paints;
  std::size_t next = 0;
  for (const Series& one : series) {
    const bool shares = one.published && next > 0;
    paints.push_back({PlotPaint::Kind::Series, shares ? next - 1 : next});
    next += !shares;
  }
  return paints;
}

// Draws the title; returns the y below it.
double draw_title(PlotCanvas& canvas, const std::string& title);

// Draws the entries in rows from `top` on; returns the y below them.
double draw_legend(PlotCanvas& canvas, const std::vector<LegendEntry>& entries, double top);

// "DESCRIPTION 3 values are not drawn, because they are not finite."
std::string with_missing(const std::string& description, int missing);

// The area between two axes.
struct PlotFrame {
  PlotBox area;
  PlotScale x, y;
  double across(double value) const { return area.left + (area.right - area.left) * x.at(value); }
  double up(double value) const { return area.bottom - (area.bottom - area.top) * y.at(value); }
};

PlotScale scale_of(const PlotAxis& axis, const std::vector<double>& values, int count);

// Draws names, grid and ticks of both axes from `top` on; y is named above its axis. The legend
// starts at legend_top(frame).
PlotFrame draw_axes(PlotCanvas& canvas, double top, const PlotAxis& x_axis, PlotScale x,
                    const PlotAxis& y_axis, PlotScale y);
double legend_top(const PlotFrame& frame);

// The ticks along the bottom and the name of the axis below them.
void draw_bottom_axis(PlotCanvas& canvas, const PlotBox& area, const PlotScale& scale,
                      const std::string& name);

void draw_no_data(PlotCanvas& canvas, const PlotBox& area);

}  // namespace counterbeam
