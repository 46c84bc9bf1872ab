// The gated delta rule for heads of 128 keys and values:
//   S <- e^g S;  m = S^T k;  delta = beta (v - m);  S <- S + k delta^T;  o = S^T q
// A thread block owns all or some columns of the state of one (segment, value head): it loads them
// into registers once, walks the segment's rows in order and writes them back once. With S of
// before the token, o = e^g S^T q + (k q) delta, so that one pass over S computes both sums. A
// block that owns a whole head also applies the norm and the gate.
//
// Row invariance: every sum has one fixed order, independent of the columns per lane, the rows per
// launch and the other blocks.
#include "backend/cuda/delta_stage.cuh"

namespace counterbeam::cuda {
namespace {

constexpr int kThreads = kDeltaWarps * 32;
constexpr int kProcessors = 132;      // of an H200
constexpr int kSteps = kKeyDim / 32;  // a lane holds 4 rows of every 32

// A lane's part of the state: kColumns columns of rows 32 * step + 4 * group + j. Eight groups of
// four lanes make a warp.
template <int kColumns>
struct Strip {
  float s[kSteps][4][kColumns];
};

template <typename F>
__device__ __forceinline__ void for_each_row(const F& f) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int j = 0; j < 4; ++j) f(step, j);
  }
}

// One step of a butterfly reduction: lanes that differ in `bit` exchange and add half of their
// `kCount` values each.
template <int kCount>
__device__ __forceinline__ void halve(float* value, int bit, int lane) {
  const bool upper = lane & bit;
#pragma unroll
  for (int i = 0; i < kCount / 2; ++i) {
    const float kept = upper ? value[kCount / 2 + i] : value[i];
    const float given = upper ? value[i] : value[kCount / 2 + i];
    value[i] = kept + __shfl_xor_sync(~0u, given, bit);
  }
}
template <>
__device__ __forceinline__ void halve<1>(float* value, int bit, int) {
  *value += __shfl_xor_sync(~0u, *value, bit);
}

// Reduces 2 * kColumns values over the eight groups: lanes 0 to 15 get a read, the others a sum,
// each of column own_column().
template <int kColumns>
__device__ __forceinline__ float total_of_groups(float* value, int lane) {
  halve<2 * kColumns>(value, 16, lane);
  halve<kColumns>(value, 8, lane);
  halve<kColumns == 4 ? 2 : 1>(value, 4, lane);
  return value[0];
}
template <int kColumns>
__device__ __forceinline__ int own_column(int lane) {
  return kColumns == 4 ? lane / 4 % 4 / 2 * 2 + lane / 4 % 2 : kColumns == 2 ? lane / 8 % 2 : 0;
}
// The lane below 16 with the same columns that holds the total of column c.
template <int kColumns>
__device__ __forceinline__ int lane_of(int c, int lane) {
  return lane % 4 + (kColumns == 4 ? 4 * c : 8 * c);
}

// The rows of a token's key and query that belong to a lane's group.
struct Keys {
  float k[kSteps][4], q[kSteps][4];
};
__device__ __forceinline__ Keys load_keys(const DeltaStage& stage, int token, int group) {
  Keys keys;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const float4 k = stage.k[token][8 * step + group], q = stage.q[token][8 * step + group];
    keys.k[step][0] = k.x, keys.k[step][1] = k.y, keys.k[step][2] = k.z, keys.k[step][3] = k.w;
    keys.q[step][0] = q.x, keys.q[step][1] = q.y, keys.q[step][2] = q.z, keys.q[step][3] = q.w;
  }
  return keys;
}

