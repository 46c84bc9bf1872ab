// Python's int(text), float(text) and round().
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "text/jinja/chars.h"
#include "text/jinja/operations.h"

namespace counterbeam::jinja {
namespace {

// Removes underscores. Returns false if one is not between two digits.
bool without_underscores(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    const bool between = i > 0 && i + 1 < text.size() &&
                         std::isalnum(static_cast<unsigned char>(text[i - 1])) &&
                         std::isalnum(static_cast<unsigned char>(text[i + 1]));
    if (!between) return false;
  }
  return !out.empty();
}

}  // namespace

bool parse_int(std::string_view text, int base, std::int64_t& value) {
  text = trim_space(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (base < 0 || base == 1 || base > 36) return false;
  if (text.size() > 2 && text[0] == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    const int marked = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (marked && (base == marked || base == 0)) {
      base = marked;
      text.remove_prefix(text[2] == '_' ? 3 : 2);
    }
  }
  if (base == 0) base = 10;
  std::string digits = negative ? "-" : "";
  if (text.empty() || !std::isalnum(static_cast<unsigned char>(text[0])) ||
      !without_underscores(text, digits))
    return false;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error == std::errc::result_out_of_range) throw Fault("an integer does not fit in 64 bits");
  return error == std::errc() && end == digits.data() + digits.size();
}

bool parse_float(std::string_view text, double& value) {
  text = trim_space(text);
  std::string digits;
  if (!without_underscores(text, digits)) return false;
  for (char& c : digits) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::string_view body =
      std::string_view(digits).substr(digits[0] == '-' || digits[0] == '+' ? 1 : 0);
  const bool named = body == "inf" || body == "infinity" || body == "nan";
  if (!named && (body.empty() || body.find_first_not_of("0123456789.e+-") != body.npos))
    return false;
  char* end = nullptr;
  value = std::strtod(digits.c_str(), &end);
  return end == digits.c_str() + digits.size();
}

double round_to(double value, std::int64_t digits) {
  if (!std::isfinite(value)) return value;
  if (digits > 308) return value;
  if (digits < -308) return std::copysign(0.0, value);
  if (digits >= 0) {
    // Printing rounds correctly, half to even, as Python's round() does.
    char buffer[700];
    std::snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(digits), value);
    return std::strtod(buffer, nullptr);
  }
  const double unit = std::pow(10.0, static_cast<double>(-digits));
  return std::nearbyint(value / unit) * unit;
}

}  // namespace counterbeam::jinja
