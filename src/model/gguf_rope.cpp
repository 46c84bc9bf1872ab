#include "model/gguf_rope.h"

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "model/gguf_config.h"
#include "model/gguf_names.h"

namespace counterbeam {
namespace {

constexpr double kHugeFactor = 1e15;

class GgufRopeReader {
 public:
  GgufRopeReader(const GgufCheckpoint& checkpoint, const GgufFields& fields,
                 const std::string& name, const ModelConfig& config)
      : checkpoint_(checkpoint), fields_(fields), name_(name), config_(config) {}

  RopeConfig read() {
    rope_.theta = fields_.number(own("freq_base"), 1, kHugeFactor).value_or(10000);
    read_width();
    read_scaling();
    read_factors();
    return std::move(rope_);
  }

 private:
  std::string own(std::string_view key) const { return fmt::format("{}.rope.{}", name_, key); }

  void read_width() {
    const std::string key = own("dimension_count");
    rope_.width =
        static_cast<int>(fields_.integer(key, 2, config_.head_dim).value_or(config_.head_dim));
    if (rope_.width % 2 != 0) fields_.wrong(key, "is odd, but dimensions are rotated in pairs");
    if (has_paired_heads(config_.architecture) && rope_.width != config_.head_dim)
      fields_.wrong(key, fmt::format("is not the width of a head, {}, which is not supported for "
                                     "this architecture",
                                     config_.head_dim));
  }

  // Older files give a factor alone, which is a linear one.
  void read_scaling() {
    const std::string type_key = own("scaling.type");
    const std::string factor_key =
        fields_.has(own("scaling.factor")) ? own("scaling.factor") : own("scale_linear");
    const std::string_view type = fields_.string(type_key).value_or("linear");
    const double factor =
        fields_.number(factor_key, -1, kHugeFactor).value_or(1);  // 0 stands for none
    rope_.original_positions =
        fields_.number(own("scaling.original_context_length"), 0, kHugeFactor)
            .value_or(config_.max_positions);
    rope_.scale = fields_.number(own("scaling.attn_factor"), 0, kHugeFactor).value_or(1);
    if (type == "none" || type == "longrope") return;
    if (type != "linear" && type != "yarn")
      fields_.wrong(type_key, "is not supported (supported: none, linear, longrope, yarn)");
    if (factor < 0) fields_.wrong(factor_key, "is below 0");
    if (factor == 0 || factor == 1) return;
    rope_.factor = factor;
    rope_.kind = type == "yarn" ? RopeKind::Yarn : RopeKind::Linear;
    if (rope_.kind == RopeKind::Yarn) read_yarn();
  }

  void read_yarn() {
    const std::string log = own("scaling.yarn_log_multiplier");
    if (const GgufValue* value = fields_.find(log); value && value->number() != 0.0)
      fields_.wrong(log, "is not supported (supported: 0, or no such key)");
    rope_.beta_fast = fields_.number(own("scaling.yarn_beta_fast"), 0, kHugeFactor).value_or(32);
    rope_.beta_slow = fields_.number(own("scaling.yarn_beta_slow"), 0, kHugeFactor).value_or(1);
    if (rope_.beta_fast < rope_.beta_slow)
      fields_.wrong(own("scaling.yarn_beta_fast"), "is below yarn_beta_slow");
    const double implied = rope_.factor <= 1 ? 1 : 0.1 * std::log(rope_.factor) + 1;
    rope_.scale *=
        fields_.number(own("scaling.yarn_attn_factor"), 0, kHugeFactor).value_or(implied);
  }

  void read_factors() {
    const bool is_long = config_.max_positions > rope_.original_positions;
    const GgufTensor* factors = checkpoint_.find("rope_freqs.weight");
    if (factors == nullptr)
      factors =
          checkpoint_.find(is_long ? "rope_factors_long.weight" : "rope_factors_short.weight");
    if (factors == nullptr) return;
    if (rope_.kind != RopeKind::Default)
      bad_input("{}: has both {} {} and tensor {}, which is not supported", fields_.file(),
                own("scaling.factor"), rope_.factor, factors->name);
    const auto pairs = static_cast<std::size_t>(rope_.width / 2);
    if (factors->type != GgmlType::F32 ||
        without_leading_ones(factors->shape) != without_leading_ones(Shape{rope_.width / 2}))
      bad_input("{}: tensor {} is {} {}, but the {} rotary dimensions need F32 [{}]",
                fields_.file(), factors->name, name_of(factors->type), factors->shape.to_string(),
                rope_.width, pairs);
    std::vector<float> values(pairs);
    std::memcpy(values.data(), factors->data.data(), factors->data.size());
    for (const float value : values)
      if (!(value > 0 && value <= kHugeFactor))
        bad_input("{}: tensor {} holds {}, not a number above 0", fields_.file(), factors->name,
                  value);
    rope_.kind = RopeKind::Factors;
    rope_.dividers.assign(values.begin(), values.end());
  }

  const GgufCheckpoint& checkpoint_;
  const GgufFields& fields_;
  const std::string& name_;
  const ModelConfig& config_;
  RopeConfig rope_;
};

}  // namespace

RopeConfig read_gguf_rope(const GgufCheckpoint& checkpoint, const GgufFields& fields,
                          const std::string& name, const ModelConfig& config) {
  return GgufRopeReader(checkpoint, fields, name, config).read();
}

}  // namespace counterbeam
