#include "base/closest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

namespace counterbeam {
namespace {

std::string plain(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::string text(name);
  for (char& letter : text)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

// The optimal string alignment distance.
std::size_t edits(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string_view> closest(std::string_view name,
                                        std::span<const std::string_view> candidates) {
  constexpr std::size_t kLongest = 64;  // longer texts are not mistyped names
  const std::string given = plain(name);
  if (given.empty() || given.size() > kLongest) return std::nullopt;
  std::size_t allowed = std::max<std::size_t>(1, given.size() / 3);
  std::optional<std::string_view> best;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edits(given, plain(candidate));
    // Skip a name that shares no character with the typed one.
    if (distance >= given.size() || (best ? distance >= allowed : distance > allowed)) continue;
    best = candidate;
    allowed = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  const auto found = closest(name, candidates);
  return found ? fmt::format("; did you mean {}?", *found) : "";
}

}  // namespace counterbeam
