#include "eval/plot_canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/utf8.h"

namespace counterbeam {
namespace {

constexpr std::string_view kEllipsis = "\u2026";
constexpr double kBaselineShare = 0.8;  // of a line's height above its baseline

// Default colours of series: at least 3:1 against white and against #15181c.
constexpr std::array<std::string_view, 8> kSeriesColours = {
    "#3b82f6", "#d97706", "#16a34a", "#a855f7", "#ef4444", "#0d9488", "#db2777", "#8a8178"};

double char_width(char32_t c) {  // in units of the font size; of the wider common fonts
  if (c == ' ') return 0.36;
  if (c < 0x80) {
    const auto one_of = [&](std::string_view set) {
      return set.find(static_cast<char>(c)) != set.npos;
    };
    if (one_of("ijlI.,:;'|![]()/tfr-\"")) return 0.46;
    if (one_of("mwMW%@")) return 1.0;
    if (c >= 'A' && c <= 'Z') return 0.78;
    if (one_of("=+<>~#")) return 0.84;
    return 0.65;
  }
  return c >= 0x1100 ? 1.05 : 0.75;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const DecodedChar next = decode_utf8(text, at);
    at += next.length;
    const char32_t c = next.point;
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\t' || c == '\n' || c == '\r') {
      out += ' ';
    } else if (c < 0x20 || c == 0xFFFE || c == 0xFFFF) {  // not allowed in XML
      append_utf8(out, kReplacement);
    } else {
      append_utf8(out, c);
    }
  }
  return out;
}

// As a plain attribute for programs that know no CSS variables, and as a style for the others.
std::string painted(std::string_view property, PlotPaint paint) {
  if (paint.kind != PlotPaint::Kind::Series) {
    const std::string_view opacity = paint.kind == PlotPaint::Kind::Faint ? "0.35" : "1";
    return fmt::format(R"({0}="currentColor" style="{0}:currentColor;{0}-opacity:{1}")", property,
                       opacity);
  }
  const std::size_t index = paint.series % kSeriesColours.size();
  return fmt::format(R"x({0}="{2}" style="{0}:var(--plot-{1},{2})")x", property, index + 1,
                     kSeriesColours[index]);
}

std::string with_about(std::string element, std::string_view about) {
  if (about.empty()) return element + "/>\n";
  const std::string name = element.substr(1, element.find(' ') - 1);
  return fmt::format("{}><title>{}</title></{}>\n", element, escaped(about), name);
}

}  // namespace

double plot_text_width(std::string_view text, double size) {
  double width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const DecodedChar next = decode_utf8(text, at);
    width += char_width(next.point);
    at += next.length;
  }
  return width * size;
}

std::string plot_text_within(std::string_view text, double size, double width) {
  if (plot_text_width(text, size) <= width) return std::string(text);
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const DecodedChar next = decode_utf8(text, at);
    at += next.length;
    std::string longer = kept;
    append_utf8(longer, next.point);
    if (plot_text_width(longer, size) + plot_text_width(kEllipsis, size) > width) break;
    kept = std::move(longer);
  }
  return kept + std::string(kEllipsis);
}

std::vector<std::string> plot_text_lines(std::string_view text, double size, double width) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = plot_text_within(text.substr(at, end - at), size, width);
    at = end + 1;
    if (word.empty()) continue;
    const std::string longer = line.empty() ? word : line + " " + word;
    if (!line.empty() && plot_text_width(longer, size) > width) {
      lines.push_back(std::move(line));
      line = word;
    } else {
      line = longer;
    }
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

PlotBox plot_text_box(double x, double baseline, PlotAnchor anchor, double size,
                      std::string_view text) {
  const double width = plot_text_width(text, size);
  const double left = anchor == PlotAnchor::Start    ? x
                      : anchor == PlotAnchor::Middle ? x - width / 2
                                                     : x - width;
  const double top = baseline - kBaselineShare * size;
  return {left, top, left + width, top + size};
}

