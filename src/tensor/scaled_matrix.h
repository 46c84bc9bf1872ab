// A matrix of small integers or FP8 numbers with scales, zero points and an order of groups beside
// them: FP8 by block, channel or tensor, compressed-tensors, GPTQ and AWQ. The views are those of
// the file; the fields say how they are laid out. An element is (code - zero) * scale.
#pragma once

#include <span>

#include "tensor/code_layout.h"
#include "tensor/tensor.h"

namespace counterbeam {

struct ScaledMatrix {
  // How the codes of `bits` bits lie in `values`. Words are 32 bits, filled from the low end.
  enum class Values : std::uint8_t {
    Bytes,          // I8 or F8_E4M3 [out, in]
    PackedRows,     // words [out, ceil(in * bits / 32)] along the inputs, codes 0 to 2^bits - 1
    PackedInputs,   // words [ceil(in * bits / 32), out] along the inputs: GPTQ
    PackedOutputs,  // words [in, out / 8] along the outputs, in the order of AWQ
  };
  // How zero points lie in `zeros`.
  enum class Zeros : std::uint8_t {
    Fixed,      // none: 0 for Bytes, the middle of the range for packed codes
    Bytes,      // I8 or U8 in the grid of the scales; packed codes: less the middle of the range
    DownRows,   // words [ceil(out * bits / 32), groups] along the outputs: compressed-tensors
    AlongRows,  // words [groups, ceil(out * bits / 32)] along the outputs: GPTQ
    AwqOrder,   // the same in the order of AWQ
  };

  int out = 0, in = 0;
  int bits = 8;  // 4 or 8
  Values layout = Values::Bytes;
  TensorView values{};

  // F32, BF16, F16, F8_E8M0 or U8 (as E8M0), [rows, groups] or, if `by_group`, [groups, rows],
  // where row i is that of the outputs [i * scale_rows, (i + 1) * scale_rows).
  TensorView scales{};
  bool by_group = false;
  int scale_rows = 1;
  int group = 0;   // inputs of a group
  int groups = 1;  // of a row

  Zeros zero_layout = Zeros::Fixed;
  TensorView zeros{};
  // GPTQ's first format (AlongRows): words of zero points are stored less one in every field, as
  // one subtraction that borrows between fields.
  bool zeros_less_one = false;

  const std::byte* order = nullptr;  // I32 [in], the group of every input; null: input / group

  // What an alternative of StoredMatrix offers; see there.
  void read(int row, int first, std::span<float> to) const;
  CodeLayout codes() const;
  void read_codes(int row, int first, std::span<std::uint8_t> to) const;
  void read_scales(int row, std::span<float> scales, std::span<float> offsets) const;
  void read_order(std::span<std::int32_t> to) const;
};

}  // namespace counterbeam
