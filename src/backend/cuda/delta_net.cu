// The gated delta rule: heads of 128 x 128, as published models have, use delta_strips.cu; any
// other shape uses the plain kernel below (the same recurrence, with the state in memory and a
// thread per column). The choice depends on shapes alone, so a model always gets the same bits.
#include <cstdint>

#include "backend/cuda/delta_net.cuh"
#include "backend/cuda/row_octets.cuh"

namespace counterbeam::cuda {
namespace {

constexpr int kThreads = 128;

// The unit query (times key_dim^-1/2) and unit key of one token, by one warp; returns their dot
// product.
__device__ float unit_keys(float* q_out, float* k_out, const Bf16* q, const Bf16* k, int key_dim) {
  const int lane = threadIdx.x % 32;
  float qq = 0, kk = 0, qk = 0;
  for (int i = lane; i < key_dim; i += 32) {
    const float a = __bfloat162float(q[i]), b = __bfloat162float(k[i]);
    qq = fmaf(a, a, qq);
    kk = fmaf(b, b, kk);
    qk = fmaf(a, b, qk);
  }
  const float q_scale = rsqrtf(sum_of_lanes<32>(qq) + 1e-6f) * rsqrtf(float(key_dim));
  const float k_scale = rsqrtf(sum_of_lanes<32>(kk) + 1e-6f);
  for (int i = lane; i < key_dim; i += 32) {
    q_out[i] = __bfloat162float(q[i]) * q_scale;
    k_out[i] = __bfloat162float(k[i]) * k_scale;
  }
  return sum_of_lanes<32>(qk) * q_scale * k_scale;
}

// One token on one column of the state [key_dim][value_dim]; `gates` is {decay, beta, k q}.
__device__ float walk_column(float* column, int value_dim, const float* q, const float* k,
                             int key_dim, float v, const float* gates) {
  float read = 0, sum = 0;
  for (int i = 0; i < key_dim; ++i) {
    const float s = column[i * std::ptrdiff_t(value_dim)];
    read = fmaf(s, k[i], read);
    sum = fmaf(s, q[i], sum);
  }
  const float decay = gates[0], delta = gates[1] * fmaf(-decay, read, v);
  for (int i = 0; i < key_dim; ++i) {
    float& s = column[i * std::ptrdiff_t(value_dim)];
    s = fmaf(k[i], delta, s * decay);
  }
  return fmaf(gates[2], delta, sum * decay);
}

// Grid: [value heads, segments]. Shared: q [key_dim], k [key_dim], gates [3].
__global__ void __launch_bounds__(kThreads) walk_heads(const DeltaArguments a) {
  extern __shared__ float shared[];
  float *q = shared, *k = q + a.key_dim, *gates = k + a.key_dim;
  let_successor_start();
  const int head = blockIdx.x;
  const float rate = -expf(a.a_log[head]), dt_bias = a.dt_bias[head];
  wait_for_predecessor();
  const DeviceSegment segment = a.segments[blockIdx.y];
  const int q_at = head / (a.value_heads / a.key_heads) * a.key_dim;
  const int k_at = a.key_heads * a.key_dim + q_at;
  const int v_at = 2 * a.key_heads * a.key_dim + head * a.value_dim;
  float* state = a.memory + std::size_t(segment.state) * a.slot_floats +
                 std::size_t(head) * std::size_t(a.key_dim) * std::size_t(a.value_dim);
  for (int token = 0; token < segment.rows; ++token) {
    const std::ptrdiff_t row = segment.first_row + token;
    const Bf16* in = a.qkv + row * a.qkv_stride;
    __syncthreads();
    if (threadIdx.x < 32) {
      const float product = unit_keys(q, k, in + q_at, in + k_at, a.key_dim);
      if (threadIdx.x == 0) {
        const float raw = __bfloat162float(a.decay[row * a.decay_stride + head]);
        gates[0] = delta_decay(raw, dt_bias, rate);
        gates[1] = delta_beta(__bfloat162float(a.beta[row * a.beta_stride + head]));
        gates[2] = product;
      }
    }
    __syncthreads();
    for (int column = threadIdx.x; column < a.value_dim; column += kThreads) {
      const float v = __bfloat162float(in[v_at + column]);
      const float o = walk_column(state + column, a.value_dim, q, k, a.key_dim, v, gates);
      a.out[row * a.out_stride + head * a.value_dim + column] = __float2bfloat16_rn(o);
    }
  }
}

bool aligned(const void* data, int stride, int elements) {
  return reinterpret_cast<std::uintptr_t>(data) % (2 * std::size_t(elements)) == 0 &&
         stride % elements == 0;
}

// Returns whether it applied the norm.
bool walk(cudaStream_t stream, Matrix out, const DeltaInputs& in, const DeltaNorm& norm,
          const StateView& states, int layer, const DeviceBatch& batch) {
  const StateShape& shape = states.shape;
  const std::size_t layer_floats = states.conv_floats() + states.memory_floats();
  DeltaArguments arguments{static_cast<Bf16*>(out.data),
                           static_cast<const Bf16*>(in.qkv.data),
                           static_cast<const Bf16*>(in.beta.data),
                           static_cast<const Bf16*>(in.decay.data),
                           out.stride,
                           in.qkv.stride,
                           in.beta.stride,
                           in.decay.stride,
                           in.a_log,
                           in.dt_bias,
                           states.slots + std::size_t(layer) * layer_floats + states.conv_floats(),
                           states.slot_floats(),
                           shape.key_heads,
                           shape.value_heads,
                           shape.key_dim,
                           shape.value_dim,
                           batch.segments,
                           norm};
  if (!aligned(norm.gate, norm.gate_stride, 8) || !aligned(out.data, out.stride, 8))
    arguments.norm = {};
  if (shape.key_dim == 128 && shape.value_dim == 128 && aligned(in.qkv.data, in.qkv.stride, 4))
    return delta_strips(stream, arguments, batch.segment_count, batch.longest_segment);
  const dim3 grid(unsigned(shape.value_heads), unsigned(batch.segment_count));
  const std::size_t shared = std::size_t(2 * shape.key_dim + 3) * sizeof(float);
  launch(stream, "delta_net", walk_heads, grid, dim3(kThreads), shared, arguments);
  return false;
}

}  // namespace

void delta_net(cudaStream_t stream, Matrix out, const DeltaInputs& in, const StateView& states,
               int layer, const DeviceBatch& batch) {
  if (batch.segment_count > 0) walk(stream, out, in, {}, states, layer, batch);
}

void gated_delta_net(cudaStream_t stream, Matrix out, const DeltaInputs& in, Matrix gate,
                     const float* weight, float eps, const StateView& states, int layer,
                     const DeviceBatch& batch) {
  if (batch.segment_count == 0) return;
  const DeltaNorm norm{weight, static_cast<const Bf16*>(gate.data), gate.stride, eps};
  if (!walk(stream, out, in, norm, states, layer, batch))
    gated_norm(stream, out, out, gate, weight, states.shape.value_dim, eps);
}

}  // namespace counterbeam::cuda
