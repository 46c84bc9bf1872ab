// The few operations a model is written in. A forward pass is a sequence of these calls over the
// rows of one batch; a back end (reference, cpu, cuda) implements them. The result of a row never
// depends on which other rows are in the batch, nor on how a sequence's rows were cut into batches.
//
// Activations are matrices [rows, width] that live in the back end's arena until the next begin().
// Weights are packed once. Keys, values and recurrent states live in stores whose inner layout is
// the back end's own business; the cache room hands out their pages and slots.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/sampling.h"
#include "backend/shapes.h"
#include "base/ids.h"
#include "base/random.h"
#include "tensor/tensor.h"

namespace counterbeam {

// A weight matrix [out, in] in the back end's packed form.
class PackedMatrix {
 public:
  virtual ~PackedMatrix() = default;
  int out = 0;
  int in = 0;
};

// A small float32 parameter: a norm, a bias, a convolution.
class Vector {
 public:
  virtual ~Vector() = default;
  int size = 0;
};

class KvStore {
 public:
  virtual ~KvStore() = default;
};

class StateStore {
 public:
  virtual ~StateStore() = default;
};

// Consecutive rows of a batch that extend one sequence. Pages and states are reused without being
// wiped: beyond the tokens stored they hold anything, NaN included, and must not reach a result.
struct Segment {
  int first_row = 0;
  int rows = 0;
  int position = 0;               // of the first row: how many tokens the sequence has cached
  std::span<const PageId> pages;  // cover position + rows tokens, kPageTokens each
  StateId state{};                // read before the first row, written after the last
};

struct Batch {
  std::span<const TokenId> ids;  // [rows]
  std::span<const Segment> segments;
};

enum class NormKind { Plain, ZeroCentred };  // times w, or times 1 + w

// Angle of pair j at position p: p * inverse_frequency[j]; cosine and sine times `scale`.
struct Rope {
  std::vector<float> inverse_frequency;  // [rotary width / 2]
  float scale = 1.0f;
};

// What is wanted of the logits of one row: a draw, or the log-probability of a given token.
struct HeadJob {
  int row = 0;          // of the hidden states
  TokenId given = -1;   // >= 0: score this token
  int follows = -1;     // >= 0: score the token that this (earlier) job draws
  Sampling sampling{};  // for a draw
  DrawKey key{};        // for a draw
  std::span<const std::pair<int, float>> mix{};  // draw from the sum of weight * log-probabilities
                                                 // of these rows instead of from `row` alone
  float plausibility = 0;  // with mix: only tokens with p >= plausibility * max p under `row`
  int vocab_limit = 0;     // > 0: only ids below are drawn (log-probabilities see all of them)
};

struct HeadResult {
  TokenId token = -1;
  float logprob = 0;        // under `row`, temperature 1
  float drawn_logprob = 0;  // under the distribution the token was drawn from
  bool finite = true;       // false: the row's logits hold NaN or infinity; the rest is void
};

struct DeltaNetInputs {
  Matrix qkv;             // after the convolution and silu: [rows, q heads | k heads | v heads]
  Matrix beta;            // [rows, value_heads] before the sigmoid
  Matrix decay;           // [rows, value_heads] the projection `a`
  const Vector* a_log;    // [value_heads]
  const Vector* dt_bias;  // [value_heads]
};

class Ops {
 public:
  virtual ~Ops() = default;
  virtual std::string name() const = 0;      // "cpu avx512-bf16, 2 threads"
  virtual int activation_bytes() const = 0;  // of one element of a Matrix
  virtual int threads() const { return 1; }  // of the CPU that it computes on
  // A step of up to this many rows costs about as much as a step of one: followers ride along then.
  virtual int cheap_rows() const { return 1; }
  // Whether that holds too where sequences bring several tokens each into the step.
  virtual bool takes_pieces() const { return true; }
  // The most rows of a step, and the most of prompts and scoring in it while others draw.
  virtual int step_rows() const { return 512; }
  virtual int rows_beside_draws() const { return 128; }
  // Bytes a second that the memory of the weights moves, measured now.
  virtual double memory_bandwidth();
  // Throws an Error with the numbers where there is no room for so many elements of weights.
  virtual void expect_weights(std::int64_t) const {}
  // Memory that a cache may take, of `wanted` bytes, where nobody says how much.
  virtual std::int64_t cache_bytes(std::int64_t wanted) const;
  // Memory of one page and of one state; float32 unless a back end keeps them otherwise.
  virtual std::int64_t page_bytes(const KvShape& shape) const {
    return std::int64_t{2} * shape.layers * shape.heads * shape.head_dim * kPageTokens * 4;
  }
  virtual std::int64_t state_bytes(const StateShape& shape) const {
    return std::int64_t{shape.layers} *
           (std::int64_t{shape.value_heads} * shape.key_dim * shape.value_dim +
            std::int64_t{shape.conv_width - 1} * shape.conv_channels()) *
           4;
  }
  // How often a state goes through memory with a token: read, and written.
  virtual int state_passes() const { return 2; }

