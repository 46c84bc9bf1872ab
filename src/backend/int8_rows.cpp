#include "backend/int8_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace counterbeam {
namespace {

// The group itself up to kLongestChunk, else its largest divisor of these; a row that is one group
// may end with a shorter chunk.
int chunk_of(const CodeForm& form) {
  if (form.groups == 1) return kLongestChunk;
  int chunk = form.group;
  for (int size = kLongestChunk; chunk > kLongestChunk; size /= 2)
    if (form.group % size == 0) chunk = size;
  return chunk;
}

template <typename T>
float quantise(std::span<const float> x, std::span<T> to, float steps) {
  std::fill(to.begin(), to.end(), T{0});
  float largest = 0;
  for (const float value : x) {
    if (!std::isfinite(value)) return std::numeric_limits<float>::quiet_NaN();
    largest = std::max(largest, std::abs(value));
  }
  if (largest < 0x1p-100f) return 0;
  const float factor = steps / largest;
  for (std::size_t i = 0; i < x.size(); ++i) to[i] = static_cast<T>(std::nearbyint(x[i] * factor));
  return largest / steps;
}

bool is_whole_byte(float value) {
  return value >= -128 && value <= 127 && value == std::nearbyint(value);
}

}  // namespace

std::optional<WholeCodes> whole_codes(const CodeForm& form) {
  if (form.kind == CodeKind::E4M3 || !form.order.empty()) return std::nullopt;
  WholeCodes codes{.chunk = chunk_of(form), .zero = 128};
  if (form.kind == CodeKind::Int8) return codes;
  if (!std::all_of(form.table.begin(), form.table.end(), is_whole_byte)) return std::nullopt;
  const float first = form.table[0];
  for (int i = 0; i < 16; ++i)
    codes.lookup = codes.lookup || form.table[static_cast<std::size_t>(i)] != first + float(i);
  if (!codes.lookup) codes.zero = -static_cast<int>(first);
  std::transform(form.table.begin(), form.table.end(), codes.table.begin(), [&](float value) {
    return static_cast<std::uint8_t>(static_cast<int>(value) + codes.zero);
  });
  return codes;
}

float quantise_chunk(std::span<const float> x, std::span<std::int8_t> to) {
  return quantise(x, to, 127);
}

float quantise_chunk(std::span<const float> x, std::span<std::int16_t> to) {
  return quantise(x, to, 127 * 256 + 127);
}

}  // namespace counterbeam
