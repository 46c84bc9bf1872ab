#include "tensor/stored_matrix.h"

#include "base/error.h"

namespace counterbeam {
namespace {

void read(const DenseMatrix& matrix, int row, int first, std::span<float> to) {
  const TensorView& values = matrix.values;
  const std::byte* from =
      values.row(matrix.rows.empty() ? row : matrix.rows[static_cast<std::size_t>(row)]).data;
  const std::size_t bytes = bytes_of(values.dtype);
  if (matrix.columns.empty())
    return to_f32(values.dtype, from + static_cast<std::size_t>(first) * bytes, to);
  const auto columns = matrix.columns.subspan(static_cast<std::size_t>(first), to.size());
  for (std::size_t i = 0; i < to.size(); ++i)
    to_f32(values.dtype, from + static_cast<std::size_t>(columns[i]) * bytes, to.subspan(i, 1));
}

template <typename Quantised>
void read(const Quantised& matrix, int row, int first, std::span<float> to) {
  matrix.read(row, first, to);
}

// Calls `use` with the format. REQUIRES a quantised one.
template <typename Use>
void with_codes(const StoredMatrix::Format& format, const Use& use) {
  std::visit(
      [&](const auto& matrix) {
        if constexpr (std::is_same_v<std::decay_t<decltype(matrix)>, DenseMatrix>)
          CB_CHECK(false);
        else
          use(matrix);
      },
      format);
}

DenseMatrix checked(const DenseMatrix& matrix) {
  const TensorView& view = matrix.values;
  if (view.shape.rank() != 2)
    bad_input("weights of shape {} are not a matrix", view.shape.to_string());
  if (!is_weight_dtype(view.dtype))
    bad_input("weights of dtype {} cannot be used; convert them to BF16, F16 or F32",
              name_of(view.dtype));
  return matrix;
}

}  // namespace

bool is_weight_dtype(DType dtype) {
  return dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16;
}

StoredMatrix::StoredMatrix(const TensorView& dense) : StoredMatrix(DenseMatrix{dense}) {}

StoredMatrix::StoredMatrix(const DenseMatrix& dense) : format_(checked(dense)) {
  out_ = static_cast<int>(dense.values.shape[0]);
  in_ = static_cast<int>(dense.values.shape[1]);
}

StoredMatrix::StoredMatrix(const ScaledMatrix& scaled)
    : out_(scaled.out), in_(scaled.in), format_(scaled) {}

StoredMatrix::StoredMatrix(const BlockMatrix& blocks)
    : out_(blocks.out), in_(blocks.in), format_(blocks) {}

void StoredMatrix::read_row(int row, int first, std::span<float> to) const {
  std::visit([&](const auto& format) { read(format, row, first, to); }, format_);
}

std::optional<CodeLayout> StoredMatrix::codes() const {
  if (std::holds_alternative<DenseMatrix>(format_)) return std::nullopt;
  CodeLayout layout;
  with_codes(format_, [&](const auto& matrix) { layout = matrix.codes(); });
  return layout;
}

void StoredMatrix::read_codes(int row, int first, std::span<std::uint8_t> to) const {
  with_codes(format_, [&](const auto& matrix) { matrix.read_codes(row, first, to); });
}

void StoredMatrix::read_scales(int row, std::span<float> scales, std::span<float> offsets) const {
  with_codes(format_, [&](const auto& matrix) { matrix.read_scales(row, scales, offsets); });
}

void StoredMatrix::read_order(std::span<std::int32_t> to) const {
  with_codes(format_, [&](const auto& matrix) { matrix.read_order(to); });
}

int stacked_rows(std::span<const StoredMatrix> parts) {
  int rows = 0;
  for (const StoredMatrix& part : parts) {
    if (part.in() != parts[0].in())
      bad_input("weights [{}, {}] cannot be stacked under weights [{}, {}]", part.out(), part.in(),
                parts[0].out(), parts[0].in());
    rows += part.out();
  }
  return rows;
}

}  // namespace counterbeam
