#include "model/config_rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/error.h"

namespace counterbeam {
namespace {

constexpr double kHuge = 1e15;

// In float32, as in transformers.
std::vector<float> plain_frequencies(const RopeConfig& rope) {
  std::vector<float> frequencies(static_cast<std::size_t>(rope.width / 2));
  for (std::size_t j = 0; j < frequencies.size(); ++j) {
    const float exponent = static_cast<float>(2 * j) / static_cast<float>(rope.width);
    frequencies[j] = 1.0f / std::pow(static_cast<float>(rope.theta), exponent);
  }
  return frequencies;
}

void stretch_llama3(const RopeConfig& rope, std::vector<float>& frequencies) {
  const double low_wavelength = rope.original_positions / rope.low_freq_factor;
  const double high_wavelength = rope.original_positions / rope.high_freq_factor;
  for (float& frequency : frequencies) {
    const auto wavelength = static_cast<float>(2 * std::numbers::pi) / frequency;
    if (wavelength < high_wavelength) continue;
    if (wavelength > low_wavelength) {
      frequency /= static_cast<float>(rope.factor);
      continue;
    }
    const auto smooth = (static_cast<float>(rope.original_positions) / wavelength -
                         static_cast<float>(rope.low_freq_factor)) /
                        static_cast<float>(rope.high_freq_factor - rope.low_freq_factor);
    frequency = (1 - smooth) * frequency / static_cast<float>(rope.factor) + smooth * frequency;
  }
}

void stretch_yarn(const RopeConfig& rope, std::vector<float>& frequencies) {
  // The dimension that makes `rotations` full turns over the original context.
  const auto dimension = [&](double rotations) {
    return rope.width * std::log(rope.original_positions / (rotations * 2 * std::numbers::pi)) /
           (2 * std::log(rope.theta));
  };
  double low = dimension(rope.beta_fast), high = dimension(rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, rope.width - 1.0);
  if (low == high) high += 0.001;
  for (std::size_t j = 0; j < frequencies.size(); ++j) {
    const auto ramp = std::clamp(
        (static_cast<float>(j) - static_cast<float>(low)) / static_cast<float>(high - low), 0.0f,
        1.0f);
    const float period = std::pow(static_cast<float>(rope.theta),
                                  static_cast<float>(2 * j) / static_cast<float>(rope.width));
    const float stretched = 1.0f / (static_cast<float>(rope.factor) * period);
    const float keep = 1 - ramp;
    frequencies[j] = stretched * (1 - keep) + frequencies[j] * keep;
  }
}

void stretch_longrope(const RopeConfig& rope, std::vector<float>& frequencies) {
  for (std::size_t j = 0; j < frequencies.size(); ++j) {
    const float period = std::pow(static_cast<float>(rope.theta),
                                  static_cast<float>(2 * j) / static_cast<float>(rope.width));
    frequencies[j] = 1.0f / (static_cast<float>(rope.dividers[j]) * period);
  }
}

double yarn_scale(const JsonFields& rope, double factor) {
  const auto mscale_of = [&](double mscale) {
    return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
  };
  if (const auto given = rope.number("attention_factor", 0, kHuge)) return *given;
  const auto mscale = rope.number("mscale", -kHuge, kHuge);
  const auto all = rope.number("mscale_all_dim", -kHuge, kHuge);
  if (mscale && all && *mscale != 0 && *all != 0) return mscale_of(*mscale) / mscale_of(*all);
  return mscale_of(1);
}

RopeKind read_kind(const JsonFields& rope, bool old_longrope_names) {
  const char* key = rope.has("rope_type") ? "rope_type" : "type";
  const std::string type = rope.string(key).value_or("default");
  // For text, whose position rows are equal, "mrope" is the default RoPE.
  if (type == "default" || type == "mrope") return RopeKind::Default;
  if (type == "linear") return RopeKind::Linear;
  if (type == "llama3") return RopeKind::Llama3;
  if (type == "longrope" || (old_longrope_names && (type == "su" || type == "yarn")))
    return RopeKind::LongRope;
  if (type == "yarn") return RopeKind::Yarn;
  rope.wrong(key, "is not supported (supported: default, linear, llama3, longrope, yarn)");
}

double required(const JsonFields& rope, const char* key) {
  const auto value = rope.number(key, 0, kHuge);
  if (!value) rope.missing(key, "this rope_type needs it");
  return *value;
}

std::vector<double> read_dividers(const JsonFields& rope, const char* key, int width) {
  const Json* given = rope.array(key);
  if (!given) rope.missing(key, "this rope_type needs it");
  if (static_cast<int>(given->size()) != width / 2)
    rope.wrong(key, fmt::format("has {} entries for {} rotary dimensions, which need {}",
                                given->size(), width, width / 2));
  std::vector<double> dividers;
  for (const Json& value : *given) {
    if (!value.is_number() || value <= 0 || value > kHuge)
      rope.wrong(key, fmt::format("holds {}, not a number above 0", shown(value)));
    dividers.push_back(value.get<double>());
  }
  return dividers;
}

void read_longrope(const JsonFields& rope, int max_positions, RopeConfig& out) {
  if (out.original_positions <= 1)
    rope.missing("original_max_position_embeddings", "longrope needs one above 1");
  std::vector<double> low = read_dividers(rope, "short_factor", out.width);
  std::vector<double> high = read_dividers(rope, "long_factor", out.width);
  out.dividers = std::move(max_positions > out.original_positions ? high : low);
  out.factor = rope.number("factor", 0, kHuge).value_or(max_positions / out.original_positions);
  const double implied =
      out.factor <= 1 ? 1 : std::sqrt(1 + std::log(out.factor) / std::log(out.original_positions));
  out.scale = rope.number("attention_factor", 0, kHuge).value_or(implied);
}

void read_stretch(const JsonFields& config, const JsonFields& rope, int max_positions,
                  const RopeDefaults& defaults, RopeConfig& out) {
  if (out.kind == RopeKind::Default) return;
  if (out.kind == RopeKind::Linear) {
    out.factor = required(rope, "factor");
    return;
  }
  // As in transformers, a value outside of rope_parameters takes precedence here.
  const bool outside =
      config.has("original_max_position_embeddings") || defaults.original_positions.has_value();
  // A context of one token has no logarithm to divide by.
  const double least = out.kind == RopeKind::LongRope ? 1 : 0;
  out.original_positions = (outside ? config : rope)
                               .number("original_max_position_embeddings", least, kHuge)
                               .value_or(defaults.original_positions.value_or(max_positions));
  if (out.kind == RopeKind::LongRope) return read_longrope(rope, max_positions, out);
  if (out.kind == RopeKind::Llama3) {
    out.factor = required(rope, "factor");
    out.low_freq_factor = required(rope, "low_freq_factor");
    out.high_freq_factor = required(rope, "high_freq_factor");
    if (out.high_freq_factor <= out.low_freq_factor)
      rope.wrong("high_freq_factor", "is not above low_freq_factor");
    return;
  }
  out.factor = rope.number("factor", 0, kHuge).value_or(max_positions / out.original_positions);
  out.beta_fast = rope.number("beta_fast", 0, kHuge).value_or(32);
  out.beta_slow = rope.number("beta_slow", 0, kHuge).value_or(1);
  if (out.beta_fast < out.beta_slow) rope.wrong("beta_fast", "is below beta_slow");
  out.truncate = rope.boolean("truncate").value_or(true);
  out.scale = yarn_scale(rope, out.factor);
}

// The settings of the rope, of all layers or of one type of them; an empty object where the file
// has none.
JsonFields find_rope(const JsonFields& config, const char* layer_type) {
  static const Json kNothing = Json::object();
  const JsonFields nothing(kNothing, config.file(), "rope_parameters.");
  const char* key = config.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  const JsonFields all = config.object(key).value_or(nothing);
  if (layer_type != nullptr && config.has("rope_parameters")) {
    for (const char* flat : {"rope_type", "type", "rope_theta", "factor"})
      if (all.has(flat))
        all.wrong(flat, "is not supported: full_attention and sliding_attention have a rope each");
    return all.object(layer_type).value_or(nothing);
  }
  for (const char* nested : {"full_attention", "sliding_attention", "linear_attention"})
    if (all.has(nested))
      all.wrong(nested, "is not supported: one rope for all layers, or no_rope_layers");
  const bool scaled = layer_type == nullptr || layer_type == std::string_view("full_attention");
  return scaled ? all : nothing;
}

}  // namespace

std::string_view name_of(RopeKind kind) {
  switch (kind) {
    case RopeKind::Default:
      return "default";
    case RopeKind::Factors:
      return "factors";
    case RopeKind::Linear:
      return "linear";
    case RopeKind::Llama3:
      return "llama3";
    case RopeKind::LongRope:
      return "longrope";
    case RopeKind::Yarn:
      return "yarn";
  }
  return "";
}

std::vector<float> inverse_frequencies(const RopeConfig& rope) {
  std::vector<float> frequencies = plain_frequencies(rope);
  if (rope.kind == RopeKind::Linear)
    for (float& frequency : frequencies) frequency /= static_cast<float>(rope.factor);
  if (rope.kind == RopeKind::Llama3) stretch_llama3(rope, frequencies);
  if (rope.kind == RopeKind::LongRope || rope.kind == RopeKind::Factors)
    stretch_longrope(rope, frequencies);
  if (rope.kind == RopeKind::Yarn) stretch_yarn(rope, frequencies);
  return frequencies;
}

RopeConfig read_rope(const JsonFields& config, int head_dim, int max_positions,
                     const RopeDefaults& defaults) {
  const JsonFields rope = find_rope(config, defaults.layer_type);
  const auto inner_or_outer = [&](const char* name, const char* outer, double low, double high,
                                  double otherwise) {
    const bool inside = rope.has(name);
    return (inside ? rope : config).number(inside ? name : outer, low, high).value_or(otherwise);
  };
  RopeConfig out;
  out.kind = read_kind(rope, defaults.old_longrope_names);
  out.theta = inner_or_outer("rope_theta", defaults.theta_key, 1, 1e15, defaults.theta);
  const double partial = inner_or_outer("partial_rotary_factor", "partial_rotary_factor", 0, 1,
                                        defaults.partial_rotary_factor);
  out.width = static_cast<int>(head_dim * partial);
  if (out.width < 2 || out.width % 2 != 0)
    bad_input(
        "{}: head_dim {} and partial_rotary_factor {} give {} rotary dimensions, which must "
        "be even and at least 2",
        config.file(), head_dim, partial, out.width);
  if (defaults.layer_type != nullptr && partial != 1)
    bad_input("{}: partial_rotary_factor {} is not supported with a rope for each type of layer",
              config.file(), partial);
  read_stretch(defaults.layer_type != nullptr ? rope : config, rope, max_positions, defaults, out);
  return out;
}

}  // namespace counterbeam
