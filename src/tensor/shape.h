// The extents of a row-major tensor. Invariant: every extent is >= 0 and there are at most
// kMaxElements elements, so that sizes in bits and bytes cannot overflow.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace counterbeam {

class Shape {
 public:
  static constexpr int kMaxRank = 8;
  static constexpr std::int64_t kMaxElements = std::int64_t{1} << 56;

  Shape() = default;  // rank 0: one element
  Shape(std::initializer_list<std::int64_t> extents);
  explicit Shape(std::span<const std::int64_t> extents);

  // Empty if the rank exceeds kMaxRank, an extent is negative or there are too many elements.
  static std::optional<Shape> checked(std::span<const std::int64_t> extents);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return extents_[static_cast<std::size_t>(axis)]; }
  std::int64_t elements() const { return elements_; }
  std::span<const std::int64_t> extents() const {
    return {extents_.data(), static_cast<std::size_t>(rank_)};
  }
  std::string to_string() const;  // "[2, 3]"

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  std::int64_t elements_ = 1;
  int rank_ = 0;
};

}  // namespace counterbeam
