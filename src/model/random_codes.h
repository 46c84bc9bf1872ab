// Random quantised weights at the scale of an untrained model, for benchmarks: matrices in the
// layouts of real checkpoints (int8 with a scale per output, int4 in groups of 128, FP8 in blocks
// of 128 x 128), the embedding table and the head in int8 unless all is FP8, as 4-bit files have
// them.
#pragma once

#include <optional>
#include <string_view>

#include "model/weights.h"

namespace counterbeam {

class RandomCodes : public RandomWeights {
 public:
  RandomCodes(DType dtype, CodeKind kind, std::uint64_t seed = 1);

  std::unique_ptr<PackedMatrix> pack(WeightOps& ops, std::span<const Rows> parts, int in) override;

  // "int8", "int4" or "fp8".
  static std::optional<CodeKind> kind_named(std::string_view name);

 private:
  CodeKind kind_;
  DrawKey codes_;
};

}  // namespace counterbeam
