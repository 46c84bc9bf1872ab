// The part of quantization_config that is particular to compressed-tensors (config_groups, targets,
// formats), and the pieces that all methods share. Included by the quantised readers only.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "base/json_fields.h"
#include "model/quant_config.h"

namespace counterbeam {

inline constexpr int kMaxQuantGroup = 1 << 24;
// Real checkpoints have at most a few for every layer. The limit bounds time and memory for a
// hostile config: every regular expression is compiled, and every module is matched.
inline constexpr std::size_t kMaxQuantRules = 4096;

// [outputs, inputs] of a block.
std::pair<int, int> block_size(const JsonFields& fields, std::string_view key, const Json& block);

// A regular expression of a rule; an Error names the key if it cannot be understood.
std::shared_ptr<const NamePattern> name_regex(const JsonFields& fields, std::string_view key,
                                              std::string_view pattern);

// Adds the rules of a compressed-tensors config.
void read_compressed(const JsonFields& fields, QuantConfig& config);

}  // namespace counterbeam
