#include "model/weights.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "model/config_tensors.h"

namespace counterbeam {
namespace {

bool is_float(DType dtype) {
  return dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16;
}

}  // namespace

CheckpointWeights::CheckpointWeights(const Checkpoint& checkpoint, const ModelConfig& config,
                                     LoadProgress progress)
    : checkpoint_(checkpoint),
      config_(config),
      prefix_(body_prefix(checkpoint)),
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

std::vector<std::string> CheckpointWeights::unexpected() const {
  std::vector<std::string> names;
  for (const CheckpointTensor& tensor : checkpoint_.tensors()) {
    if (!used_.contains(tensor.name) && !is_known_extra(config_, tensor.name))
      names.push_back(tensor.name);
  }
  return names;
}

RandomWeights::RandomWeights(DType dtype, std::uint64_t seed) : dtype_(dtype) {
  block_.resize(65537);  // a prime, so that rows of a matrix do not repeat each other
  for (std::size_t i = 0; i < block_.size(); ++i) {
    const DrawKey key{.seed = seed, .position = static_cast<std::uint32_t>(i)};
    block_[i] = static_cast<float>(uniform(key) * 2 - 1);
  }
}

TensorView RandomWeights::get(const std::string& name, const Shape& shape) {
  const bool is_norm = name.find("norm.weight") != std::string::npos;
  const bool is_matrix = shape.rank() == 2;
  const float scale =
      is_matrix ? std::sqrt(3.0f / static_cast<float>(shape[1])) : (is_norm ? 0.2f : 0.5f);
  const float offset = is_norm ? 0.5f : 0.0f;
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  for (std::size_t done = 0; done < values.size();) {
    const std::size_t count = std::min(block_.size() - offset_, values.size() - done);
    for (std::size_t i = 0; i < count; ++i) values[done + i] = offset + scale * block_[offset_ + i];
    done += count;
    offset_ = (offset_ + count) % block_.size();
  }
  tensors_.push_back(Tensor::from_f32(values, dtype_, shape));
  return tensors_.back().view();
}

}  // namespace counterbeam
