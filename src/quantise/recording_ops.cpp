#include "quantise/recording_ops.h"

#include "base/error.h"
#include "tensor/dtype.h"

namespace counterbeam {

void RecordingOps::note(Matrix x, const PackedMatrix& weight) {
  Record& record = records_[&weight];
  const auto width = static_cast<std::size_t>(x.width);
  record.squares.resize(width);
  std::vector<float> row(width);
  const int bytes = costs().activation_bytes;
  CB_CHECK(bytes == 4 || bytes == 2);
  const DType dtype = bytes == 4 ? DType::F32 : DType::BF16;
  inner_.wait();
  for (int r = 0; r < x.rows; ++r) {
    const auto* data = static_cast<const std::byte*>(x.data) + std::ptrdiff_t{r} * x.stride * bytes;
    to_f32(dtype, data, row);
    for (std::size_t i = 0; i < width; ++i) record.squares[i] += double{row[i]} * row[i];
  }
  record.rows += x.rows;
}

}  // namespace counterbeam
