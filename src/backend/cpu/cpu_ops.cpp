#include "backend/cpu/cpu_ops.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"

namespace counterbeam {
namespace {

const CpuMatrix& cpu(const PackedMatrix& matrix) {
  return static_cast<const CpuMatrix&>(matrix);
}

// With fewer multiply-adds, waking a second thread costs more than it saves.
constexpr double kShareProducts = 200e3;
constexpr std::size_t kCachedInputs = std::size_t{1} << 20;  // bytes that stay in the L2 cache
constexpr int kGatedRows = 32;  // from here on, gate and up are computed a few panels at a time

// The number of rows up to which reading the weights, not multiplying, bounds a GEMM. On AMX it is
// one pass over a panel (three tiles of rows); a second pass no longer hides behind memory.
int cheap_rows(Precision precision, Isa isa) {
  if (precision == Precision::F32) return isa >= Isa::Avx512 ? 12 : 4;
  return isa == Isa::Amx ? 48 : isa == Isa::Avx512Bf16 ? 12 : 4;
}

const IntegerKernels* integer_kernels(Precision precision, Isa isa, Activations activations) {
  if (activations == Activations::Int8) return &int8_kernels_for(isa);
  return precision == Precision::Bf16 ? int16_kernels_for(isa) : nullptr;
}

}  // namespace

CpuOps::CpuOps(Precision precision, int threads, Isa isa, Activations activations)
    : precision_(precision),
      isa_(isa),
      activations_(activations),
      kernels_(kernels_for(isa)),
      integers_(integer_kernels(precision, isa, activations)),
      pool_(threads),
      costs_{.activation_bytes = sizeof(float),
             .threads = threads,
             .cheap_rows = cheap_rows(precision, isa),
             .state_passes = takes_chunks() ? 1 : 2},  // written once per chunk only
      scratch_(static_cast<std::size_t>(threads)) {}

std::string CpuOps::name() const {
  return fmt::format("cpu {} {}{}, {} thread{}", name_of(isa_),
                     precision_ == Precision::F32 ? "f32" : "bf16",
                     activations_ == Activations::Int8 ? ", int8 activations" : "", pool_.threads(),
                     pool_.threads() == 1 ? "" : "s");
}

std::int64_t CpuOps::page_bytes(const KvShape& shape) const {
  return CpuKv::page_bytes(shape, precision_);
}

std::int64_t CpuOps::state_bytes(const StateShape& shape) const {
  return static_cast<std::int64_t>(CpuStates::slot_bytes(shape, takes_chunks()));
}

std::unique_ptr<PackedMatrix> CpuOps::pack(std::span<const StoredMatrix> parts) {
  auto matrix = pack_matrix(parts, precision_, pool_, integers_ != nullptr);
  matrix->bytes = static_cast<std::int64_t>(matrix->panels.bytes());
  matrix_bytes_ += matrix->bytes;
  return matrix;
}

std::unique_ptr<PackedMatrix> CpuOps::pack_random(int out, int in, float scale,
                                                  std::uint64_t seed) {
  if (precision_ == Precision::F32) return WeightOps::pack_random(out, in, scale, seed);
  auto matrix = pack_repeated(random_block(scale, seed), out, in, pool_);
  matrix_bytes_ += static_cast<std::int64_t>(matrix->panels.bytes());
  return matrix;
}

std::unique_ptr<Vector> CpuOps::upload(std::span<const TensorView> parts) {
  auto vector = std::make_unique<CpuVector>();
  for (const TensorView& part : parts) {
    if (!converts_to_f32(part.dtype)) {
      bad_input("a parameter of dtype {} cannot be used; convert it to BF16, F16 or F32",
                name_of(part.dtype));
    }
    const std::vector<float> values = to_f32(part);
    vector->values.insert(vector->values.end(), values.begin(), values.end());
  }
  vector->size = static_cast<int>(vector->values.size());
  return vector;
}

void CpuOps::begin(const Batch& batch) {
  batch_ = batch;
  page_order_ = PageOrder(batch.segments);
  row_segment_.assign(batch.ids.size(), nullptr);
  row_position_.assign(batch.ids.size(), 0);
  for (const Segment& segment : batch.segments) {
    for (int i = 0; i < segment.rows; ++i) {
      row_segment_[segment.first_row + i] = &segment;
      row_position_[segment.first_row + i] = segment.position + i;
    }
  }
  // Replaces several blocks by one that would have held the whole last pass.
  if (arena_.size() > 1) {
    std::size_t bytes = 0;
    for (const Memory& block : arena_) bytes += block.bytes();
    arena_.clear();
    arena_.emplace_back(bytes);
  }
  arena_used_ = 0;
}

Matrix CpuOps::matrix(int rows, int width) {
  const int stride = round_up(width, 16);
  const std::size_t bytes = std::size_t(rows) * std::size_t(stride) * sizeof(float);
  if (arena_.empty() || arena_used_ + bytes > arena_.back().bytes()) {
    arena_.emplace_back(std::max(bytes, std::size_t{4} << 20));
    arena_used_ = 0;
  }
  std::byte* data = arena_.back().data() + arena_used_;
  arena_used_ += bytes;
  return {data, rows, width, stride};
}

float* CpuOps::scratch(int worker, std::size_t floats) {
  scratch_[worker].want(floats * sizeof(float));
  return scratch_[worker].floats();
}

void CpuOps::embed(Matrix out, const PackedMatrix& table, float scale) {
  if (precision_ == Precision::Bf16) scale = from_bf16(to_bf16(scale));
  for_rows(out.rows, out.width, [&](int r) {
    float* to = rows_of(out).row(r);
    unpack_row(to, cpu(table), batch_.ids[r]);
    for (int i = 0; scale != 1 && i < out.width; ++i) to[i] *= scale;
  });
}

void CpuOps::rms_norm(Matrix out, Matrix x, const Vector& weight, float eps, NormKind kind) {
  const float centre = kind == NormKind::ZeroCentred ? 1.0f : 0.0f;
  for_rows(x.rows, x.width, [&](int r) {
    for (int group = 0; group < x.width; group += weight.size) {
      kernels_.rms_norm(rows_of(out).row(r) + group, rows_of(x).row(r) + group, values_of(weight),
                        weight.size, eps, centre);
    }
  });
}

Product CpuOps::product_of(const PackedMatrix& weight) const {
  Product product;
  product.depth = cpu(weight).depth;
  product.columns = weight.out;
  product.weights = cpu(weight).panels.data();
  if (cpu(weight).form) product.codes = &cpu(weight).codes;
  product.multiply = product.takes_integers() ? integers_->multiply : product_kernels().multiply;
  return product;
}

int CpuOps::pack_step(const Product& product) {
  return product.takes_integers() ? std::lcm(product.codes->chunk, kDepthStep) : kDepthStep;
}

std::size_t CpuOps::packed_bytes(const Product& product, int rows) const {
  return product.takes_integers() ? integers_->packed_bytes(rows, *product.codes)
                                  : product_kernels().packed_bytes(rows, product.depth);
}

void CpuOps::pack_inputs(void* to, Rows x, int rows, int width, const Product& product, int from,
                         int until) const {
  until = std::min(until, product.depth);
  if (!product.takes_integers())
    return product_kernels().pack(to, x, rows, width, product.depth, from, until);
  const CodePanels& codes = *product.codes;
  integers_->pack(to, x, rows, width, codes, from / codes.chunk,
                  until == product.depth ? codes.chunks : until / codes.chunk);
}

Product CpuOps::prepare(Rows x, int rows, const PackedMatrix& weight) {
  Product product = product_of(weight);
  product.rows = rows;
  inputs_.want(packed_bytes(product, rows));
  product.inputs = inputs_.data();
  // Split along the depth, as the product that computed these inputs was split along its outputs:
  // a thread then finds what it wrote in its own cache.
  const int step = pack_step(product), grain = kShareElements / (rows * step) + 1;
  pool_.split((product.depth + step - 1) / step, grain, [&](int begin, int end) {
    pack_inputs(inputs_.data(), x, rows, weight.in, product, begin * step, end * step);
  });
  return product;
}

void CpuOps::multiply(Rows out, Matrix x, const PackedMatrix& weight, const Vector* bias,
                      bool add) {
  if (x.rows == 0) return;
  Product product = prepare(rows_of(x), x.rows, weight);
  product.out = out;
  product.bias = bias ? values_of(*bias) : nullptr;
  product.add = add;
  const double panel_work = double(x.rows) * product.depth * kPanel;
  const int panels = cpu(weight).panel_count();
  int grain = static_cast<int>(kShareProducts / panel_work) + 1;
  const auto depth_part = product.codes ? nullptr : product_kernels().depth_part;
  const int step = depth_part ? depth_part(x.rows, product.depth) : product.depth;
  // Every part reads all inputs: if they exceed the cache, use fewer and larger parts.
  if (step == product.depth && packed_bytes(product, x.rows) > kCachedInputs)
    grain = std::max(grain, panels / (4 * pool_.threads()));
  const std::size_t floats = decode_floats(product, x.rows);
  for (int from = 0; from < product.depth; from += step) {
    if (step < product.depth) {
      product.from = from;
      product.until = std::min(from + step, product.depth);
    }
    pool_.split(panels, grain, [&](int begin, int end, int worker) {
      Product part = product;
      part.scratch = floats > 0 ? scratch(worker, floats) : nullptr;
      part.multiply(part, begin, end);
    });
  }
}

std::size_t CpuOps::decode_floats(const Product& product, int rows) const {
  if (product.takes_integers()) return integers_->scratch_floats(rows, product.depth);
  return product.codes ? product_kernels().scratch_floats(rows, product.depth) : 0;
}

void CpuOps::matmul(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias) {
  multiply(rows_of(out), x, weight, bias, false);
}

void CpuOps::matmul_add(Matrix sum, Matrix x, const PackedMatrix& weight, const Vector* bias) {
  multiply(rows_of(sum), x, weight, bias, true);
}

// Computes a few panels of the gate and the same panels of the up projection at a time, so that
// silu(gate) * up finds both in the cache.
void CpuOps::gated_matmul(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias,
                          Activation activation, Matrix for_both) {
  const int rows = x.rows, panels = out.width / kPanel;
  if (rows < kGatedRows || out.width % kPanel != 0)
    return PassOps::gated_matmul(out, x, weight, bias, activation, for_both);
  Product product = prepare(rows_of(x), rows, weight);
  product.bias = bias ? values_of(*bias) : nullptr;
  const auto gate_mul = activation == Activation::Silu ? kernels_.silu_mul : kernels_.gelu_mul;
  const int group = std::clamp(1024 / rows, 1, 4);
  const auto weights_at = [&](int panel) {
    return cpu(weight).panels.data() + std::size_t(panel) * cpu(weight).panel_bytes();
  };
  const auto multiply_group = [&](int first, int last, float* gate) {
    const int width = (last - first) * kPanel;
    float* up = gate + rows * width;
    Product part = product;
    part.out = {gate, width};
    part.scratch = gate + 2 * std::size_t(rows) * std::size_t(group * kPanel);
    part.first_column = first * kPanel;
    part.next_weights = weights_at(panels + first);
    part.multiply(part, first, last);
    part.out = {up, width};
    part.first_column += out.width;
    part.next_weights = weights_at(last);
    part.multiply(part, panels + first, panels + last);
    for (int r = 0; r < rows; ++r)
      gate_mul(rows_of(out).row(r) + first * kPanel, gate + r * width, up + r * width, width);
  };
  const std::size_t decoding = decode_floats(product, rows);
  const double panel_work = 2.0 * rows * product.depth * kPanel;
  const int grain = static_cast<int>(kShareProducts / panel_work) + 1;
  pool_.split(panels, grain, [&](int begin, int end, int worker) {
    float* both = scratch(worker, 2 * std::size_t(rows) * std::size_t(group * kPanel) + decoding);
    for (int first = begin; first < end; first += group)
      multiply_group(first, std::min(first + group, end), both);
  });
}

void CpuOps::logits(std::span<float> out, Matrix x, const PackedMatrix& weight) {
  CB_CHECK(out.size() == std::size_t(x.rows) * std::size_t(weight.out));
  multiply({out.data(), weight.out}, x, weight, nullptr, false);
}

void CpuOps::silu_mul(Matrix out, Matrix gate, Matrix up) {
  for_rows(out.rows, out.width, [&](int r) {
    kernels_.silu_mul(rows_of(out).row(r), rows_of(gate).row(r), rows_of(up).row(r), out.width);
  });
}

void CpuOps::gelu_mul(Matrix out, Matrix gate, Matrix up) {
  for_rows(out.rows, out.width, [&](int r) {
    kernels_.gelu_mul(rows_of(out).row(r), rows_of(gate).row(r), rows_of(up).row(r), out.width);
  });
}

void CpuOps::add(Matrix sum, Matrix x) {
  for_rows(sum.rows, sum.width, [&](int r) {
    float* to = rows_of(sum).row(r);
    const float* more = rows_of(x).row(r);
    for (int i = 0; i < sum.width; ++i) to[i] += more[i];
  });
}

void CpuOps::sigmoid_gate(Matrix out, Matrix gate) {
  for_rows(out.rows, out.width, [&](int r) {
    kernels_.sigmoid_gate(rows_of(out).row(r), rows_of(gate).row(r), out.width);
  });
}

void CpuOps::gated_norm(Matrix out, Matrix x, Matrix gate, const Vector& weight, float eps) {
  for_rows(x.rows, x.width, [&](int r) {
    for (int head = 0; head < x.width; head += weight.size) {
      kernels_.gated_norm(rows_of(out).row(r) + head, rows_of(x).row(r) + head,
                          rows_of(gate).row(r) + head, values_of(weight), weight.size, eps);
    }
  });
}

void CpuOps::split_heads(Matrix first, Matrix second, Matrix x, int heads) {
  const std::size_t d = std::size_t(first.width / heads);
  for_rows(x.rows, x.width, [&](int r) {
    const float* from = rows_of(x).row(r);
    for (int head = 0; head < heads; ++head, from += 2 * d) {
      std::memcpy(rows_of(first).row(r) + head * d, from, d * sizeof(float));
      std::memcpy(rows_of(second).row(r) + head * d, from + d, d * sizeof(float));
    }
  });
}

void CpuOps::gather(Matrix out, Matrix x, std::span<const int> rows) {
  for (int i = 0; i < out.rows; ++i) {
    std::memcpy(rows_of(out).row(i), rows_of(x).row(rows[i]), std::size_t(x.width) * sizeof(float));
  }
}

std::unique_ptr<Ops> make_cpu_ops(Precision precision, int threads, const std::string& isa,
                                  Activations activations) {
  if (threads < 1 || threads > 1024) {
    bad_input("the CPU back end cannot run on {} threads; give 1 to 1024", threads);
  }
  return std::make_unique<CpuOps>(precision, threads, choose_isa(isa), activations);
}

}  // namespace counterbeam
