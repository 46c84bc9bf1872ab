// Instantiates the kernel templates for one vector type.
#pragma once

#include "backend/cpu/attention_kernel.h"
#include "backend/cpu/delta_kernel.h"

namespace counterbeam {

template <typename S>
constexpr Kernels kernel_table() {
  Kernels kernels{};
  kernels.f32 = product_kernels<S, F32Weights<S>>();
  kernels.bf16 = product_kernels<S, Bf16Weights<S>>();
  kernels.rms_norm = RowLoops<S>::rms_norm;
  kernels.gated_norm = RowLoops<S>::gated_norm;
  kernels.rope = RowLoops<S>::rope;
  kernels.silu_mul = RowLoops<S>::silu_mul;
  kernels.gelu_mul = RowLoops<S>::gelu_mul;
  kernels.sigmoid_gate = RowLoops<S>::sigmoid_gate;
  kernels.conv = RowLoops<S>::conv;
  kernels.attention_f32 = AttentionLoops<S, F32Weights<S>>::run;
  kernels.attention_bf16 = AttentionLoops<S, Bf16Weights<S>>::run;
  kernels.attention_codes_f32 = kernels.attention_codes_bf16 = attend_codes<S>;
  kernels.attention_rows = 1;
  kernels.delta = DeltaLoops<S>::run;
  kernels.logit_block = RowLoops<S>::logit_block;
  kernels.exp_terms = RowLoops<S>::exp_terms;
  return kernels;
}

}  // namespace counterbeam
