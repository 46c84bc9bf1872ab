#include "model/quant_compressed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "base/error.h"
#include "base/lower_case.h"
#include "base/quote.h"
#include "model/quant_rules.h"
#include "text/regex_parse.h"

namespace counterbeam {
namespace {

constexpr std::array<std::string_view, 5> kFormats{
    "float-quantized", "int-quantized", "mxfp8-quantized", "naive-quantized", "pack-quantized"};
constexpr std::string_view kFormatNames =
    "float-quantized, int-quantized, mxfp8-quantized, naive-quantized, pack-quantized";

void check_format(const JsonFields& fields, bool may_mix) {
  const auto format = fields.string("format");
  if (!format || std::find(kFormats.begin(), kFormats.end(), *format) != kFormats.end()) return;
  if (may_mix && (*format == "mixed-precision" || *format == "dense")) return;
  fields.wrong("format", fmt::format("is not supported (supported: {}{})", kFormatNames,
                                     may_mix ? ", mixed-precision" : ""));
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
  const std::string type = to_lower_case(weights.string("type").value_or("int"));
  if (type != "int" && type != "float") weights.wrong("type", "is not known (known: int, float)");
  return type == "float";
}

// [128, 128] or "128x128"
std::pair<int, int> block_structure(const JsonFields& weights) {
  const Json* block = weights.find("block_structure");
  if (!block) weights.missing("block_structure", "the size of a block, as [128, 128]");
  if (!block->is_string())
    return block_size(weights, "block_structure", *weights.array("block_structure"));
  Json sizes = Json::array();
  const std::string text = *weights.string("block_structure");
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    int size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    const bool last = next == end;
    if (error != std::errc{} || (!last && (*next != 'x' || next + 1 == end)))
      weights.wrong("block_structure", "is not two positive numbers");
    sizes.push_back(size);
    at = last ? end : next + 1;
  }
  return block_size(weights, "block_structure", sizes);
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
  if (scheme.bits < 2 || scheme.bits > 8)
    weights.wrong("num_bits", "is not supported (supported: 2 to 8)");
  scheme.symmetric = weights.boolean("symmetric").value_or(true);
  if (scheme.is_float && !scheme.symmetric)
    weights.wrong("symmetric", "is not supported for floats");
  const auto group = weights.integer("group_size", -1, kMaxQuantGroup);
  if (group && *group == 0) weights.wrong("group_size", "is not allowed");
  const bool grouped = group && *group > 0;
  const std::string strategy = to_lower_case(weights.string("strategy")
                                                 .value_or(grouped ? "group"
                                                           : group ? "channel"
                                                                   : "tensor"));
  if (strategy == "group") {
    if (!grouped) weights.missing("group_size", "the number of inputs that share a scale");
    scheme.group = static_cast<int>(*group);
  } else if (strategy == "block") {
    std::tie(scheme.block_rows, scheme.group) = block_structure(weights);
  } else if (strategy != "channel" && strategy != "tensor") {
    weights.wrong("strategy", "is not supported (supported: tensor, channel, group, block)");
  }
  if (const Json* order = weights.find("actorder"); order && !order->is_boolean()) {
    const std::string name = to_lower_case(*weights.string("actorder"));
    if (name != "group" && name != "weight" && name != "static" && name != "dynamic")
      weights.wrong("actorder", "is not known (known: group, weight)");
  }
  return scheme;
}

// The rules of all groups, the closer ones first: exact names, regular expressions, the class
// Linear, other classes. A class but Embedding stands for all modules, since those that are
// quantised are linear. If several groups name the same target, the last one counts.
struct Targets {
  struct List {
    std::vector<QuantConfig::Rule> rules{};
    std::map<std::string, std::size_t> places{};  // of the rule of a target

    void set(const std::string& name, QuantConfig::Rule rule) {
      const auto [at, is_new] = places.emplace(name, rules.size());
      if (is_new)
        rules.push_back(std::move(rule));
      else
        rules[at->second] = std::move(rule);
    }
  };
  List exact{}, regexes{}, linear{}, others{};
  std::size_t count = 0;  // of targets so far, with those named twice

  void add(const JsonFields& group, const std::string& name, const QuantScheme& scheme) {
    const auto named = [&](std::string_view pattern) {
      return QuantConfig::Rule{name_regex(group, "targets", pattern), scheme};
    };
    if (name.starts_with("re:"))
      regexes.set(name, named(std::string_view(name).substr(3)));
    else if (name.find('.') != std::string::npos || name == "lm_head")
      exact.set(name, {std::make_shared<NamePattern>(NamePattern::exact(name)), scheme});
    else if (name == "Embedding")
      others.set(name, named(".*embed_tokens"));
    else
      (name == "Linear" ? linear : others).set(name, {nullptr, scheme});
  }

  std::vector<QuantConfig::Rule> in_order() const {
    std::vector<QuantConfig::Rule> rules;
    for (const List* list : {&exact, &regexes, &linear, &others})
      rules.insert(rules.end(), list->rules.begin(), list->rules.end());
    return rules;
  }
};

void add_group(const JsonFields& group, Targets& targets) {
  const auto weights = group.object("weights");
  if (!weights) return;  // a group for activations alone
  check_format(group, false);
  const QuantScheme scheme = read_scheme(*weights);
  const Json* names = group.array("targets");
  if (!names) group.missing("targets", "the names of the modules");
  targets.count += names->size();
  if (targets.count > kMaxQuantRules)
    group.wrong("targets", fmt::format("makes {} targets in all, more than the limit of {}",
                                       targets.count, kMaxQuantRules));
  for (const Json& name : *names) {
    if (!name.is_string()) group.wrong("targets", "holds something that is not a string");
    targets.add(group, name.get<std::string>(), scheme);
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
  Targets targets;
  config.decoded = fields.string("format") == "dense";
  for (const auto& [name, value] : groups->items()) {
    const std::string path = fmt::format("quantization_config.config_groups.{}", printable(name));
    if (!value.is_object()) bad_input("{}: {} is not an object", fields.file(), path);
    add_group(JsonFields(value, fields.file(), path + "."), targets);
  }
  config.rules = targets.in_order();
}

}  // namespace counterbeam
