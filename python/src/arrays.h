// Results as numpy arrays that own the memory they were computed in: nothing is copied.
#pragma once

#include <nanobind/ndarray.h>

#include <memory>
#include <vector>

namespace counterbeam::python {

namespace nb = nanobind;

template <typename T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <typename T>
using Matrix = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

template <typename T>
Array<T> array_of(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept,
                          [](void* all) noexcept { delete static_cast<std::vector<T>*>(all); });
  return Array<T>(kept->data(), {kept->size()}, owner);
}

template <typename T>
Matrix<T> matrix_of(std::unique_ptr<T[]> values, std::size_t rows, std::size_t columns) {
  T* kept = values.release();
  const nb::capsule owner(kept, [](void* all) noexcept { delete[] static_cast<T*>(all); });
  return Matrix<T>(kept, {rows, columns}, owner);
}

}  // namespace counterbeam::python