// Applies one token to a lane's strip. `gates` is {decay, beta, k q}, `v` the value of the lane's
// own column; lanes from 16 on return the output of that column.
template <int kColumns>
__device__ __forceinline__ float walk(Strip<kColumns>& strip, const Keys& keys, float4 gates,
                                      float v, int lane) {
  float reads[2][kColumns] = {}, sums[2][kColumns] = {};  // [part][column]
  const float decay = gates.x;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        float& s = strip.s[step][j][c];
        reads[j % 2][c] = fmaf(s, keys.k[step][j], reads[j % 2][c]);
        sums[j % 2][c] = fmaf(s, keys.q[step][j], sums[j % 2][c]);
        s *= decay;
      }
    }
  }
  float value[2 * kColumns];
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    value[c] = reads[0][c] + reads[1][c];
    value[kColumns + c] = sums[0][c] + sums[1][c];
  }
  const float total = total_of_groups<kColumns>(value, lane);
  const float of_read = gates.y * fmaf(-decay, total, v);
  float delta[kColumns], of_own = 0;
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    delta[c] = __shfl_sync(~0u, of_read, lane_of<kColumns>(c, lane));
    of_own = c == own_column<kColumns>(lane) ? delta[c] : of_own;
  }
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        strip.s[step][j][c] = fmaf(keys.k[step][j], delta[c], strip.s[step][j][c]);
    }
  }
  return fmaf(gates.z, of_own, total * decay);
}

// Norm and gate of a token's head by half a warp (the other half repeats it).
__device__ __forceinline__ void finish(const DeltaNorm& norm, const Bf16* head, const Bf16* z,
                                       const float* weight, int lane, Bf16* out) {
  const int at = lane % 16 * 8;
  Octet octet = load_octet(head + at, 8, true), weights;
#pragma unroll
  for (int i = 0; i < 8; ++i) weights.at[i] = weight[at + i];
  const float squares = sum_of_lanes<16>(add_squares(0, octet));
  normalise(octet, norm_scale(squares, kValueDim, norm.eps), weights, 0);
  multiply_by_silu(octet, load_octet(z + at, 8, true));
  if (lane < 16) store_octet(out + at, octet, 8, true);
}

// Grid: [strips of 32 * kColumns columns, value heads, segments]. The state and the batch are read
// while preceding kernels still run.
template <int kColumns, bool kNormed, int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks) walk_segments(const DeltaArguments a) {
  static_assert(!kNormed || 32 * kColumns == kValueDim);
  extern __shared__ float4 memory[];
  auto& shared = *reinterpret_cast<DeltaShared<kColumns>*>(memory);
  let_successor_start();
  const int head = blockIdx.y, first_column = blockIdx.x * 32 * kColumns;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int column = (4 * warp + lane % 4) * kColumns;  // of the block's
  const int own = own_column<kColumns>(lane);
  const DeviceSegment segment = a.segments[blockIdx.z];
  if (segment.rows == 0) {
    wait_for_predecessor();  // keeps kernels in order, which the successor relies on
    return;
  }
  float* state = a.memory + std::size_t(segment.state) * a.slot_floats +
                 (head * kKeyDim + lane / 4 * 4) * kValueDim + first_column + column;
  Strip<kColumns> strip;
  for_each_row([&](int step, int j) {
    const auto pack = load_pack<kColumns>(state + (32 * step + j) * kValueDim);
#pragma unroll
    for (int c = 0; c < kColumns; ++c) strip.s[step][j][c] = pack.at[c];
  });
  const float rate = -expf(a.a_log[head]), dt_bias = a.dt_bias[head];
  if (kNormed && threadIdx.x < kValueDim) shared.weight[threadIdx.x] = a.norm.weight[threadIdx.x];

  const auto out_row = [&](int token) {
    return a.out + (segment.first_row + token) * std::ptrdiff_t(a.out_stride) + head * kValueDim +
           first_column;
  };
  const int q_at = head / (a.value_heads / a.key_heads) * kKeyDim;
  DeltaGateBits bits{};
  const auto fetch_own = [&](int stage) {
    const int token = stage * kDeltaWarps + warp;
    if (token >= segment.rows) return;
    const std::ptrdiff_t row = segment.first_row + token;
    const Bf16* qkv = a.qkv + row * a.qkv_stride;
    fetch_token<kColumns, kNormed>(
        shared.tokens[stage % 3][warp], qkv + q_at,
        qkv + 2 * a.key_heads * kKeyDim + head * kValueDim + first_column,
        a.norm.gate + row * a.norm.gate_stride + head * kValueDim, a.key_heads, lane);
    bits.beta = reinterpret_cast<const unsigned short*>(a.beta)[row * a.beta_stride + head];
    bits.decay = reinterpret_cast<const unsigned short*>(a.decay)[row * a.decay_stride + head];
  };
  const auto put_own = [&](int stage) {
    if (stage * kDeltaWarps + warp >= segment.rows) return;
    wait_for_copies();
    put_token(shared.stages[stage % 2], warp, shared.tokens[stage % 3][warp], bits, dt_bias, rate,
              lane);
  };
  const auto finish_own = [&](int stage) {
    const int token = stage * kDeltaWarps + warp;
    if (!kNormed || token >= segment.rows) return;
    finish(a.norm, shared.out[stage % 2][warp], shared.tokens[stage % 3][warp].z[0].at,
           shared.weight, lane, out_row(token));
  };

  wait_for_predecessor();
  fetch_own(0);
  put_own(0);
  fetch_own(1);
  const int stages = (segment.rows + kDeltaWarps - 1) / kDeltaWarps;
  for (int stage = 0; stage < stages; ++stage) {
    __syncthreads();
    const int first = stage * kDeltaWarps, tokens = min(kDeltaWarps, segment.rows - first);
    const DeltaStage& ready = shared.stages[stage % 2];
    const Bf16* v = shared.tokens[stage % 3][0].v + column + own;
    Bf16* to = kNormed ? shared.out[stage % 2][0] + column + own + (lane < 16 ? kValueDim : 0)
                       : out_row(first) + column + own;
    const int out_stride = kNormed ? 2 * kValueDim : a.out_stride;
    int token = 0;
    // Each warp prepares its own token in turn while the other warps keep computing.
#pragma unroll 1
    for (int part = 0; part < 2; ++part) {
      const int end = part == 0 ? min(warp, tokens) : tokens;
#pragma unroll 1
      for (; token < end; ++token, v += sizeof(DeltaToken<kColumns>) / 2, to += out_stride) {
        const Keys keys = load_keys(ready, token, lane / 4);
        const Bf16 result =
            __float2bfloat16_rn(walk(strip, keys, ready.gates[token], __bfloat162float(*v), lane));
        if (kNormed || lane >= 16) *to = result;  // lanes with the same total write the same value
      }
      if (part == 1) break;
      if (stage > 0) finish_own(stage - 1);
      put_own(stage + 1);
      fetch_own(stage + 2);
    }
  }

  for_each_row([&](int step, int j) {
    Pack<float, kColumns> pack;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) pack.at[c] = strip.s[step][j][c];
    store_pack(state + (32 * step + j) * kValueDim, pack);
  });
  if (!kNormed) return;
  __syncthreads();
  finish_own(stages - 1);
}

