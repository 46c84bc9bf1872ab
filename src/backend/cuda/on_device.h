// The weights and stores of the CUDA back end, behind the handles of weight_ops.h and store_ops.h.
#pragma once

#include "backend/cuda/device_memory.h"
#include "backend/cuda/kernels.h"
#include "backend/cuda/products.h"
#include "backend/ops.h"

namespace counterbeam::cuda {

struct PackedOnDevice : PackedMatrix {
  DeviceMemory memory;
  CodeWeights codes{};  // with records: quantised, in `memory`
  Weights weights() const {
    return {codes.records == nullptr ? memory.as<Bf16>() : nullptr, out, in, codes};
  }
};

struct VectorOnDevice : Vector {
  DeviceMemory memory;
};

struct KvOnDevice : KvStore {
  DeviceMemory memory;
  KvView view{};
};

struct StatesOnDevice : StateStore {
  DeviceMemory memory;
  StateView view{};
};

inline Weights weights_of(const PackedMatrix& matrix) {
  return static_cast<const PackedOnDevice&>(matrix).weights();
}
inline const float* values_of(const Vector* vector) {
  return vector == nullptr ? nullptr
                           : static_cast<const VectorOnDevice*>(vector)->memory.as<float>();
}
inline const KvView& view_of(const KvStore& store) {
  return static_cast<const KvOnDevice&>(store).view;
}
inline const StateView& view_of(const StateStore& store) {
  return static_cast<const StatesOnDevice&>(store).view;
}

}  // namespace counterbeam::cuda