PlotBox PlotCanvas::text(double x, double baseline, PlotAnchor anchor, std::string_view content,
                         double size, PlotPaint paint) {
  constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
  std::string fill = painted("fill", paint);
  fill.insert(fill.size() - 1, fmt::format(";font-size:{}px", size));
  body_ += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\" {}>{}"
      "</text>\n",
      x, baseline, kAnchors[static_cast<std::size_t>(anchor)], size, fill, escaped(content));
  taken_.push_back(plot_text_box(x, baseline, anchor, size, content));
  return taken_.back();
}

void PlotCanvas::line(double x1, double y1, double x2, double y2, PlotPaint paint, double width,
                      bool dashed) {
  body_ += fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke-width=\"{}\"{} {}/>\n",
      x1, y1, x2, y2, width, dashed ? " stroke-dasharray=\"5 4\"" : "", painted("stroke", paint));
}

void PlotCanvas::path(const std::string& data, PlotPaint paint, double width) {
  body_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke-width=\"{}\" {}/>\n", data, width,
                       painted("stroke", paint));
}

void PlotCanvas::area(const std::string& data, PlotPaint paint, double opacity) {
  body_ +=
      fmt::format("<path d=\"{}\" opacity=\"{}\" {}/>\n", data, opacity, painted("fill", paint));
}

void PlotCanvas::rectangle(const PlotBox& box, PlotPaint paint, double opacity,
                           std::string_view about) {
  body_ += with_about(
      fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" opacity=\"{}\" {}",
          box.left, box.top, box.right - box.left, box.bottom - box.top, opacity,
          painted("fill", paint)),
      about);
}

void PlotCanvas::marker(double x, double y, PlotPaint paint, bool hollow, std::string_view about) {
  constexpr double r = 4;
  const std::size_t shape = hollow ? 2 : paint.series % 4;
  std::string data;
  switch (shape) {
    case 0:
      data = fmt::format("M{:.1f} {:.1f}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0Z", x - r, y,
                         fmt::arg("r", r), fmt::arg("d", 2 * r));
      break;
    case 1:
      data = fmt::format("M{:.1f} {:.1f}h{d}v{d}h-{d}Z", x - r + 0.5, y - r + 0.5,
                         fmt::arg("d", 2 * r - 1));
      break;
    case 2:
      data = fmt::format("M{:.1f} {:.1f}l{r} {r}l-{r} {r}l-{r} -{r}Z", x, y - r - 1,
                         fmt::arg("r", r + 1));
      break;
    default:
      data = fmt::format("M{:.1f} {:.1f}l{r} {d}h-{e}Z", x, y - r - 0.5, fmt::arg("r", r + 0.5),
                         fmt::arg("d", 2 * r), fmt::arg("e", 2 * r + 1));
  }
  std::string element = fmt::format("<path d=\"{}\" ", data);
  element += hollow ? "fill=\"none\" stroke-width=\"1.6\" " + painted("stroke", paint)
                    : painted("fill", paint);
  body_ += with_about(std::move(element), about);
}

bool PlotCanvas::is_free(const PlotBox& box, const PlotBox& area) const {
  return box.left >= area.left && box.right <= area.right && box.top >= area.top &&
         box.bottom <= area.bottom &&
         std::none_of(taken_.begin(), taken_.end(),
                      [&](const PlotBox& taken) { return taken.overlaps(box); });
}

// The rules for svg:root hold only where the chart is a document of its own (a file, an <img>);
// inside a page the chart takes the page's colours.
std::string PlotCanvas::finish(double height, std::string_view title,
                               std::string_view description) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" "
      "class=\"plot\" style=\"width:100%;max-width:{2:.0f}px;height:auto\" "
      "font-family=\"system-ui, sans-serif\">\n"
      "<title>{3}</title>\n<desc>{4}</desc>\n"
      "<style>svg:root{{color:#1d2126;background:#fff}}"
      "@media (prefers-color-scheme:dark){{svg:root{{color:#e6e8ea;background:#15181c}}}}</style>\n"
      "{5}</svg>\n",
      kPlotWidth, std::ceil(height), kPlotWidth * 1.4, escaped(title), escaped(description), body_);
}

}  // namespace counterbeam
