#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace counterbeam {

std::string human_bytes(std::int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  if (value == std::floor(value)) return fmt::format("{:.0f} {}", value, kUnits[unit]);
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string human_count(std::int64_t count) {
  std::string digits = fmt::format("{}", count);
  const int first = count < 0 ? 1 : 0;
  for (int at = static_cast<int>(digits.size()) - 3; at > first; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string human_duration(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f} s", std::max(seconds, 0.0));
  const auto whole = static_cast<std::int64_t>(std::lround(std::min(seconds, 3e9)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02} h", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace counterbeam
