// The gated delta rule for heads of 128 keys and values:
//   S <- e^g S;  m = S^T k;  delta = beta (v - m);  S <- S + k delta^T;  o = S^T q
// A thread block owns some columns of the state of one (segment, value head): it reads them once
// into registers, walks the segment's rows in order and writes them back once. The last line is
// taken as o = e^g S^T q + (k q) delta with S of before, so that one pass over S makes both sums.
//
// Every sum has one order, whatever the columns per lane, the rows per launch or the other blocks:
// a row's bits depend on its own sequence alone.
#include "backend/cuda/delta_net.cuh"

namespace counterbeam::cuda {
namespace {

constexpr int kKeyDim = 128, kValueDim = 128;
constexpr int kWarps = 4;
constexpr int kThreads = kWarps * 32;
constexpr int kProcessors = 132;      // of an H200
constexpr int kSteps = kKeyDim / 16;  // a lane keeps 4 rows of every 16

// Of kTokens tokens: unit keys and queries, the block's values, and {decay, beta, k q}.
template <int kColumns, int kTokens>
struct Stage {
  float4 k[kTokens][32];
  float4 q[kTokens][32];
  float v[kTokens][32 * kColumns];
  float4 gates[kTokens];
};

// What a lane fetches of one token; the next ones are on their way while the staged are walked.
template <int kColumns>
struct Fetched {
  Pack<Bf16, 4> q, k;
  Pack<Bf16, kColumns> v;
  Bf16 beta, decay;
};

// Where the inputs of a (segment, head) lie.
struct Inputs {
  const Bf16* q;
  const Bf16* k;
  const Bf16* v;
  const Bf16* beta;
  const Bf16* decay;
};

template <int kColumns>
__device__ __forceinline__ Fetched<kColumns> fetch(const Inputs& in, const DeltaArguments& a,
                                                   int row, int lane) {
  const std::ptrdiff_t at = std::ptrdiff_t(row) * a.qkv_stride;
  return {load_pack<4>(in.q + at + 4 * lane), load_pack<4>(in.k + at + 4 * lane),
          load_pack<kColumns>(in.v + at + kColumns * lane),
          in.beta[std::ptrdiff_t(row) * a.beta_stride],
          in.decay[std::ptrdiff_t(row) * a.decay_stride]};
}

template <int kColumns, int kTokens>
__device__ __forceinline__ void put(Stage<kColumns, kTokens>& stage, int token,
                                    const Fetched<kColumns>& in, float dt_bias, float rate,
                                    int lane) {
  float q[4], k[4], qq = 0, kk = 0, qk = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    q[i] = __bfloat162float(in.q.at[i]);
    k[i] = __bfloat162float(in.k.at[i]);
    qq = fmaf(q[i], q[i], qq);
    kk = fmaf(k[i], k[i], kk);
    qk = fmaf(q[i], k[i], qk);
  }
  qq = warp_sum(qq);
  kk = warp_sum(kk);
  qk = warp_sum(qk);
  const float q_scale = rsqrtf(qq + 1e-6f) * rsqrtf(float(kKeyDim));
  const float k_scale = rsqrtf(kk + 1e-6f);
  stage.q[token][lane] =
      make_float4(q[0] * q_scale, q[1] * q_scale, q[2] * q_scale, q[3] * q_scale);
  stage.k[token][lane] =
      make_float4(k[0] * k_scale, k[1] * k_scale, k[2] * k_scale, k[3] * k_scale);
#pragma unroll
  for (int i = 0; i < kColumns; ++i)
    stage.v[token][kColumns * lane + i] = __bfloat162float(in.v.at[i]);
  const float decay = delta_decay(__bfloat162float(in.decay), dt_bias, rate);
  const float beta = delta_beta(__bfloat162float(in.beta));
  if (lane == 0) stage.gates[token] = make_float4(decay, beta, qk * q_scale * k_scale, 0);
}

// A lane's part of the state: kColumns columns of rows 16 * step + 4 * group + j.
template <int kColumns>
struct Strip {
  float s[kSteps][4][kColumns];
};

// One token on a lane's strip; `out` is where the lane's columns of the row go.
template <int kColumns, int kTokens>
__device__ __forceinline__ void walk(Strip<kColumns>& strip, const Stage<kColumns, kTokens>& stage,
                                     int token, int group, int column, Bf16* out) {
  float reads[2][kColumns] = {}, sums[2][kColumns] = {};  // [part][column]
  float k[kSteps][4];
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const float4 k4 = stage.k[token][4 * step + group], q4 = stage.q[token][4 * step + group];
    const float q[4] = {q4.x, q4.y, q4.z, q4.w};
    k[step][0] = k4.x, k[step][1] = k4.y, k[step][2] = k4.z, k[step][3] = k4.w;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        reads[j % 2][c] = fmaf(strip.s[step][j][c], k[step][j], reads[j % 2][c]);
        sums[j % 2][c] = fmaf(strip.s[step][j][c], q[j], sums[j % 2][c]);
      }
    }
  }
  const float4 gates = stage.gates[token];
  const float decay = gates.x;
  float delta[kColumns];
  Pack<Bf16, kColumns> result;
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    float read = reads[0][c] + reads[1][c], sum = sums[0][c] + sums[1][c];
#pragma unroll
    for (int other = 8; other <= 16; other *= 2) {
      read += __shfl_xor_sync(~0u, read, other);
      sum += __shfl_xor_sync(~0u, sum, other);
    }
    delta[c] = gates.y * fmaf(-decay, read, stage.v[token][column + c]);
    result.at[c] = __float2bfloat16_rn(fmaf(gates.z, delta[c], sum * decay));
  }
  // A launch of few tokens would rather have more blocks in flight than keep the key: read it
  // again.
  if (kTokens == kWarps) asm volatile("" ::: "memory");
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    if (kTokens == kWarps) {
      const float4 k4 = stage.k[token][4 * step + group];
      k[step][0] = k4.x, k[step][1] = k4.y, k[step][2] = k4.z, k[step][3] = k4.w;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        strip.s[step][j][c] = fmaf(k[step][j], delta[c], strip.s[step][j][c] * decay);
    }
  }
  if (group == 0) store_pack(out, result);
}

