#include "model/weights.h"

#include <cmath>

namespace counterbeam {
namespace {

// The scale at which a random matrix preserves the variance of its input.
float matrix_scale(std::int64_t in) {
  return std::sqrt(3.0f / static_cast<float>(in));
}

}  // namespace

std::unique_ptr<PackedMatrix> WeightSource::pack(WeightOps& ops, std::span<const Rows> parts,
                                                 int in) {
  std::vector<StoredMatrix> matrices;
  for (const Rows& part : parts) matrices.push_back(matrix(part.name, part.out, in));
  will_read(parts);
  return ops.pack(matrices);
}

RandomWeights::RandomWeights(DType dtype, std::uint64_t seed)
    : dtype_(dtype), key_{.seed = seed, .use = DrawUse::WeightVectors} {}

TensorView RandomWeights::get(const std::string& name, const Shape& shape) {
  const bool is_norm = name.find("norm.weight") != std::string::npos;
  const float scale = shape.rank() == 2 ? matrix_scale(shape[1]) : is_norm ? 0.2f : 0.5f;
  const float offset = is_norm ? 0.5f : 0.0f;
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  for (float& value : values) {
    ++key_.position;
    value = offset + scale * static_cast<float>(2 * uniform(key_) - 1);
  }
  tensors_.push_back(Tensor::from_f32(values, dtype_, shape));
  return tensors_.back().view();
}

std::unique_ptr<PackedMatrix> RandomWeights::pack(WeightOps& ops, std::span<const Rows> parts,
                                                  int in) {
  int out = 0;
  for (const Rows& part : parts) out += part.out;
  return ops.pack_random(out, in, matrix_scale(in), key_.seed + ++key_.block);
}

}  // namespace counterbeam
