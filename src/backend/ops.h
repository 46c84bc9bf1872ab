// A back end (reference, cpu, cuda): what models, caches and the engine compute with. It has four
// parts, so that a caller depends only on what it uses:
//   BackendCosts  costs.h       what steps cost; the scheduler goes by it
//   WeightOps     weight_ops.h  packs weights while a model is loaded
//   StoreOps      store_ops.h   keeps KV pages and recurrent states for the cache
//   PassOps       below         the operations of a forward pass
//
// Row invariance: the result of a row never depends on which other rows are in the batch, nor on
// how the rows of a sequence were split into batches.
//
// Replay: a back end may capture a decoding step (every segment has one row) as a graph and replay
// it for later steps. The captured part runs from begin() up to the first call of gather(), head(),
// logits(), wait() or of a StoreOps function that copies or clears. A replay skips the calls in
// between and runs what was captured, over the new batch. Therefore, in these calls,
//  - order, weights, stores, layers and scalars are the same for every decoding step with the same
//    number of rows. They depend neither on the ids, positions, pages or states of the batch nor on
//    results of earlier steps: kernels read those from the Batch;
//  - weights and stores are the same objects for the life of the back end;
//  - matrices are made in the same order with the same widths, so that each gets the address it was
//    captured with.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/costs.h"
#include "backend/sampling.h"
#include "backend/shapes.h"
#include "backend/store_ops.h"
#include "backend/top_tokens.h"
#include "backend/weight_ops.h"
#include "base/ids.h"
#include "base/random.h"
#include "base/thread_pool.h"

namespace counterbeam {

// Consecutive rows of a batch that extend one sequence. Pages and states are reused without being
// cleared: beyond the stored tokens they may hold anything, NaN included, which must not reach a
// result.
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

// What to compute from the logits of one row: a draw, or the log-probability of a given token.
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
  int top = 0;             // the likeliest tokens of `row` to return; of ids below vocab_limit
};

struct HeadResult {
  TokenId token = -1;
  float logprob = 0;        // under `row`, temperature 1
  float drawn_logprob = 0;  // under the distribution the token was drawn from
  bool finite = true;       // false: the logits hold NaN or infinity, and the rest is not set
  // HeadJob::top of them. Where the token is among them, its log-probability is the same number.
  TopTokens top{};
};

struct DeltaNetInputs {
  Matrix qkv;             // after the convolution and silu: [rows, q heads | k heads | v heads]
  Matrix beta;            // [rows, value_heads] before the sigmoid
  Matrix decay;           // [rows, value_heads] the projection `a`
  const Vector* a_log;    // [value_heads]
  const Vector* dt_bias;  // [value_heads]
};

class PassOps {
 public:
  virtual ~PassOps() = default;

  virtual const BackendCosts& costs() const = 0;

  // Starts a pass over the rows of `batch`, which must stay valid until the next begin(). All
  // matrices of the pass before become invalid.
  virtual void begin(const Batch& batch) = 0;
  // Ends a pass in which something has thrown. REQUIRED then, before anything else is asked for: a
  // graph that was being captured would lack what was not reached.
  virtual void abandon() noexcept {}
  virtual Matrix matrix(int rows, int width) = 0;

  // The table's rows of the batch's ids, times `scale` rounded to the type the table is kept in.
  virtual void embed(Matrix out, const PackedMatrix& table, float scale) = 0;
  // Per row, or per group of `weight.size` columns when the matrix is wider (per-head norms).
  virtual void rms_norm(Matrix out, Matrix x, const Vector& weight, float eps, NormKind kind) = 0;
  virtual void matmul(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias) = 0;
  virtual void matmul_add(Matrix sum, Matrix x, const PackedMatrix& weight, const Vector* bias) = 0;
  // sum += x
  virtual void add(Matrix sum, Matrix x) = 0;
  // out = activation(gate) * up, where weight stacks the gate's and the up projection: [2 out, in].
  // `scratch` is [rows, 2 out].
  virtual void gated_matmul(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias,
                            Activation activation, Matrix scratch);
  // In place, on the first 2 * inverse_frequency.size() columns of every head.
  virtual void rope(Matrix x, int heads, const Rope& rope) = 0;
  virtual void silu_mul(Matrix out, Matrix gate, Matrix up) = 0;
  virtual void gelu_mul(Matrix out, Matrix gate, Matrix up) = 0;  // Activation::GeluTanh
  // out *= sigmoid(gate)
  virtual void sigmoid_gate(Matrix out, Matrix gate) = 0;
  // Splits x [heads, 2, head_dim] into first and second, both [heads, head_dim], per row.
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
  // delta_net, then gated_norm of its result.
  virtual void gated_delta_net(Matrix out, const DeltaNetInputs& in, StateStore& store, int layer,
                               Matrix gate, const Vector& weight, float eps);

  // Rows of x picked by index. Ends the part of the pass that may be replayed.
  virtual void gather(Matrix out, Matrix x, std::span<const int> rows) = 0;
  // Computes the logits of the rows of x and what each job wants of them; blocks until the results
  // are there.
  virtual std::vector<HeadResult> head(Matrix x, const PackedMatrix& weight,
                                       std::span<const HeadJob> jobs) = 0;
  // Full logits of the rows of x into out [rows, weight.out], on the host.
  virtual void logits(std::span<float> out, Matrix x, const PackedMatrix& weight) = 0;
  // Blocks until everything asked for so far is done.
  virtual void wait() {}
};

class Ops : public PassOps, public WeightOps, public StoreOps {
 public:
  ~Ops() override = default;
  virtual std::string name() const = 0;  // "cpu avx512-bf16, 2 threads"
  // Bytes per second that the memory of the weights delivers, measured now.
  virtual double memory_bandwidth();
  // Adds the times of the threads of this back end to `times` from here on; null ends it. Does
  // nothing unless the back end computes on threads of its own.
  virtual void watch(PoolTimes*) {}
};

// Plain float32 loops in one file (reference.cpp); every other back end is tested against it.
std::unique_ptr<Ops> make_reference_ops();
// The same with Activations::Int8.
std::unique_ptr<Ops> make_int8_reference_ops();

enum class Precision { F32, Bf16 };  // of weights, keys and values; sums are float32 in both
// Int8: products with weights of whole numbers take their rows in 8 bits (int8_rows.h).
enum class Activations { Float, Int8 };

// The fast CPU back end: picks AMX, AVX-512 or AVX2 at run time. `isa` forces a path ("avx2",
// "avx512", "avx512-bf16", "amx"); empty picks the best one the machine can run.
std::unique_ptr<Ops> make_cpu_ops(Precision precision, int threads, const std::string& isa = "",
                                  Activations activations = Activations::Float);

// On an NVIDIA GPU, in bf16. Throws an Error that says why if none can be used.
std::unique_ptr<Ops> make_cuda_ops();
// Why make_cuda_ops() would fail; empty if it would not.
std::string why_no_cuda();

}  // namespace counterbeam
