// The part of reading a config that goes layer by layer, and the bounds on sizes that keep every
// product of them within int64.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json_fields.h"
#include "model/config.h"

namespace counterbeam {

// Larger than any model, small enough that products of three of them fit int64.
inline constexpr std::int64_t kMaxWidth = 1 << 20, kMaxLayers = 4096, kMaxVocab = 1 << 24;
inline constexpr std::int64_t kMaxPositions = std::int64_t{1} << 30;

// A whole number from 1 to `high`; an Error where the key is absent.
int required_size(const JsonFields& fields, std::string_view key, std::int64_t high);
int optional_size(const JsonFields& fields, std::string_view key, std::int64_t high,
                  std::int64_t otherwise);

// Fills layers and delta of a config whose architecture and model_type are set.
void read_layers(const JsonFields& fields, ModelConfig& config);

}  // namespace counterbeam
