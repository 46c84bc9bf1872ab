// The CPU back end: packed weights, kernels per instruction set, and a pool of threads. A product
// is split along its outputs. Each thread owns a contiguous range of them, so that prefetch and
// next use coincide, and takes from the ends of other ranges when it is done (work stealing). Which
// thread computes what never changes a result. Small operations run on the calling thread.
#pragma once

#include <vector>

#include "backend/cpu/attention_plan.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/memory.h"
#include "backend/cpu/packing.h"
#include "backend/cpu/rope_table.h"
#include "backend/cpu/stores.h"
#include "backend/ops.h"
#include "base/thread_pool.h"

namespace counterbeam {

class CpuOps : public Ops {
 public:
  CpuOps(Precision precision, int threads, Isa isa, Activations activations);

  std::string name() const override;
  const BackendCosts& costs() const override { return costs_; }

  std::unique_ptr<PackedMatrix> pack(std::span<const StoredMatrix> parts) override;
  std::unique_ptr<Vector> upload(std::span<const TensorView> parts) override;
  std::int64_t matrix_bytes() const override { return matrix_bytes_; }
  std::unique_ptr<PackedMatrix> pack_random(int out, int in, float scale,
                                            std::uint64_t seed) override;
  void watch(PoolTimes* times) override { pool_.watch(times); }

  std::int64_t page_bytes(const KvShape& shape) const override;
  std::int64_t state_bytes(const StateShape& shape) const override;
  std::unique_ptr<KvStore> make_kv_store(const KvShape& shape, int pages) override;
  void copy_page(KvStore& store, PageId from, PageId to, int tokens) override;
  std::unique_ptr<StateStore> make_state_store(const StateShape& shape, int slots) override;
  void copy_state(StateStore& store, StateId from, StateId to) override;
  void clear_state(StateStore& store, StateId state) override;

  void begin(const Batch& batch) override;
  Matrix matrix(int rows, int width) override;

  void embed(Matrix out, const PackedMatrix& table, float scale) override;
  void rms_norm(Matrix out, Matrix x, const Vector& weight, float eps, NormKind kind) override;
  void matmul(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias) override;
  void matmul_add(Matrix sum, Matrix x, const PackedMatrix& weight, const Vector* bias) override;
  void add(Matrix sum, Matrix x) override;
  void gated_matmul(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias,
                    Activation activation, Matrix scratch) override;
  void rope(Matrix x, int heads, const Rope& rope) override;
  void silu_mul(Matrix out, Matrix gate, Matrix up) override;
  void gelu_mul(Matrix out, Matrix gate, Matrix up) override;
  void sigmoid_gate(Matrix out, Matrix gate) override;
  void split_heads(Matrix first, Matrix second, Matrix x, int heads) override;

  void store_kv(KvStore& store, int layer, Matrix k, Matrix v) override;
  void attention(Matrix out, Matrix q, const KvStore& store, int layer, int heads, float scale,
                 int window) override;
  void causal_conv(Matrix out, Matrix x, const Vector& weight, StateStore& store,
                   int layer) override;
  void delta_net(Matrix out, const DeltaNetInputs& in, StateStore& store, int layer) override;
  void gated_norm(Matrix out, Matrix x, Matrix gate, const Vector& weight, float eps) override;

  void gather(Matrix out, Matrix x, std::span<const int> rows) override;
  std::vector<HeadResult> head(Matrix x, const PackedMatrix& weight,
                               std::span<const HeadJob> jobs) override;
  void logits(std::span<float> out, Matrix x, const PackedMatrix& weight) override;

 private:
  // With fewer elements, waking a second thread costs more than it saves.
  static constexpr int kShareElements = 8192;

  const ProductKernels& product_kernels() const {
    return precision_ == Precision::F32 ? kernels_.f32 : kernels_.bf16;
  }
  // Whether the delta rule is computed in chunks (AMX only).
  bool takes_chunks() const { return precision_ == Precision::Bf16 && kernels_.delta_chunks; }
  // Packs inputs [from, until) of the rows, multiples of pack_step(), as the product reads them.
  static int pack_step(const Product& product);
  std::size_t packed_bytes(const Product& product, int rows) const;
  void pack_inputs(void* to, Rows x, int rows, int width, const Product& product, int from,
                   int until) const;
  Product product_of(const PackedMatrix& weight) const;
  // Scratch that a thread needs to decode the weights; 0 if they are numbers.
  std::size_t decode_floats(const Product& product, int rows) const;
  // Packs the inputs of a product into inputs_ and returns the product with its pointers set.
  Product prepare(Rows x, int rows, const PackedMatrix& weight);
  void multiply(Rows out, Matrix x, const PackedMatrix& weight, const Vector* bias, bool add);
  // Runs task(row) for all rows, in parallel if there is enough work.
  template <typename Task>
  void for_rows(int rows, int width, Task&& task) {
    pool_.split(rows, (kShareElements + width - 1) / width, [&](int begin, int end) {
      for (int row = begin; row < end; ++row) task(row);
    });
  }
  // Computes the logits of the rows that one chunk of jobs refers to, then the jobs.
  void run_jobs(std::span<HeadResult> results, Matrix x, const PackedMatrix& weight,
                std::span<const HeadJob> jobs, std::span<const int> which,
                std::span<const int> rows);
  void score_given(std::span<HeadResult> results, Matrix x, const PackedMatrix& weight,
                   std::span<const HeadJob> jobs, std::span<const int> which);
  float* scratch(int worker, std::size_t floats);

  const Precision precision_;
  const Isa isa_;
  const Activations activations_;
  const Kernels& kernels_;
  const IntegerKernels* const integers_;  // for weights that are whole numbers; null: none
  ThreadPool pool_;
  const BackendCosts costs_;

  std::int64_t matrix_bytes_ = 0;
  Batch batch_;
  PageOrder page_order_;
  std::vector<const Segment*> row_segment_;  // [rows]
  std::vector<int> row_position_;            // [rows]

  std::vector<Memory> arena_;  // matrices are allocated from the last block
  std::size_t arena_used_ = 0;
  Memory inputs_;                // packed rows of a product
  std::vector<Memory> scratch_;  // [threads]
  Memory logits_;                // of one chunk of rows, during head()
  std::vector<RopeTable> ropes_;
};

// The rows of a matrix of floats.
inline Rows rows_of(Matrix m) {
  return {static_cast<float*>(m.data), m.stride};
}

inline const float* values_of(const Vector& vector) {
  return static_cast<const CpuVector&>(vector).values.data();
}

}  // namespace counterbeam