// Few tokens are bound by memory: whole heads. More tokens are bound by arithmetic: the narrowest
// strips for which every block has a multiprocessor of its own, otherwise whole heads.
int columns_per_lane(int heads, int longest) {
  if (longest <= kDeltaWarps) return 4;
  for (const int columns : {1, 2}) {
    if (heads * kValueDim / (32 * columns) <= kProcessors) return columns;
  }
  return 4;
}

template <int kColumns, bool kNormed, int kBlocks>
void run(cudaStream_t stream, const DeltaArguments& a, dim3 grid, bool alone) {
  // Reserves more shared memory than is used, which limits a multiprocessor to one block: otherwise
  // a launch that starts early would pile its blocks onto the first free multiprocessors.
  constexpr int kAlone = 120 << 10;
  const auto kernel = walk_segments<kColumns, kNormed, kBlocks>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kAlone),
        "delta_net");
  launch(stream, "delta_net", kernel, grid, dim3(kThreads),
         alone ? kAlone : sizeof(DeltaShared<kColumns>), a);
}

}  // namespace

bool delta_strips(cudaStream_t stream, const DeltaArguments& a, int segments, int longest) {
  const int columns = columns_per_lane(segments * a.value_heads, longest);
  const dim3 grid(unsigned(kValueDim / (32 * columns)), unsigned(a.value_heads),
                  unsigned(segments));
  const bool alone = longest >= 32 && grid.x * grid.y * grid.z <= unsigned(kProcessors);
  const bool normed = columns == 4 && a.norm.weight != nullptr;
  const auto kernel = normed && alone ? run<4, true, 1>
                      : normed        ? run<4, true, 2>
                      : columns == 4  ? run<4, false, 2>
                      : columns == 2  ? run<2, false, 1>
                                      : run<1, false, 1>;
  kernel(stream, a, grid, alone);
  return normed;
}

}  // namespace counterbeam::cuda
