#include "model/weights.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "model/config_tensors.h"

namespace counterbeam {
namespace {

bool is_float(DType dtype) {
  return dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16;
}

// Keeps the variance of what it multiplies.
float matrix_scale(std::int64_t in) {
  return std::sqrt(3.0f / static_cast<float>(in));
}

}  // namespace

std::unique_ptr<PackedMatrix> WeightSource::pack(WeightOps& ops, std::span<const Rows> parts,
                                                 int in) {
  std::vector<TensorView> views;
  for (const Rows& part : parts) views.push_back(get(part.name, {part.out, in}));
  return ops.pack(views);
}

CheckpointWeights::CheckpointWeights(Checkpoint checkpoint, const ModelConfig& config,
                                     LoadProgress progress)
    : checkpoint_(std::move(checkpoint)),
      config_(config),
      prefix_(body_prefix(checkpoint_)),
      progress_(std::move(progress)) {}

TensorView CheckpointWeights::get(const std::string& name, const Shape& shape) {
  const std::string full = name == "lm_head.weight" ? lm_head_name(checkpoint_) : prefix_ + name;
  const TensorView* view = checkpoint_.find(full);
  const std::string folder = checkpoint_.folder().string();
  if (view == nullptr) {
    bad_input("{}: tensor {} {} is missing; config.json asks for it", folder, full,
              shape.to_string());
  }
  if (view->shape != shape) {
    bad_input("{}: tensor {} has shape {}, but config.json asks for {}", folder, full,
              view->shape.to_string(), shape.to_string());
  }
  if (!is_float(view->dtype)) {
    bad_input("{}: tensor {} is {}; only F32, BF16 and F16 weights are supported", folder, full,
              name_of(view->dtype));
  }
  checkpoint_.will_need(full);
  used_.insert(full);
  pending_.push_back(full);
  return *view;
}

void CheckpointWeights::done() {
  for (const std::string& name : pending_) {
    bytes_done_ += static_cast<std::int64_t>(checkpoint_.at(name).bytes());
    checkpoint_.done_with(name);
  }
  pending_.clear();
  if (progress_) progress_(bytes_done_);
}

StoredWeights::Extent CheckpointWeights::extent() const {
  return {checkpoint_.files().size(), checkpoint_.tensors().size(),
          static_cast<std::int64_t>(checkpoint_.bytes())};
}

DType CheckpointWeights::dtype() const {
  return checkpoint_.at(prefix_ + "embed_tokens.weight").dtype;
}

std::vector<std::string> CheckpointWeights::unexpected() const {
  std::vector<std::string> names;
  for (const CheckpointTensor& tensor : checkpoint_.tensors()) {
    if (!used_.contains(tensor.name) && !is_known_extra(config_, tensor.name))
      names.push_back(tensor.name);
  }
  return names;
}

RandomWeights::RandomWeights(DType dtype, std::uint64_t seed) : dtype_(dtype), key_{.seed = seed} {}

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
