// One quantised module of a checkpoint while it is read: finds its tensors, checks that dtypes and
// shapes fit the model and each other, and describes them as a ScaledMatrix. Errors name the
// tensor.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/quant_config.h"
#include "tensor/checkpoint.h"
#include "tensor/scaled_matrix.h"

namespace counterbeam {

inline int ceil_div(std::int64_t a, std::int64_t b) {
  return static_cast<int>((a + b - 1) / b);
}

struct QuantReading {
  const Checkpoint& checkpoint;
  const QuantConfig& config;
  const std::string& module;
  std::vector<std::string>& names;
  std::optional<QuantScheme> scheme;  // as the config says
  ScaledMatrix matrix;

  // FP8, and integers stored as bytes.
  void read_bytes();
  // pack-quantized of compressed-tensors.
  void read_packed();
  void read_awq();
  void read_gptq();

 private:
  std::string folder() const;
  // What does not fit was damaged, or written by a tool that means something else by it.
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    bad_input("{}: {}; download or quantise the checkpoint again", folder(),
              fmt::format(format, std::forward<Args>(args)...));
  }
  const TensorView* find(std::string_view suffix);
  const TensorView& at(std::string_view suffix);
  void check_shape(std::string_view suffix, const TensorView& view, const Shape& shape) const;
  void check_dtype(std::string_view suffix, const TensorView& view,
                   std::initializer_list<DType> allowed) const;
  void take_scales(std::string_view suffix, const TensorView& view);
  void set_group(int size);
  // `may_be_unset`: -1 everywhere stands for inputs in order.
  void take_order(std::string_view suffix, bool may_be_unset);
  // The scales of bytes and of weights packed along rows: one for all, one per row, one per group
  // of a row, or one per block. The config says the sizes of groups and blocks, and the shape must
  // fit.
  void take_grid(std::string_view suffix);
  // Without weight_block_size, a grid of scales that fits blocks of the usual size is read as that.
  void use_default_blocks(std::string_view scale);
  bool wants_zeros() const;
  // Without a rule for the module, the number of scales says the size of a group, if it divides.
  void infer_group();
  void check_stored_shape(const TensorView& view) const;
  // The scales [groups, out] of AWQ and GPTQ.
  void take_scales_by_group();
  void take_zeros(ScaledMatrix::Zeros layout);
  // The size of groups if each row of .scales is one group; 0 if the inputs do not divide evenly.
  int group_of_scales() const;
};

}  // namespace counterbeam
