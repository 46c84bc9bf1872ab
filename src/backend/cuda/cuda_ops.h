// The operations on an NVIDIA GPU. Every call puts kernels on one stream and returns; only head(),
// logits() and wait() block. Decoding steps are replayed as CUDA graphs (step_graphs.h): rows and
// context are rounded up to buckets, and rows beyond the batch's are padding.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/batch_upload.h"
#include "backend/cuda/code_upload.h"
#include "backend/cuda/device_memory.h"
#include "backend/cuda/kernels.h"
#include "backend/cuda/products.h"
#include "backend/cuda/step_graphs.h"
#include "backend/cuda/weight_upload.h"
#include "backend/ops.h"

namespace counterbeam::cuda {

struct PackedOnDevice;

class CudaOps : public Ops {
 public:
  CudaOps();
  ~CudaOps() override;

  std::string name() const override;
  const BackendCosts& costs() const override { return costs_; }
  double memory_bandwidth() override;

  void expect_weights(std::int64_t elements) const override;
  std::unique_ptr<PackedMatrix> pack(std::span<const StoredMatrix> parts) override;
  std::unique_ptr<PackedMatrix> pack_random(int out, int in, float scale,
                                            std::uint64_t seed) override;
  std::unique_ptr<Vector> upload(std::span<const TensorView> parts) override;
  std::int64_t matrix_bytes() const override { return matrix_bytes_; }

  std::int64_t page_bytes(const KvShape& shape) const override;
  std::int64_t cache_bytes(std::int64_t wanted) const override;
  std::unique_ptr<KvStore> make_kv_store(const KvShape& shape, int pages) override;
  void copy_page(KvStore& store, PageId from, PageId to, int tokens) override;
  std::unique_ptr<StateStore> make_state_store(const StateShape& shape, int slots) override;
  void copy_state(StateStore& store, StateId from, StateId to) override;
  void clear_state(StateStore& store, StateId state) override;

  void begin(const Batch& batch) override;
  void abandon() noexcept override { steps_.abandon(); }
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
  void split_and_norm(Matrix q, Matrix gate, Matrix q_gate, const Vector& q_weight, Matrix k,
                      const Vector& k_weight, float eps, NormKind kind) override;
  void store_kv(KvStore& store, int layer, Matrix k, Matrix v) override;
  void rope_and_store(Matrix q, int heads, Matrix k, Matrix v, const Rope& rope, KvStore& store,
                      int layer, const KvShape& shape) override;
  void attention(Matrix out, Matrix q, const KvStore& store, int layer, int heads, float scale,
                 int window) override;
  void causal_conv(Matrix out, Matrix x, const Vector& weight, StateStore& store,
                   int layer) override;
  void delta_net(Matrix out, const DeltaNetInputs& in, StateStore& store, int layer) override;
  void gated_norm(Matrix out, Matrix x, Matrix gate, const Vector& weight, float eps) override;
  void gated_delta_net(Matrix out, const DeltaNetInputs& in, StateStore& store, int layer,
                       Matrix gate, const Vector& weight, float eps) override;
  void gather(Matrix out, Matrix x, std::span<const int> rows) override;
  std::vector<HeadResult> head(Matrix x, const PackedMatrix& weight,
                               std::span<const HeadJob> jobs) override;
  void logits(std::span<float> out, Matrix x, const PackedMatrix& weight) override;
  void wait() override;

 private:
  bool pack_codes(PackedOnDevice& packed, std::span<const StoredMatrix> parts);
  void launch_copies();
  Matrix padded(Matrix m) const;
  void* shared_workspace(std::size_t bytes);
  void product_into(const ProductTarget& target, Matrix x, const PackedMatrix& weight);
  void send(const DeviceMemory& to, std::span<const float> values);
  DeviceRope device_rope(const Rope& rope);
  DeltaInputs device_inputs(const DeltaNetInputs& in) const;
  const float* logits_on_device(Matrix x, const PackedMatrix& weight);
  TopTokens top_of_row(const float* logits, int row, const HeadJob& job, const PackedMatrix& weight,
                       const HeadResult& result);
  void run_jobs(std::span<HeadResult> results, Matrix x, const PackedMatrix& weight,
                std::span<const HeadJob> jobs, int first, int last);

  static constexpr BackendCosts costs_{
      .activation_bytes = sizeof(Bf16),
      .cheap_rows = 64,
      .takes_pieces = false,  // only steps of single tokens are graphs
      .step_rows = 8192,
      .rows_beside_draws = 512,
  };

  const cudaDeviceProp properties_;
  StepGraphs steps_;
  Stream beside_ = make_stream();  // for copies while the step computes
  ProductDevice products_;
  DeviceMemory partial_sums_, flags_, workspace_, logits_, jobs_;
  PinnedMemory jobs_there_, results_;  // the device writes results to pinned memory directly
  DeviceMemory decoded_;               // ProductDevice::decoded
  UploadPieces pieces_;
  WeightUpload weight_upload_{pieces_};
  CodeUpload code_upload_{pieces_};
  std::int64_t matrix_bytes_ = 0;
  BatchUpload upload_;
  Arena arena_, workspaces_;
  void* step_workspace_ = nullptr;
  std::size_t step_workspace_bytes_ = 0;
  std::vector<std::pair<std::vector<float>, DeviceMemory>> ropes_;

  StepKind kind_;
  DeviceBatch batch_;
  bool busy_ = false;                    // the device may still use pinned memory
  CopyList page_copies_, state_copies_;  // collected, not launched yet
  KvView copied_pages_{};
  StateView copied_states_{};
};

}  // namespace counterbeam::cuda
