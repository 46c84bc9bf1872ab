#include "model/gguf_weights.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/quote.h"
#include "model/gguf_config.h"
#include "model/gguf_names.h"
#include "tensor/non_finite.h"

namespace counterbeam {
namespace {

using Order = std::vector<std::int32_t>;

// The number in "blk.12.attn_q.weight" (the largest int for one that is larger still); -1 for a
// tensor outside of layers.
int layer_of(std::string_view name) {
  constexpr std::string_view kStart = "blk.";
  if (!name.starts_with(kStart)) return -1;
  int layer = -1;
  const auto [end, error] =
      std::from_chars(name.data() + kStart.size(), name.data() + name.size(), layer);
  return error == std::errc::result_out_of_range ? std::numeric_limits<int>::max() : layer;
}

std::optional<DType> plain_dtype(GgmlType type) {
  if (type == GgmlType::F32) return DType::F32;
  if (type == GgmlType::F16) return DType::F16;
  if (type == GgmlType::BF16) return DType::BF16;
  return std::nullopt;
}

// The tensor as a matrix: its rows are the last axis.
std::int64_t row_width(const Shape& shape) {
  return shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
}

void read_stored_row(const GgufTensor& tensor, std::int64_t row, std::span<float> to) {
  const std::size_t bytes = row_bytes_of(tensor.type, static_cast<std::int64_t>(to.size()));
  const std::byte* from = tensor.data.data() + static_cast<std::size_t>(row) * bytes;
  if (const auto dtype = plain_dtype(tensor.type)) return to_f32(*dtype, from, to);
  BlockMatrix{1, static_cast<int>(to.size()), tensor.type, from}.read(0, 0, to);
}

// Convolutions have an axis of one element that the file leaves out.
Shape stored_shape(const Shape& shape) {
  return shape.rank() == 3 && shape[1] == 1 ? Shape{shape[0], shape[2]} : shape;
}

}  // namespace

GgufWeights::GgufWeights(GgufCheckpoint checkpoint, ModelConfig config, LoadProgress progress)
    : checkpoint_(std::move(checkpoint)),
      config_(std::move(config)),
      draft_layers_(gguf_draft_layers(checkpoint_.metadata(), checkpoint_.name())),
      progress_(std::move(progress)) {
  refuse_unknown_layers();
}

// A model that lost layers on the way still answers, only worse.
void GgufWeights::refuse_unknown_layers() const {
  const int layers = config_.layer_count() + draft_layers_;
  for (const GgufTensor& tensor : checkpoint_.tensors())
    if (layer_of(tensor.name) >= layers)
      bad_input(
          "{}: has tensor {}, but its metadata has {} layers (block_count), from 0; convert "
          "the model again",
          checkpoint_.name(), in_quotes(tensor.name), layers);
}

const GgufTensor& GgufWeights::find(const std::string& name, const Shape& shape) {
  const std::string own = gguf_name(name, config_.architecture);
  const GgufTensor* tensor = checkpoint_.find(own);
  if (tensor == nullptr) {
    // The names lie in the mapped files, so a file that changed may have lost some.
    checkpoint_.check_files();
    bad_input("{}: tensor {} {} is missing; the metadata asks for it: convert the model again",
              checkpoint_.name(), own, shape.to_string());
  }
  used_.insert(own);
  if (without_leading_ones(tensor->shape) != without_leading_ones(shape))
    bad_input("{}: tensor {} has shape {}, but the metadata asks for {}; convert the model again",
              checkpoint_.name(), own, tensor->shape.to_string(), shape.to_string());
  if (!plain_dtype(tensor->type) && !is_block_type(tensor->type))
    bad_input("{}: tensor {} is {}, which is not supported (supported: F32, F16, BF16, {})",
              checkpoint_.name(), own, name_of(tensor->type), block_type_names());
  pending_.push_back(own);
  return *tensor;
}

// Vectors, and the convolution, whose rows are its channels.
TensorView GgufWeights::get(const std::string& name, const Shape& shape) {
  const Shape stored = stored_shape(shape);
  const GgufTensor& tensor = find(name, stored);
  const Order order = stored_row_order(name, config_, shape[0]);
  const auto dtype = plain_dtype(tensor.type);
  if (dtype && order.empty() && !is_stored_as_negative_exp(name))
    return {*dtype, shape, tensor.data.data()};
  const auto width = static_cast<std::size_t>(row_width(stored));
  Tensor& copy = tensors_.emplace_back(DType::F32, shape);
  const std::span<float> to = copy.values<float>();
  std::vector<float> row(width);
  for (std::size_t i = 0; width > 0 && i < to.size() / width; ++i) {
    const bool moved = stored.rank() > 1 && !order.empty();
    read_stored_row(tensor, moved ? order[i] : static_cast<std::int64_t>(i), row);
    for (std::size_t j = 0; j < width; ++j)
      to[i * width + j] =
          row[stored.rank() == 1 && !order.empty() ? static_cast<std::size_t>(order[j]) : j];
  }
  if (is_stored_as_negative_exp(name))
    for (float& value : to) {
      if (value > 0)
        bad_input(
            "{}: tensor {} holds {}, but it is a negative exponential; convert the model again",
            checkpoint_.name(), tensor.name, value);
      value = std::log(-value);
    }
  return copy.view();
}

StoredMatrix GgufWeights::matrix(const std::string& name, int out, int in) {
  const GgufTensor& tensor = find(name, {out, in});
  const Order& rows = orders_.emplace_back(stored_row_order(name, config_, out));
  const Order& columns = orders_.emplace_back(stored_column_order(name, config_));
  if (const auto dtype = plain_dtype(tensor.type))
    return StoredMatrix(DenseMatrix{{*dtype, {out, in}, tensor.data.data()}, rows, columns});
  return BlockMatrix{out, in, tensor.type, tensor.data.data(), rows, columns};
}

void GgufWeights::will_read(std::span<const Rows> parts) {
  for (const Rows& part : parts) checkpoint_.will_need(gguf_name(part.name, config_.architecture));
}

void GgufWeights::look_for_non_finite(const GgufTensor& tensor) {
  if (!non_finite_.empty()) return;
  const auto dtype = plain_dtype(tensor.type);
  if (!dtype) {
    if (const auto block = first_non_finite_block(tensor.type, tensor.data))
      non_finite_ =
          fmt::format("tensor {}, block {}, has a scale that is not finite", tensor.name, *block);
    return;
  }
  const TensorView view{*dtype, tensor.shape, tensor.data.data()};
  if (const auto at = first_non_finite(view))
    non_finite_ = fmt::format("tensor {}, element {} of {}, is {}", tensor.name, *at,
                              view.shape.elements(), value_at(view, *at));
}

void GgufWeights::done() {
  for (const std::string& name : pending_) {
    const GgufTensor* tensor = checkpoint_.find(name);
    if (tensor == nullptr) {
      checkpoint_.check_files();
      failed("{}: tensor {} disappeared while the file was read; wait until nothing writes to it",
             checkpoint_.name(), name);
    }
    bytes_done_ += static_cast<std::int64_t>(tensor->data.size());
    look_for_non_finite(*tensor);
    checkpoint_.check(name);  // after the last byte was read
    checkpoint_.done_with(name);
  }
  pending_.clear();
  tensors_.clear();
  orders_.clear();
  if (progress_) progress_(bytes_done_);
}

StoredWeights::Extent GgufWeights::extent() const {
  return {checkpoint_.files().size(), checkpoint_.tensors().size(),
          static_cast<std::int64_t>(checkpoint_.bytes())};
}

DType GgufWeights::dtype() const {
  return config_.dtype.value_or(DType::F32);
}

bool GgufWeights::quantised() const {
  const auto tensors = checkpoint_.tensors();
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const GgufTensor& tensor) { return is_block_type(tensor.type); });
}

std::string GgufWeights::quantisation() const {
  std::map<GgmlType, std::size_t> bytes;
  for (const GgufTensor& tensor : checkpoint_.tensors())
    if (is_block_type(tensor.type)) bytes[tensor.type] += tensor.data.size();
  std::vector<std::pair<std::size_t, GgmlType>> sorted;
  for (const auto& [type, size] : bytes) sorted.emplace_back(size, type);
  std::sort(sorted.rbegin(), sorted.rend());
  std::string text;
  for (const auto& [size, type] : sorted)
    text += fmt::format("{}{}", text.empty() ? "gguf " : ", ", name_of(type));
  return text;
}

std::vector<std::string> GgufWeights::unexpected() const {
  std::vector<std::string> names;
  for (const GgufTensor& tensor : checkpoint_.tensors()) {
    const bool known = tensor.name == "rope_freqs.weight" ||
                       tensor.name.starts_with("rope_factors_") ||
                       layer_of(tensor.name) >= config_.layer_count();
    if (!known && !used_.contains(tensor.name)) names.emplace_back(tensor.name);
  }
  return names;
}

}  // namespace counterbeam
