#include "tensor/shape.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace counterbeam {

std::optional<Shape> Shape::checked(std::span<const std::int64_t> extents) {
  if (extents.size() > kMaxRank) return std::nullopt;
  Shape shape;
  shape.rank_ = static_cast<int>(extents.size());
  std::copy(extents.begin(), extents.end(), shape.extents_.begin());
  for (const std::int64_t extent : extents)
    if (extent < 0 || __builtin_mul_overflow(shape.elements_, extent, &shape.elements_) ||
        shape.elements_ > kMaxElements)
      return std::nullopt;
  return shape;
}

Shape::Shape(std::span<const std::int64_t> extents) {
  const std::optional<Shape> shape = checked(extents);
  CB_CHECK(shape.has_value());
  *this = *shape;
}

Shape::Shape(std::initializer_list<std::int64_t> extents)
    : Shape(std::span(extents.begin(), extents.size())) {}

std::string Shape::to_string() const {
  return fmt::format("[{}]", fmt::join(extents(), ", "));
}

}  // namespace counterbeam
