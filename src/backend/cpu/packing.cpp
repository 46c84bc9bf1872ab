#include "backend/cpu/packing.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/code_packing.h"
#include "base/error.h"

namespace counterbeam {
namespace {

// One row of the stacked parts.
struct SourceRow {
  const StoredMatrix* matrix = nullptr;
  int row = 0;
  const std::byte* bf16 = nullptr;  // the stored row if it is BF16, which is copied as it is

  void read(float* to, int first, int count) const {
    matrix->read_row(row, first, {to, static_cast<std::size_t>(count)});
  }
};

std::vector<SourceRow> source_rows(std::span<const StoredMatrix> parts) {
  std::vector<SourceRow> rows;
  rows.reserve(static_cast<std::size_t>(stacked_rows(parts)));
  for (const StoredMatrix& part : parts) {
    const auto* dense = std::get_if<DenseMatrix>(&part.format());
    const bool is_bf16 =
        dense != nullptr && !dense->is_moved() && dense->values.dtype == DType::BF16;
    for (int i = 0; i < part.out(); ++i)
      rows.push_back({&part, i, is_bf16 ? dense->values.row(i).data : nullptr});
  }
  return rows;
}

constexpr int kChunk = 256;  // inputs of a panel transposed at once: a few cache lines per row

// Transposes pairs of inputs of up to kPanel rows, [rows][kChunk / 2] to [kChunk / 2][kPanel].
void turn_pairs(std::uint32_t* out, const std::uint32_t* pairs, int rows, int count) {
  for (int first = 0; first < count; first += 16) {
    const int last = std::min(first + 16, count);
    for (int r = 0; r < rows; ++r) {
      const std::uint32_t* from = pairs + r * (kChunk / 2);
      for (int j = first; j < last; ++j) out[j * kPanel + r] = from[j];
    }
  }
}

void pack_panel_bf16(std::byte* to, std::span<const SourceRow> rows, int width) {
  alignas(64) std::uint32_t pairs[kPanel * kChunk / 2];
  float numbers[kChunk];
  auto* out = reinterpret_cast<std::uint32_t*>(to);
  const int count = static_cast<int>(rows.size());
  for (int first = 0; first < width; first += kChunk) {
    const int inputs = std::min(kChunk, width - first);
    for (int r = 0; r < count; ++r) {
      auto* halves = reinterpret_cast<std::uint16_t*>(pairs + r * (kChunk / 2));
      if (rows[r].bf16 != nullptr) {
        const std::byte* from = rows[r].bf16 + std::size_t(first) * 2;
        // Prefetches the row's next chunk: 32 streams are too many for the hardware prefetcher.
        for (int line = 0; line < kChunk * 2; line += 64)
          __builtin_prefetch(from + kChunk * 2 + line, 0, 0);
        std::memcpy(halves, from, std::size_t(inputs) * 2);
      } else {
        rows[r].read(numbers, first, inputs);
        for (int i = 0; i < inputs; ++i) halves[i] = to_bf16(numbers[i]);
      }
      if (inputs % 2 != 0) halves[inputs] = 0;
    }
    turn_pairs(out + first / 2 * kPanel, pairs, count, (inputs + 1) / 2);
  }
}

void pack_panel_f32(std::byte* to, std::span<const SourceRow> rows, int width) {
  float numbers[kPanel * kChunk];
  auto* out = reinterpret_cast<float*>(to);
  const int count = static_cast<int>(rows.size());
  for (int first = 0; first < width; first += kChunk) {
    const int inputs = std::min(kChunk, width - first);
    for (int r = 0; r < count; ++r) rows[r].read(numbers + r * kChunk, first, inputs);
    for (int i = 0; i < inputs; ++i) {
      for (int r = 0; r < count; ++r) out[(first + i) * kPanel + r] = numbers[r * kChunk + i];
    }
  }
}

void pack_numbers(CpuMatrix& matrix, std::span<const SourceRow> rows, ThreadPool& pool) {
  const std::size_t panel_bytes = matrix.panel_bytes();
  matrix.panels = Memory(panel_bytes * static_cast<std::size_t>(matrix.panel_count()));
  pool.split(matrix.panel_count(), 1, [&](int begin, int end) {
    for (int panel = begin; panel < end; ++panel) {
      const std::size_t first = std::size_t(panel) * kPanel;
      const auto here = rows.subspan(first, std::min<std::size_t>(kPanel, rows.size() - first));
      std::byte* to = matrix.panels.data() + std::size_t(panel) * panel_bytes;
      if (matrix.precision == Precision::Bf16) {
        pack_panel_bf16(to, here, matrix.in);
      } else {
        pack_panel_f32(to, here, matrix.in);
      }
    }
  });
}

}  // namespace

const float* CpuVector::by_tap(int taps) const {
  if (by_tap_.empty()) {
    const int channels = size / taps;
    by_tap_.resize(values.size());
    for (int c = 0; c < channels; ++c) {
      for (int t = 0; t < taps; ++t) by_tap_[t * channels + c] = values[c * taps + t];
    }
  }
  return by_tap_.data();
}

std::unique_ptr<CpuMatrix> pack_matrix(std::span<const StoredMatrix> parts, Precision precision,
                                       ThreadPool& pool, bool integers) {
  CB_CHECK(!parts.empty());
  const std::vector<SourceRow> rows = source_rows(parts);
  auto matrix = std::make_unique<CpuMatrix>();
  matrix->out = static_cast<int>(rows.size());
  matrix->in = parts[0].in();
  matrix->precision = precision;
  matrix->depth = round_up(matrix->in, kDepthStep);
  matrix->form = common_form(parts);
  if (matrix->form && pack_codes(*matrix, parts, pool, integers)) return matrix;
  matrix->form.reset();
  pack_numbers(*matrix, rows, pool);
  return matrix;
}

std::unique_ptr<CpuMatrix> pack_repeated(std::span<const float> block, int out, int in,
                                         ThreadPool& pool) {
  // A row begins anywhere in the block and is contiguous in this copy.
  std::vector<std::uint16_t> numbers(block.size() + std::size_t(in));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = to_bf16(block[i % block.size()]);
  std::vector<SourceRow> rows;
  rows.reserve(std::size_t(out));
  for (std::size_t r = 0; r < std::size_t(out); ++r) {
    const std::uint16_t* from = numbers.data() + r * std::size_t(in) % block.size();
    rows.push_back({nullptr, 0, reinterpret_cast<const std::byte*>(from)});
  }
  auto matrix = std::make_unique<CpuMatrix>();
  matrix->out = out;
  matrix->in = in;
  matrix->precision = Precision::Bf16;
  matrix->depth = round_up(in, kDepthStep);
  pack_numbers(*matrix, rows, pool);
  return matrix;
}

void unpack_row(float* out, const CpuMatrix& matrix, int row) {
  if (matrix.form) return unpack_codes(out, matrix, row);
  const std::byte* panel = matrix.panels.data() + std::size_t(row / kPanel) * matrix.panel_bytes();
  const int column = row % kPanel;
  if (matrix.precision == Precision::F32) {
    const auto* from = reinterpret_cast<const float*>(panel) + column;
    for (int i = 0; i < matrix.in; ++i) out[i] = from[i * kPanel];
  } else {
    const auto* from = reinterpret_cast<const std::uint16_t*>(panel) + 2 * column;
    for (int i = 0; i < matrix.in; ++i) out[i] = from_bf16(from[i / 2 * 2 * kPanel + i % 2]);
  }
}

}  // namespace counterbeam
