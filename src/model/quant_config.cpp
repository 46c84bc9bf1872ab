#include "model/quant_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/file.h"
#include "base/json_fields.h"
#include "base/lower_case.h"
#include "base/quote.h"
#include "model/quant_compressed.h"
#include "model/quant_rules.h"
#include "text/regex_parse.h"

namespace counterbeam {
namespace {

constexpr std::size_t kMaxQuantFileBytes = std::size_t{1} << 20;
constexpr std::string_view kMethods = "fp8, compressed-tensors, awq, gptq";

struct MethodName {
  QuantMethod method;
  std::string_view name;
};
constexpr std::array kMethodNames{
    MethodName{QuantMethod::Fp8, "fp8"},
    MethodName{QuantMethod::CompressedTensors, "compressed-tensors"},
    MethodName{QuantMethod::Awq, "awq"},
    MethodName{QuantMethod::Gptq, "gptq"},
};

QuantMethod read_method(const JsonFields& fields) {
  auto name = fields.string("quant_method");
  // Early files of compressed-tensors do not name themselves, or with an underscore.
  if (!name && fields.has("config_groups")) name = "compressed-tensors";
  if (name && *name == "compressed_tensors") name = "compressed-tensors";
  if (!name) fields.missing("quant_method", fmt::format("one of {}", kMethods));
  for (const MethodName& known : kMethodNames)
    if (known.name == *name) return known.method;
  fields.wrong("quant_method",
               fmt::format("is not supported (supported: {}); use a checkpoint of one of these, or "
                           "the original one",
                           kMethods));
}

// -1 stands for a whole row.
int group_size(const JsonFields& fields, std::string_view key, std::optional<int> otherwise = {}) {
  const auto size = fields.integer(key, -1, kMaxQuantGroup);
  if (!size && otherwise) return *otherwise;
  if (!size) fields.missing(key, "the number of inputs that share a scale");
  if (*size == 0) fields.wrong(key, "is not allowed; it is -1 or a positive number");
  return *size < 0 ? 0 : static_cast<int>(*size);
}

// Only GPTQModel's FP8 has these keys. Its weight_scale_inv holds what weights are divided by.
void refuse_dividing_scales(const JsonFields& fields) {
  constexpr std::string_view kProblem =
      "is not supported: its weights are divided by the scales; use a checkpoint whose weights are "
      "multiplied by them";
  if (fields.has("weight_scale_semantics")) fields.wrong("weight_scale_semantics", kProblem);
  if (fields.has("weight_scale_method")) fields.wrong("weight_scale_method", kProblem);
}

void read_fp8(const JsonFields& fields, QuantConfig& config) {
  QuantScheme scheme{.bits = 8, .is_float = true};
  refuse_dividing_scales(fields);
  if (const auto format = fields.string("fmt"); format && *format != "e4m3")
    fields.wrong("fmt", "is not supported (supported: e4m3)");
  if (const auto format = fields.string("scale_fmt");
      format && *format != "float" && *format != "ue8m0")
    fields.wrong("scale_fmt", "is not known (known: float, ue8m0)");
  if (const auto activations = fields.string("activation_scheme");
      activations && *activations != "dynamic" && *activations != "static")
    fields.wrong("activation_scheme", "is not known (known: dynamic, static)");
  if (const Json* block = fields.array("weight_block_size")) {
    const auto size = block_size(fields, "weight_block_size", *block);
    scheme.block_rows = size.first;
    scheme.group = size.second;
  }
  config.rules.push_back({nullptr, scheme});
}

void read_awq(const JsonFields& fields, QuantConfig& config) {
  const char* bits_key = fields.has("w_bit") ? "w_bit" : "bits";
  const auto bits = fields.integer(bits_key, 1, 64);
  if (!bits) fields.missing(bits_key, "the number of bits of a weight");
  if (*bits != 4) fields.wrong(bits_key, "is not supported; AWQ checkpoints have 4 bits");
  for (const char* key : {"version", "format", "checkpoint_format"})
    if (const auto version = fields.string(key); version && to_lower_case(*version) != "gemm")
      fields.wrong(key, "is not supported (supported: gemm); its tensors are laid out differently");
  if (const auto maker = fields.string("backend"); maker && to_lower_case(*maker) == "llm-awq")
    fields.wrong("backend", "is not supported; its tensors are laid out differently");
  const char* group_key = fields.has("q_group_size") ? "q_group_size" : "group_size";
  const QuantScheme scheme{
      .bits = 4, .symmetric = false, .group = group_size(fields, group_key, kGroupOfScales)};
  config.rules.push_back({nullptr, scheme});
}

int gptq_bits(const JsonFields& fields, std::optional<int> otherwise = {}) {
  const auto bits = fields.integer("bits", 1, 64);
  if (!bits && otherwise) return *otherwise;
  if (!bits) fields.missing("bits", "the number of bits of a weight");
  if (*bits != 4 && *bits != 8) fields.wrong("bits", "is not supported (supported for GPTQ: 4, 8)");
  return static_cast<int>(*bits);
}

// "-:REGEX": not quantised. "+:REGEX" or "REGEX": with other bits or groups.
void read_dynamic(const JsonFields& fields, const Json& dynamic, const QuantScheme& general,
                  QuantConfig& config) {
  for (const auto& [key, value] : dynamic.items()) {
    std::string_view pattern = key;
    const bool plain = pattern.starts_with("-:");
    if (plain || pattern.starts_with("+:")) pattern.remove_prefix(2);
    QuantConfig::Rule rule{name_regex(fields, "dynamic", pattern), std::nullopt};
    if (!plain) {
      if (!value.is_object())
        fields.wrong("dynamic", fmt::format("has no settings for {}", in_quotes(key)));
      const JsonFields own(value, fields.file(), fmt::format("dynamic.{}.", printable(key)));
      rule.scheme = general;
      rule.scheme->bits = gptq_bits(own, general.bits);
      rule.scheme->group = group_size(own, "group_size", general.group);
    }
    config.rules.push_back(std::move(rule));
  }
}

void read_gptq(const JsonFields& fields, QuantConfig& config) {
  const char* format_key = fields.has("checkpoint_format") ? "checkpoint_format" : "format";
  const std::string format = to_lower_case(fields.string(format_key).value_or("gptq"));
  if (format != "gptq" && format != "gptq_v2")
    fields.wrong(format_key, "is not supported (supported: gptq, gptq_v2)");
  if (const auto other = fields.string("format"); other && to_lower_case(*other) != format)
    fields.wrong("format", fmt::format("is not {}, as checkpoint_format says; one of them is wrong",
                                       in_quotes(format)));
  if (const Json* rotation = fields.find("rotation"); rotation && *rotation != "")
    fields.wrong("rotation", "is not supported; use a checkpoint without rotations");
  if (fields.boolean("is_marlin_format").value_or(false))
    fields.wrong("is_marlin_format", "is not supported; use a checkpoint in the format gptq");
  if (const auto words = fields.string("pack_dtype"); words && *words != "int32")
    fields.wrong("pack_dtype", "is not supported (supported: int32)");
  fields.boolean("desc_act");
  fields.boolean("sym");
  config.zeros_less_one = format == "gptq";
  const QuantScheme general{
      .bits = gptq_bits(fields), .symmetric = false, .group = group_size(fields, "group_size")};
  if (const Json* dynamic = fields.find("dynamic")) {
    if (!dynamic->is_object()) fields.wrong("dynamic", "is not an object");
    if (dynamic->size() > kMaxQuantRules)
      fields.wrong("dynamic", fmt::format("has {} rules, more than the limit of {}",
                                          dynamic->size(), kMaxQuantRules));
    read_dynamic(fields, *dynamic, general, config);
  }
  config.rules.push_back({nullptr, general});
}

// The scheme that fits, whatever modules its rules name, if there is one alone.
std::optional<QuantScheme> only_fitting(const std::vector<QuantConfig::Rule>& rules,
                                        const std::function<bool(const QuantScheme&)>& fits) {
  std::optional<QuantScheme> found;
  for (const QuantConfig::Rule& rule : rules) {
    if (!rule.scheme || rule.scheme == found || !fits(*rule.scheme)) continue;
    if (found) return std::nullopt;
    found = rule.scheme;
  }
  return found;
}

}  // namespace

std::string_view name_of(QuantMethod method) {
  for (const MethodName& known : kMethodNames)
    if (known.method == method) return known.name;
  return "";
}

std::optional<QuantScheme> QuantConfig::scheme_of(
    const std::string& module, const std::function<bool(const QuantScheme&)>& fits) const {
  const Rule* first = nullptr;
  try {
    for (const Rule& rule : rules) {
      if (rule.pattern && !rule.pattern->matches(module)) continue;
      if (!fits || (rule.scheme && fits(*rule.scheme))) return rule.scheme;
      if (!first) first = &rule;
    }
  } catch (const RegexProblem& problem) {
    bad_input("{}: a rule for quantised modules cannot be applied to {}: {}", file,
              in_quotes(module), problem.what);
  }
  if (const auto other = fits ? only_fitting(rules, fits) : std::nullopt) return other;
  return first ? first->scheme : std::nullopt;
}

std::string QuantConfig::description() const {
  std::vector<QuantScheme> schemes;
  for (const Rule& rule : rules)
    if (rule.scheme && std::find(schemes.begin(), schemes.end(), *rule.scheme) == schemes.end())
      schemes.push_back(*rule.scheme);
  std::string text(name_of(method));
  for (const QuantScheme& scheme : schemes) {
    text += &scheme == schemes.data() ? ", " : " and ";
    text += scheme.is_float ? "FP8" : fmt::format("{} bits", scheme.bits);
    if (scheme.block_rows > 0)
      text += fmt::format(" in blocks of {} x {}", scheme.block_rows, scheme.group);
    else if (scheme.group > 0)
      text += fmt::format(" in groups of {}", scheme.group);
  }
  return text;
}

QuantConfig parse_quant_config(const Json& json, const std::string& file, const std::string& path) {
  if (!json.is_object())
    bad_input("{}: {} is not an object", file, path.substr(0, path.size() - 1));
  const JsonFields fields(json, file, path);
  QuantConfig config;
  config.file = file;
  config.method = read_method(fields);
  switch (config.method) {
    case QuantMethod::Fp8:
      read_fp8(fields, config);
      break;
    case QuantMethod::CompressedTensors:
      read_compressed(fields, config);
      break;
    case QuantMethod::Awq:
      read_awq(fields, config);
      break;
    case QuantMethod::Gptq:
      read_gptq(fields, config);
      break;
  }
  return config;
}

// AutoGPTQ and AutoAWQ wrote these files, often without a quant_method. Only AWQ has the keys
// version, w_bit and q_group_size.
std::optional<QuantConfig> read_old_quant_config(const std::filesystem::path& folder) {
  for (const char* name : {"quantize_config.json", "quant_config.json"}) {
    const std::filesystem::path path = folder / name;
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    Json json = parse_json(read_file(path, kMaxQuantFileBytes), path.string());
    if (!json.is_object()) bad_input("{}: is not a JSON object", path.string());
    if (!json.contains("quant_method")) {
      const bool awq =
          json.contains("version") || json.contains("w_bit") || json.contains("q_group_size");
      json["quant_method"] = awq ? "awq" : "gptq";
    }
    return parse_quant_config(json, path.string(), "");
  }
  return std::nullopt;
}

}  // namespace counterbeam
