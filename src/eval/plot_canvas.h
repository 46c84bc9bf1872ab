// The parts that charts are drawn from: an SVG canvas that knows the boxes of its texts, scales
// with ticks, and estimates of text widths. Used by eval/plot.cpp; other code draws by eval/plot.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace counterbeam {

// The width of every chart in units of its viewBox. It is small, so that texts stay legible where a
// chart is shrunk to a phone's width.
inline constexpr double kPlotWidth = 480;
inline constexpr double kPlotText = 12;   // font size of ticks, legends and labels
inline constexpr double kPlotTitle = 14;  // font size of the title

// A generous estimate of the width of a text in a sans-serif font. Boxes that do not overlap by
// this estimate do not overlap in common fonts.
double plot_text_width(std::string_view text, double size);

// The text, shortened with an ellipsis until it fits.
std::string plot_text_within(std::string_view text, double size, double width);

// The text in lines of at most `width`; a word that is too long is shortened.
std::vector<std::string> plot_text_lines(std::string_view text, double size, double width);

struct PlotBox {
  double left = 0, top = 0, right = 0, bottom = 0;
  bool overlaps(const PlotBox& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

enum class PlotAnchor { Start, Middle, End };

// The box of a text whose baseline starts, is centred or ends at x.
PlotBox plot_text_box(double x, double baseline, PlotAnchor anchor, double size,
                      std::string_view text);

// Colours are theme-aware: "ink" is the colour of the page's text (currentColor), "faint" the same
// at lower opacity, and a series has the CSS variable --plot-1, --plot-2, ... with a default that
// reads on light and on dark. Alone in a file, a chart has a background of its own.
struct PlotPaint {
  enum class Kind { Ink, Faint, Series } kind = Kind::Ink;
  std::size_t series = 0;
};

class PlotCanvas {
 public:
  PlotBox text(double x, double baseline, PlotAnchor anchor, std::string_view content,
               double size = kPlotText, PlotPaint paint = {});
  void line(double x1, double y1, double x2, double y2, PlotPaint paint, double width = 1,
            bool dashed = false);
  void path(const std::string& data, PlotPaint paint, double width);    // an open line
  void area(const std::string& data, PlotPaint paint, double opacity);  // a filled shape
  void rectangle(const PlotBox& box, PlotPaint paint, double opacity, std::string_view about = "");
  // A point; its shape changes with the series. A hollow one is a diamond in outline.
  void marker(double x, double y, PlotPaint paint, bool hollow, std::string_view about = "");

  // True if the box overlaps no text and no reserved box, and lies within `area`.
  bool is_free(const PlotBox& box, const PlotBox& area) const;
  void reserve(const PlotBox& box) { taken_.push_back(box); }

  // The whole file. `title` and `description` are read out by screen readers.
  std::string finish(double height, std::string_view title, std::string_view description) const;

 private:
  std::string body_;
  std::vector<PlotBox> taken_;
};

// Maps values to the unit interval.
struct PlotScale {
  double low = 0, high = 1;
  bool logarithmic = false;
  std::vector<double> ticks;
  std::vector<std::string> tick_texts;  // as many as ticks

  bool shows(double value) const;  // finite, and positive on a logarithmic scale
  double at(double value) const;   // 0 at low, 1 at high; values outside are clamped
};

struct PlotRange {
  const double* low = nullptr;  // fixed ends; null: from the values
  const double* high = nullptr;
  bool logarithmic = false;
};

// A scale that holds all values that it can show, with about `count` round ticks. Without values
// the scale is 0 to 1 (logarithmic: 1 to 10).
PlotScale make_plot_scale(const std::vector<double>& values, const PlotRange& range, int count);

// A number as a tick shows it, with the decimals that `step` needs.
std::string plot_number(double value, double step);

}  // namespace counterbeam
