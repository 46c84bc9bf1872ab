// Reads the per-layer part of a config, and defines the limits on sizes that keep their products
// within int64.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json_fields.h"
#include "model/config.h"

namespace counterbeam {

// Larger than in any model, and small enough that products of three of them fit int64.
inline constexpr std::int64_t kMaxWidth = 1 << 20, kMaxLayers = 4096, kMaxVocab = 1 << 24;
inline constexpr std::int64_t kMaxPositions = std::int64_t{1} << 30;

// An integer from 1 to `high`. Throws Error if the key is absent.
int required_size(const JsonFields& fields, std::string_view key, std::int64_t high);
int optional_size(const JsonFields& fields, std::string_view key, std::int64_t high,
                  std::int64_t otherwise);

// Gemma 3 has a default for every size: published files whose text model is wrapped leave out what
// is equal to it. An Error for other architectures where the key is absent.
int size_of(const JsonFields& fields, const ModelConfig& config, std::string_view key,
            std::int64_t high, std::int64_t of_gemma3);

// Fills in layers and delta. REQUIRES: architecture and model_type are set
void read_layers(const JsonFields& fields, ModelConfig& config);

}  // namespace counterbeam
