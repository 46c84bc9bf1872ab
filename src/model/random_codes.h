// Random quantised weights at the scale of an untrained model, for benchmarks: matrices in the
// layouts of real checkpoints (int8 with a scale per output, int4 in groups of 128, FP8 in blocks
// of 128 x 128). All matrices have the same codes, so that they are made in no time. The embedding
// table and the head are plain, as most checkpoints have them, or in int8 unless all is FP8, as
// files of 4 bits have them.
#pragma once

#include <optional>
#include <string_view>

#include "model/weights.h"

namespace counterbeam {

class RandomCodes : public RandomWeights {
 public:
  enum class Tables : std::uint8_t { Plain, Codes };
  RandomCodes(DType dtype, CodeKind kind, Tables tables, std::uint64_t seed = 1);

  std::unique_ptr<PackedMatrix> pack(WeightOps& ops, std::span<const Rows> parts, int in) override;

  // "int8", "int4" or "fp8".
  static std::optional<CodeKind> kind_named(std::string_view name);

 private:
  // At least so many words of random bits, of the largest matrix so far.
  const std::byte* words(std::size_t count, std::uint64_t mask);

  CodeKind kind_;
  Tables tables_;
  std::uint64_t state_;
  std::uint64_t mask_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace counterbeam
