#include "backend/cuda/weight_upload.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"

namespace counterbeam::cuda {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;  // per thread at a time

Number number_of(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return Number::F32;
    case DType::BF16:
      return Number::BF16;
    case DType::F16:
      return Number::F16;
    default:
      failed("weights of type {} are not supported", name_of(dtype));
  }
}

}  // namespace

void WeightUpload::fill(std::byte* to, const std::byte* from, std::size_t bytes) {
  const auto reads = static_cast<int>((bytes + kReadBytes - 1) / kReadBytes);
  pieces_.readers().each(reads, [&](int i, int) {
    const std::size_t first = std::size_t(i) * kReadBytes;
    std::memcpy(to + first, from + first, std::min(kReadBytes, bytes - first));
  });
}

void WeightUpload::fill_rows(std::byte* to, const StoredMatrix& part, int first, int rows) {
  const std::size_t width = std::size_t(part.in());
  const auto* dense = std::get_if<DenseMatrix>(&part.format());
  if (dense && !dense->is_moved()) {
    const std::size_t row_bytes = width * bytes_of(dense->values.dtype);
    return fill(to, dense->values.data + std::size_t(first) * row_bytes,
                std::size_t(rows) * row_bytes);
  }
  pieces_.readers().each(rows, [&](int i, int) {
    std::vector<float> numbers(width);
    part.read_row(first + i, 0, numbers);
    from_f32(numbers, DType::BF16, to + std::size_t(i) * width * 2);
  });
}

void WeightUpload::pack(cudaStream_t stream, const Weights& weights,
                        std::span<const StoredMatrix> parts) {
  int first_out = 0;
  for (const StoredMatrix& part : parts) {
    pack_part(stream, weights, first_out, part);
    first_out += part.out();
  }
}

void WeightUpload::pack_part(cudaStream_t stream, const Weights& weights, int first_out,
                             const StoredMatrix& part) {
  const int outs = part.out();
  const auto* dense = std::get_if<DenseMatrix>(&part.format());
  const DType dtype = dense && !dense->is_moved() ? dense->values.dtype : DType::BF16;
  const std::size_t row_bytes = std::size_t(part.in()) * bytes_of(dtype);
  const int at_once = static_cast<int>(std::max<std::size_t>(1, UploadPieces::kBytes / row_bytes));
  if (row_bytes > UploadPieces::kBytes) failed("a weight with {} inputs is too wide", weights.in);
  for (int first = 0; first < outs; first += at_once) {
    const int rows = std::min(at_once, outs - first);
    pieces_.send(
        stream, std::size_t(rows) * row_bytes,
        [&](std::byte* host) { fill_rows(host, part, first, rows); },
        [&](const std::byte* device) {
          pack_rows(stream, weights, first_out + first, rows, device, number_of(dtype));
        });
  }
}

}  // namespace counterbeam::cuda