  // Weights. Parts are stacked along their first dimension, so that q, k, v are one product.
  virtual std::unique_ptr<PackedMatrix> pack(std::span<const TensorView> parts) = 0;
  virtual std::unique_ptr<Vector> upload(std::span<const TensorView> parts) = 0;
  // Random numbers in (-scale, scale), where the back end can make them faster than read them.
  virtual std::unique_ptr<PackedMatrix> pack_random(int out, int in, float scale,
                                                    std::uint64_t seed);

  // Stores.
  virtual std::unique_ptr<KvStore> make_kv_store(const KvShape& shape, int pages) = 0;
  virtual void copy_page(KvStore& store, PageId from, PageId to, int tokens) = 0;
  virtual std::unique_ptr<StateStore> make_state_store(const StateShape& shape, int slots) = 0;
  virtual void copy_state(StateStore& store, StateId from, StateId to) = 0;
  virtual void clear_state(StateStore& store, StateId state) = 0;

  // Starts a pass: the arena is empty again, `batch` describes the rows until the next begin().
  virtual void begin(const Batch& batch) = 0;
  virtual Matrix matrix(int rows, int width) = 0;

  virtual void embed(Matrix out, const PackedMatrix& table) = 0;
  // Per row, or per group of `weight.size` columns when the matrix is wider (per-head norms).
  virtual void rms_norm(Matrix out, Matrix x, const Vector& weight, float eps, NormKind kind) = 0;
  virtual void matmul(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias) = 0;
  virtual void matmul_add(Matrix sum, Matrix x, const PackedMatrix& weight, const Vector* bias) = 0;
  // out = silu(gate) * up, where weight stacks the gate's and the up projection: [2 out, in].
  // `scratch` is [rows, 2 out].
  virtual void gated_matmul(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias,
                            Matrix scratch);
  // In place, on the first 2 * inverse_frequency.size() columns of every head.
  virtual void rope(Matrix x, int heads, const Rope& rope) = 0;
  virtual void silu_mul(Matrix out, Matrix gate, Matrix up) = 0;
  // out *= sigmoid(gate)
  virtual void sigmoid_gate(Matrix out, Matrix gate) = 0;
  // Per head interleaved [heads, 2, head_dim] into queries and gates, both [heads, head_dim].
  virtual void split_heads(Matrix first, Matrix second, Matrix x, int heads) = 0;
  // split_heads of q_gate into q and gate, then rms_norm of the heads of q and of k, in place.
  virtual void split_and_norm(Matrix q, Matrix gate, Matrix q_gate, const Vector& q_weight,
                              Matrix k, const Vector& k_weight, float eps, NormKind kind);

  virtual void store_kv(KvStore& store, int layer, Matrix k, Matrix v) = 0;
  // rope of q [rows, heads * head_dim] and of k, then store_kv.
  virtual void rope_and_store(Matrix q, int heads, Matrix k, Matrix v, const Rope& rope,
                              KvStore& store, int layer, const KvShape& shape);
  // Causal, grouped heads; window > 0 limits how far back a row sees (itself included).
  virtual void attention(Matrix out, Matrix q, const KvStore& store, int layer, int heads,
                         float scale, int window) = 0;

  // Causal depthwise convolution, then silu. Reads and advances the kept inputs of the states.
  virtual void causal_conv(Matrix out, Matrix x, const Vector& weight, StateStore& store,
                           int layer) = 0;
  virtual void delta_net(Matrix out, const DeltaNetInputs& in, StateStore& store, int layer) = 0;
  // Per head of weight.size columns: rms_norm(x) * weight * silu(gate).
  virtual void gated_norm(Matrix out, Matrix x, Matrix gate, const Vector& weight, float eps) = 0;
  // delta_net, then gated_norm of what it gives.
  virtual void gated_delta_net(Matrix out, const DeltaNetInputs& in, StateStore& store, int layer,
                               Matrix gate, const Vector& weight, float eps);

  // Rows of x picked by index.
  virtual void gather(Matrix out, Matrix x, std::span<const int> rows) = 0;
  // Logits of the rows of x, job by job; blocks until the results are there.
  virtual std::vector<HeadResult> head(Matrix x, const PackedMatrix& weight,
                                       std::span<const HeadJob> jobs) = 0;
  // Returns when everything asked for so far is done.
  virtual void wait() {}
  // Full logits of the rows of x into out [rows, weight.out], on the host.
  virtual void logits(std::span<float> out, Matrix x, const PackedMatrix& weight) = 0;
};

// Plain float32 loops, one file to read; what every other back end is tested against.
std::unique_ptr<Ops> make_reference_ops();

enum class Precision { F32, Bf16 };  // of weights, keys and values; sums are float32 in both

// The fast one: picks AMX, AVX-512 or AVX2 at run time. `isa` forces a path ("avx2", "avx512",
// "avx512-bf16", "amx"); empty picks the best the machine has.
std::unique_ptr<Ops> make_cpu_ops(Precision precision, int threads, const std::string& isa = "");

// On an NVIDIA GPU, in bf16. An Error says why there is none.
std::unique_ptr<Ops> make_cuda_ops();
// Why make_cuda_ops() would fail; empty where it would not.
std::string why_no_cuda();

}  // namespace counterbeam
