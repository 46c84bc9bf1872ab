// Tensors in host memory. A Tensor owns its data; a TensorView points to data owned elsewhere, such
// as a mapped checkpoint, and may be unaligned. Both are dense and row-major.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace counterbeam {

// The dtype whose elements are the C++ type T.
template <typename T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::F32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::F64;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
  return DType::I32;
}
template <>
constexpr DType dtype_of<std::int64_t>() {
  return DType::I64;
}

// Does not own its data, which must outlive the view.
struct TensorView {
  DType dtype = DType::F32;
  Shape shape;
  const std::byte* data = nullptr;

  std::size_t bytes() const {
    return static_cast<std::size_t>(shape.elements()) * static_cast<std::size_t>(bits_of(dtype)) /
           8;
  }
  // Row `index` of the first axis. REQUIRES: rank >= 1 and a dtype of at least 8 bits.
  TensorView row(std::int64_t index) const;
};

// Every element as float32. REQUIRES converts_to_f32(view.dtype).
std::vector<float> to_f32(const TensorView& view);

// Move-only; copy() makes a copy explicitly.
class Tensor {
 public:
  Tensor() = default;
  Tensor(DType dtype, const Shape& shape);  // zeros, aligned to 64 bytes

  static Tensor from_f32(std::span<const float> values, DType dtype, const Shape& shape);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::size_t bytes() const { return view().bytes(); }
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  TensorView view() const { return {dtype_, shape_, data_.get()}; }
  Tensor copy() const;

  // The elements as T. REQUIRES dtype_of<T>() == dtype().
  template <typename T>
  std::span<T> values() {
    CB_CHECK(dtype_of<T>() == dtype_);
    return {reinterpret_cast<T*>(data_.get()), static_cast<std::size_t>(shape_.elements())};
  }
  template <typename T>
  std::span<const T> values() const {
    CB_CHECK(dtype_of<T>() == dtype_);
    return {reinterpret_cast<const T*>(data_.get()), static_cast<std::size_t>(shape_.elements())};
  }

 private:
  struct Free {
    void operator()(std::byte* data) const { ::operator delete[](data, std::align_val_t{64}); }
  };

  DType dtype_ = DType::F32;
  Shape shape_{0};
  std::unique_ptr<std::byte[], Free> data_;
};

}  // namespace counterbeam
