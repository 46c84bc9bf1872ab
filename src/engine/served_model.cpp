#include "engine/served_model.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/quote.h"

namespace counterbeam {

std::optional<double> mean_distance(std::span<const float> a, std::span<const float> b) {
  const std::size_t count = std::min(a.size(), b.size());
  if (count == 0) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += std::abs(double(a[i]) - double(b[i]));
  return sum / static_cast<double>(count);
}

std::string difference(const ServedModel& expected, const ServedModel& found) {
  if (found.id != expected.id)
    return fmt::format("serves {} in place of {}", in_quotes(found.id), in_quotes(expected.id));
  const auto distance = mean_distance(expected.logprobs, found.logprobs);
  if (!distance || *distance <= kSameModelDistance) return "";
  return fmt::format(
      "gives the tokens of a known text log-probabilities that are off by {:.2f} on average; up to "
      "{} is rounding, so its {} is another model",
      *distance, kSameModelDistance, in_quotes(found.id));
}

}  // namespace counterbeam
