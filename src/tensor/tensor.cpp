#include "tensor/tensor.h"

#include <cstring>
#include <new>

namespace counterbeam {

TensorView TensorView::row(std::int64_t index) const {
  CB_CHECK(shape.rank() >= 1 && index >= 0 && index < shape[0]);
  const Shape inner(shape.extents().subspan(1));
  const std::size_t step = static_cast<std::size_t>(inner.elements()) * bytes_of(dtype);
  return {dtype, inner, data + static_cast<std::size_t>(index) * step};
}

std::vector<float> to_f32(const TensorView& view) {
  std::vector<float> values(static_cast<std::size_t>(view.shape.elements()));
  to_f32(view.dtype, view.data, values);
  return values;
}

Tensor::Tensor(DType dtype, const Shape& shape) : dtype_(dtype), shape_(shape) {
  const std::size_t size = view().bytes();
  data_.reset(static_cast<std::byte*>(::operator new[](size, std::align_val_t{64})));
  if (size > 0) std::memset(data_.get(), 0, size);
}

Tensor Tensor::from_f32(std::span<const float> values, DType dtype, const Shape& shape) {
  CB_CHECK(static_cast<std::int64_t>(values.size()) == shape.elements());
  Tensor tensor(dtype, shape);
  counterbeam::from_f32(values, dtype, tensor.data());
  return tensor;
}

Tensor Tensor::copy() const {
  Tensor other(dtype_, shape_);
  if (bytes() > 0) std::memcpy(other.data(), data(), bytes());
  return other;
}

}  // namespace counterbeam
