// Scales of charts and their ticks: round numbers for any range, however wide or narrow.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "eval/plot_canvas.h"

namespace counterbeam {
namespace {

constexpr double kWidest = 1e300;  // so that differences of ends do not overflow

double round_step(double span, int count) {
  const double raw = span / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * power * 1.0001) return factor * power;
  return 10 * power;
}

void add_tick(PlotScale& scale, double value, double step) {
  std::string text = plot_number(value, step);
  if (!scale.tick_texts.empty() && scale.tick_texts.back() == text) return;  // beyond precision
  scale.ticks.push_back(value);
  scale.tick_texts.push_back(std::move(text));
}

void add_linear_ticks(PlotScale& scale, const PlotRange& range, int count) {
  const double step = round_step(scale.high - scale.low, count);
  if (!range.low) scale.low = std::floor(scale.low / step + 1e-9) * step;
  if (!range.high) scale.high = std::ceil(scale.high / step - 1e-9) * step;
  const double first = std::ceil(scale.low / step - 1e-9);
  const double last = std::floor(scale.high / step + 1e-9);
  for (double i = 0; first + i <= last && i < 50; ++i) add_tick(scale, (first + i) * step, step);
}

void add_decade_ticks(PlotScale& scale, int count) {
  const double first = std::floor(std::log10(scale.low)), last = std::ceil(std::log10(scale.high));
  const double stride = std::max(1.0, std::ceil((last - first) / count));
  for (double decade = first; decade <= last; decade += stride)
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1 && last - first > 2) break;
      const double value = factor * std::pow(10, decade);
      if (value >= scale.low * 0.999 && value <= scale.high * 1.001) add_tick(scale, value, value);
    }
}

// Ends that differ, so that a single value lies in the middle.
void widen(PlotScale& scale) {
  if (scale.logarithmic) {
    scale.low /= 2;
    scale.high *= 2;
    return;
  }
  const double margin = scale.low == 0 ? 0.5 : std::abs(scale.low) * 0.1;
  scale.low -= margin;
  scale.high += margin;
}

}  // namespace

bool PlotScale::shows(double value) const {
  return std::isfinite(value) && (!logarithmic || value > 0);
}

double PlotScale::at(double value) const {
  const double clamped = std::clamp(value, low, high);
  if (logarithmic) return (std::log(clamped) - std::log(low)) / (std::log(high) - std::log(low));
  return (clamped - low) / (high - low);
}

PlotScale make_plot_scale(const std::vector<double>& values, const PlotRange& range, int count) {
  PlotScale scale;
  scale.logarithmic = range.logarithmic;
  double low = INFINITY, high = -INFINITY;
  for (const double value : values) {
    if (!scale.shows(value)) continue;
    low = std::min(low, std::clamp(value, -kWidest, kWidest));
    high = std::max(high, std::clamp(value, -kWidest, kWidest));
  }
  if (range.low && scale.shows(*range.low)) low = *range.low;
  if (range.high && scale.shows(*range.high)) high = *range.high;
  if (!std::isfinite(low)) low = std::isfinite(high) ? high : scale.logarithmic ? 1 : 0;
  if (!std::isfinite(high)) high = low == 0 ? 1 : low;
  scale.low = std::min(low, high);
  scale.high = std::max(low, high);
  const double least = std::max(std::abs(scale.low), std::abs(scale.high)) * 1e-9;
  if (scale.high - scale.low <= least) widen(scale);
  if (scale.logarithmic) {
    scale.low = std::max(scale.low, 1e-300);
    add_decade_ticks(scale, count);
  } else {
    add_linear_ticks(scale, range, count);
  }
  return scale;
}

std::string plot_number(double value, double step) {
  if (std::abs(value) < std::abs(step) * 1e-6) return "0";
  const double size = std::abs(value);
  if (size >= 1e6 || size < 1e-4) {
    const int digits =
        std::clamp(static_cast<int>(std::ceil(std::log10(size / step) - 1e-9)), 0, 12);
    std::string text = fmt::format("{:.{}e}", value, digits);  // 1.50e+06
    const std::size_t e = text.find('e');
    std::string mantissa = text.substr(0, e);
    if (mantissa.find('.') != mantissa.npos) {
      mantissa.erase(mantissa.find_last_not_of('0') + 1);
      if (mantissa.back() == '.') mantissa.pop_back();
    }
    return fmt::format("{}e{}", mantissa, std::stoi(text.substr(e + 1)));
  }
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9);
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace counterbeam
