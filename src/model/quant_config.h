// What the config of a checkpoint says about its quantised weights: quantization_config (older:
// compression_config) of config.json, or the files quantize_config.json and quant_config.json. It
// says how the tensors of a module are to be read. Which modules are quantised is said by the
// tensors themselves: the lists of skipped modules differ between tools, and are not relied on.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"

namespace counterbeam {

enum class QuantMethod { Fp8, CompressedTensors, Awq, Gptq };

std::string_view name_of(QuantMethod method);  // as in quant_method

constexpr int kGroupOfScales = -1;  // the group size follows from the number of scales

// How the weights of a module are quantised.
struct QuantScheme {
  int bits = 8;           // 4 or 8; 2 to 8 for integers that are stored as bytes
  bool is_float = false;  // FP8 (E4M3)
  bool symmetric = true;  // false: there are zero points
  int group = 0;          // inputs that share a scale; 0: all of a row; or kGroupOfScales
  int block_rows = 0;     // > 0: outputs that share it too
  friend bool operator==(const QuantScheme&, const QuantScheme&) = default;
};

class NamePattern;

struct QuantConfig {
  // A scheme for the modules whose names match, or none: these are not quantised.
  struct Rule {
    std::shared_ptr<const NamePattern> pattern;  // null: every module
    std::optional<QuantScheme> scheme;
  };

  QuantMethod method = QuantMethod::Fp8;
  std::string file;             // where it was read
  std::vector<Rule> rules;      // the first one that matches counts
  bool zeros_less_one = false;  // GPTQ's first format: zero points are stored less one
  bool decoded = false;         // format dense: scales beside plain weights are not used

  // The scheme of a module ("model.layers.0.mlp.up_proj"); none if no rule gives one. Of several
  // rules that match, the first whose scheme `fits` what is stored. If there is none, the one
  // scheme of all rules that fits, because tools may name modules by other prefixes than the files;
  // else the first that matches.
  std::optional<QuantScheme> scheme_of(
      const std::string& module,
      const std::function<bool(const QuantScheme&)>& fits = nullptr) const;
  // "awq, 4 bits in groups of 128"
  std::string description() const;
};

// A value of quantization_config. `file` and `path` ("quantization_config.") open messages. Throws
// an Error that names the key if a method, format or option is not supported.
QuantConfig parse_quant_config(const Json& json, const std::string& file, const std::string& path);

// The same from the file that older checkpoints have beside config.json; none if there is none.
std::optional<QuantConfig> read_old_quant_config(const std::filesystem::path& folder);

}  // namespace counterbeam