// Grid: [strips of 32 * kColumns columns, value heads, segments]. A warp makes kOwnTokens ready at
// a time.
template <int kColumns, int kOwnTokens>
__global__ void __launch_bounds__(kThreads, kOwnTokens == 1 ? 4 : 2)
    walk_segments(const DeltaArguments a) {
  constexpr int kTokens = kOwnTokens * kWarps;
  __shared__ Stage<kColumns, kTokens> stages[2];
  let_successor_start();
  const int head = blockIdx.y, first_column = blockIdx.x * 32 * kColumns;
  const float rate = -expf(a.a_log[head]), dt_bias = a.dt_bias[head];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 8;
  const int column = (8 * warp + lane % 8) * kColumns;  // of the block's
  wait_for_predecessor();
  const DeviceSegment segment = a.segments[blockIdx.z];
  if (segment.rows == 0) return;

  float* state = a.memory + std::size_t(segment.state) * a.slot_floats +
                 (head * kKeyDim + 4 * group) * kValueDim + first_column + column;
  const auto state_row = [&](int step, int j) { return state + (16 * step + j) * kValueDim; };
  Strip<kColumns> strip;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const auto pack = load_pack<kColumns>(state_row(step, j));
#pragma unroll
      for (int c = 0; c < kColumns; ++c) strip.s[step][j][c] = pack.at[c];
    }
  }

  const std::ptrdiff_t row = segment.first_row;
  const Bf16* q = a.qkv + row * a.qkv_stride + head / (a.value_heads / a.key_heads) * kKeyDim;
  const Bf16* v = a.qkv + row * a.qkv_stride + 2 * a.key_heads * kKeyDim + head * kValueDim;
  const Inputs in{q, q + a.key_heads * kKeyDim, v + first_column,
                  a.beta + row * a.beta_stride + head, a.decay + row * a.decay_stride + head};
  Bf16* out = a.out + row * a.out_stride + head * kValueDim + first_column + column;

  // Without branches, so that the tokens of a warp are made ready side by side: beyond the last row
  // it is the last row again, which nobody walks. A single token is made ready by who has it alone.
  Fetched<kColumns> fetched[kOwnTokens];
  const auto fetch_own = [&](int first) {
#pragma unroll
    for (int i = 0; i < kOwnTokens; ++i) {
      const int token = min(first + i * kWarps + warp, segment.rows - 1);
      fetched[i] = fetch<kColumns>(in, a, token, lane);
    }
  };
  fetch_own(0);
  for (int first = 0; first < segment.rows; first += kTokens) {
    // Whoever is here has walked the stage before last, the one to be overwritten.
    Stage<kColumns, kTokens>& stage = stages[first / kTokens % 2];
    if (kOwnTokens > 1 || first + warp < segment.rows) {
#pragma unroll
      for (int i = 0; i < kOwnTokens; ++i)
        put(stage, i * kWarps + warp, fetched[i], dt_bias, rate, lane);
    }
    fetch_own(first + kTokens);
    __syncthreads();
    const int tokens = min(kTokens, segment.rows - first);
#pragma unroll 1
    for (int token = 0; token < tokens; ++token)
      walk(strip, stage, token, group, column,
           out + (first + token) * std::ptrdiff_t(a.out_stride));
  }

#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      Pack<float, kColumns> pack;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) pack.at[c] = strip.s[step][j][c];
      store_pack(state_row(step, j), pack);
    }
  }
}

// Few tokens move memory: blocks that load while others store. More of them compute: the narrowest
// strips that leave every block a multiprocessor of its own, else the widest.
int columns_per_lane(int heads, bool few) {
  if (few) return 2;
  for (const int columns : {1, 2}) {
    if (heads * kValueDim / (32 * columns) <= kProcessors) return columns;
  }
  return 4;
}

}  // namespace

void delta_strips(cudaStream_t stream, const DeltaArguments& a, int segments, int longest) {
  const bool few = longest <= kWarps;
  const int columns = columns_per_lane(segments * a.value_heads, few);
  const dim3 grid(unsigned(kValueDim / (32 * columns)), unsigned(a.value_heads),
                  unsigned(segments));
  const auto kernel = few            ? walk_segments<2, 1>
                      : columns == 4 ? walk_segments<4, 2>
                      : columns == 2 ? walk_segments<2, 2>
                                     : walk_segments<1, 2>;
  // Shared memory that nobody uses keeps a multiprocessor to one block, where a launch that begins
  // early would crowd them onto those that are free first.
  constexpr int kAlone = 120 << 10;
  const bool alone = longest >= 32 && grid.x * grid.y * grid.z <= unsigned(kProcessors);
  if (alone) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kAlone),
          "delta_net");
  }
  launch(stream, "delta_net", kernel, grid, dim3(kThreads), alone ? kAlone : 0, a);
}

}  // namespace counterbeam::cuda
