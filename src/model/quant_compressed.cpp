#include "model/quant_compressed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/quote.h"
#include "model/quant_rules.h"
#include "text/regex_parse.h"

namespace counterbeam {
namespace {

constexpr std::array<std::string_view, 4> kFormats{"float-quantized", "int-quantized",
                                                   "naive-quantized", "pack-quantized"};
constexpr std::string_view kFormatNames =
    "float-quantized, int-quantized, naive-quantized, pack-quantized, mixed-precision";

void check_format(const JsonFields& fields, bool may_mix) {
  const auto format = fields.string("format");
  if (!format || std::find(kFormats.begin(), kFormats.end(), *format) != kFormats.end()) return;
  if (may_mix && (*format == "mixed-precision" || *format == "dense")) return;
  fields.wrong("format", fmt::format("is not supported (supported: {})", kFormatNames));
}

// Sparsity and rotations change what the weights mean.
void refuse_transforms(const JsonFields& fields) {
  if (const auto sparsity = fields.object("sparsity_config"))
    if (const auto format = sparsity->string("format"); format && *format != "dense")
      sparsity->wrong("format", "is not supported; use a checkpoint that is not sparse");
  if (const auto transform = fields.object("transform_config"))
    if (const Json* groups = transform->find("config_groups"); groups && !groups->empty())
      transform->wrong("config_groups", "is not supported; use a checkpoint without transforms");
}

bool is_float_type(const JsonFields& weights) {
  const std::string type = weights.string("type").value_or("int");
  if (type != "int" && type != "float") weights.wrong("type", "is not known (known: int, float)");
  return type == "float";
}

QuantScheme read_scheme(const JsonFields& weights) {
  QuantScheme scheme;
  scheme.is_float = is_float_type(weights);
  const auto bits = weights.integer("num_bits", 1, 64);
  scheme.bits = static_cast<int>(bits.value_or(8));
  if (scheme.is_float && scheme.bits != 8)
    weights.wrong("num_bits",
                  "is not supported for floats (supported: 8); NVFP4 and MXFP4 are not "
                  "read");
  if (scheme.bits != 4 && scheme.bits != 8)
    weights.wrong("num_bits", "is not supported (supported: 4, 8)");
  scheme.symmetric = weights.boolean("symmetric").value_or(true);
  if (scheme.is_float && !scheme.symmetric)
    weights.wrong("symmetric", "is not supported for floats");
  const auto group = weights.integer("group_size", -1, kMaxQuantGroup);
  if (group && *group == 0) weights.wrong("group_size", "is not allowed");
  const bool grouped = group && *group > 0;
  const std::string strategy = weights.string("strategy")
                                   .value_or(grouped ? "group"
                                             : group ? "channel"
                                                     : "tensor");
  if (strategy == "group") {
    if (!grouped) weights.missing("group_size", "the number of inputs that share a scale");
    scheme.group = static_cast<int>(*group);
  } else if (strategy == "block") {
    const Json* block = weights.array("block_structure");
    if (!block) weights.missing("block_structure", "the size of a block, as [128, 128]");
    std::tie(scheme.block_rows, scheme.group) = block_size(weights, "block_structure", *block);
  } else if (strategy != "channel" && strategy != "tensor") {
    weights.wrong("strategy", "is not supported (supported: tensor, channel, group, block)");
  }
  if (const Json* order = weights.find("actorder"); order && !order->is_boolean()) {
    const std::string name = *weights.string("actorder");
    if (name != "group" && name != "weight" && name != "static" && name != "dynamic")
      weights.wrong("actorder", "is not known (known: group, weight)");
  }
  return scheme;
}

// An exact name, "re:" and a regular expression, or the name of a class: all modules that are
// quantised are of one class.
QuantConfig::Rule rule_for(const JsonFields& group, const Json& target, const QuantScheme& scheme) {
  if (!target.is_string()) group.wrong("targets", "holds something that is not a string");
  const std::string name = target.get<std::string>();
  if (name.starts_with("re:"))
    return {name_regex(group, "targets", std::string_view(name).substr(3)), scheme};
  const bool is_class = name.find('.') == std::string::npos && name != "lm_head";
  if (is_class) return {nullptr, scheme};
  return {std::make_shared<NamePattern>(NamePattern::exact(name)), scheme};
}

// Exact names and regular expressions before classes: the closer match counts.
void add_group(const JsonFields& group, std::vector<QuantConfig::Rule>& named,
               std::vector<QuantConfig::Rule>& classes) {
  check_format(group, false);
  const auto weights = group.object("weights");
  if (!weights) return;  // a group for activations alone
  const QuantScheme scheme = read_scheme(*weights);
  const Json* targets = group.array("targets");
  if (!targets) group.missing("targets", "the names of the modules");
  for (const Json& target : *targets) {
    QuantConfig::Rule rule = rule_for(group, target, scheme);
    (rule.pattern ? named : classes).push_back(std::move(rule));
  }
}

}  // namespace

std::pair<int, int> block_size(const JsonFields& fields, std::string_view key, const Json& block) {
  const auto good = [](const Json& size) {
    return size.is_number_integer() && size > 0 && size <= kMaxQuantGroup;
  };
  if (block.size() != 2 || !good(block[0]) || !good(block[1]))
    fields.wrong(key, "is not two positive numbers");
  return {block[0].get<int>(), block[1].get<int>()};
}

std::shared_ptr<const NamePattern> name_regex(const JsonFields& fields, std::string_view key,
                                              std::string_view pattern) {
  try {
    return std::make_shared<NamePattern>(NamePattern::regex(pattern));
  } catch (const RegexProblem& problem) {
    fields.wrong(key, fmt::format("has the regular expression {}, which cannot be used: {}",
                                  in_quotes(pattern), problem.what));
  }
}

void read_compressed(const JsonFields& fields, QuantConfig& config) {
  check_format(fields, true);
  refuse_transforms(fields);
  if (const Json* ignore = fields.array("ignore"))
    for (const Json& name : *ignore)
      if (!name.is_string()) fields.wrong("ignore", "holds something that is not a string");
  const Json* groups = fields.find("config_groups");
  if (!groups) fields.missing("config_groups", "the schemes of the modules");
  if (!groups->is_object()) fields.wrong("config_groups", "is not an object");
  std::vector<QuantConfig::Rule> classes;
  for (const auto& [name, value] : groups->items()) {
    const std::string path = fmt::format("quantization_config.config_groups.{}", printable(name));
    if (!value.is_object()) bad_input("{}: {} is not an object", fields.file(), path);
    add_group(JsonFields(value, fields.file(), path + "."), config.rules, classes);
  }
  config.rules.insert(config.rules.end(), classes.begin(), classes.end());
}

}  // namespace counterbeam
