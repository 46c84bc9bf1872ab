// The tensors of a model in GGUF under the names of transformers: how each is called in the file,
// and in which order its rows and columns are stored. llama.cpp's converter renames tensors and
// moves rows and columns of some, which is undone here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"
#include "tensor/shape.h"

namespace counterbeam {

// "blk.3.attn_q.weight" for "layers.3.self_attn.q_proj.weight". REQUIRES: a name that a model of
// the architecture asks for
std::string gguf_name(std::string_view name, Architecture architecture);

// Row i (element i of a vector) is the stored row order[i]; empty: all are where they should be.
std::vector<std::int32_t> stored_row_order(std::string_view name, const ModelConfig& config,
                                           std::int64_t rows);
// The same for the columns of a matrix.
std::vector<std::int32_t> stored_column_order(std::string_view name, const ModelConfig& config);

// The shape as it is compared: GGUF lists extents from the last axis on, and any number of ones may
// follow, which are leading ones here.
Shape without_leading_ones(const Shape& shape);

// Whether the tensor is stored as -exp(x).
bool is_stored_as_negative_exp(std::string_view name);

}  // namespace counterbeam
