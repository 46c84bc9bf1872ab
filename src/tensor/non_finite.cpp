#include "tensor/non_finite.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "tensor/float8.h"

namespace counterbeam {
namespace {

// Data of a file need not be aligned.
template <typename Word>
Word word_at(const std::byte* data, std::int64_t index) {
  Word word;
  std::memcpy(&word, data + index * static_cast<std::int64_t>(sizeof word), sizeof word);
  return word;
}

// A value is not finite where all bits of its exponent are set. Whole blocks first, without a
// branch for every element, so that the loop becomes vector instructions.
template <typename Word>
std::optional<std::int64_t> first_with(Word exponent, const std::byte* data, std::int64_t count) {
  constexpr std::int64_t kBlock = 1024;
  for (std::int64_t first = 0; first < count; first += kBlock) {
    const std::int64_t end = std::min(first + kBlock, count);
    Word found = 0;
    for (std::int64_t i = first; i < end; ++i)
      found |= static_cast<Word>((word_at<Word>(data, i) & exponent) == exponent);
    if (found == 0) continue;
    for (std::int64_t i = first; i < end; ++i)
      if ((word_at<Word>(data, i) & exponent) == exponent) return i;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> first_non_finite(const TensorView& view) {
  const std::int64_t count = view.shape.elements();
  switch (view.dtype) {
    case DType::F32:
      return first_with<std::uint32_t>(0x7f800000, view.data, count);
    case DType::BF16:
      return first_with<std::uint16_t>(0x7f80, view.data, count);
    case DType::F16:
      return first_with<std::uint16_t>(0x7c00, view.data, count);
    case DType::F8E4M3:
      for (std::int64_t i = 0; i < count; ++i)
        if (is_nan_e4m3(word_at<std::uint8_t>(view.data, i))) return i;
      return std::nullopt;
    case DType::F8E8M0:
      for (std::int64_t i = 0; i < count; ++i)
        if (word_at<std::uint8_t>(view.data, i) == 0xff) return i;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

float value_at(const TensorView& view, std::int64_t index) {
  switch (view.dtype) {
    case DType::F32:
      return word_at<float>(view.data, index);
    case DType::BF16:
      return from_bf16(word_at<std::uint16_t>(view.data, index));
    case DType::F16:
      return from_f16(word_at<std::uint16_t>(view.data, index));
    case DType::F8E4M3:
      return from_e4m3(word_at<std::uint8_t>(view.data, index));
    case DType::F8E8M0:
      return from_e8m0(word_at<std::uint8_t>(view.data, index));
    default:
      CB_CHECK(false);
  }
}

}  // namespace counterbeam
