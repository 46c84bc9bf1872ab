// Which back end computes a model, and in which precision it holds the weights. This is the only
// place that decides: loading a model, `bench` and `inspect` ask here.
#pragma once

#include <memory>

#include "backend/ops.h"
#include "tensor/dtype.h"

namespace counterbeam {

struct LocalOptions;

struct BackEndChoice {
  bool cuda = false;                     // false: the CPU
  Precision precision = Precision::F32;  // of weights, keys and values
};

// `stored` is the dtype that config.json names, or that of the embedding table if it names none.
// Without a wish in the options, BF16 and quantised checkpoints are computed in bf16 and all others
// (F16 too) in float32; the GPU computes in bf16 only. A device that is not known, or float32 on
// the GPU, is an Error. Nothing is said about whether the machine has the device.
BackEndChoice choose_back_end(const LocalOptions& options, DType stored, bool quantised = false);

std::unique_ptr<Ops> make_back_end(const BackEndChoice& choice, const LocalOptions& options);

// Bytes of one element of a weight matrix.
std::int64_t bytes_of(Precision precision);

}  // namespace counterbeam
