// Passes every operation of a forward pass on to a back end of the CPU, and notes the squares of
// the inputs of matrix products.
#pragma once

#include <map>
#include <vector>

#include "backend/ops.h"

namespace counterbeam {

class RecordingOps : public PassOps {
 public:
  // Sums of squares of the inputs of a matrix, and how many rows they are of.
  struct Record {
    std::vector<double> squares;
    std::int64_t rows = 0;
  };

  explicit RecordingOps(PassOps& inner) : inner_(inner) {}
  const Record& record(const PackedMatrix& weight) { return records_[&weight]; }

  const BackendCosts& costs() const override { return inner_.costs(); }
  void begin(const Batch& batch) override { inner_.begin(batch); }
  void abandon() noexcept override { inner_.abandon(); }
  Matrix matrix(int rows, int width) override { return inner_.matrix(rows, width); }
  void embed(Matrix out, const PackedMatrix& table, float scale) override {
    inner_.embed(out, table, scale);
  }
  void rms_norm(Matrix out, Matrix x, const Vector& weight, float eps, NormKind kind) override {
    inner_.rms_norm(out, x, weight, eps, kind);
  }
  void matmul(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias) override {
    note(x, weight);
    inner_.matmul(out, x, weight, bias);
  }
  void matmul_add(Matrix sum, Matrix x, const PackedMatrix& weight, const Vector* bias) override {
    note(x, weight);
    inner_.matmul_add(sum, x, weight, bias);
  }
  void add(Matrix sum, Matrix x) override { inner_.add(sum, x); }
  void gated_matmul(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias,
                    Activation activation, Matrix scratch) override {
    note(x, weight);
    inner_.gated_matmul(out, x, weight, bias, activation, scratch);
  }
  void rope(Matrix x, int heads, const Rope& rope) override { inner_.rope(x, heads, rope); }
  void silu_mul(Matrix out, Matrix gate, Matrix up) override { inner_.silu_mul(out, gate, up); }
  void gelu_mul(Matrix out, Matrix gate, Matrix up) override { inner_.gelu_mul(out, gate, up); }
  void sigmoid_gate(Matrix out, Matrix gate) override { inner_.sigmoid_gate(out, gate); }
  void split_heads(Matrix first, Matrix second, Matrix x, int heads) override {
    inner_.split_heads(first, second, x, heads);
  }
  void split_and_norm(Matrix q, Matrix gate, Matrix q_gate, const Vector& q_weight, Matrix k,
                      const Vector& k_weight, float eps, NormKind kind) override {
    inner_.split_and_norm(q, gate, q_gate, q_weight, k, k_weight, eps, kind);
  }
  void store_kv(KvStore& store, int layer, Matrix k, Matrix v) override {
    inner_.store_kv(store, layer, k, v);
  }
  void rope_and_store(Matrix q, int heads, Matrix k, Matrix v, const Rope& rope, KvStore& store,
                      int layer, const KvShape& shape) override {
    inner_.rope_and_store(q, heads, k, v, rope, store, layer, shape);
  }
  void attention(Matrix out, Matrix q, const KvStore& store, int layer, int heads, float scale,
                 int window) override {
    inner_.attention(out, q, store, layer, heads, scale, window);
  }
  void causal_conv(Matrix out, Matrix x, const Vector& weight, StateStore& store,
                   int layer) override {
    inner_.causal_conv(out, x, weight, store, layer);
  }
  void delta_net(Matrix out, const DeltaNetInputs& in, StateStore& store, int layer) override {
    inner_.delta_net(out, in, store, layer);
  }
  void gated_norm(Matrix out, Matrix x, Matrix gate, const Vector& weight, float eps) override {
    inner_.gated_norm(out, x, gate, weight, eps);
  }
  void gated_delta_net(Matrix out, const DeltaNetInputs& in, StateStore& store, int layer,
                       Matrix gate, const Vector& weight, float eps) override {
    inner_.gated_delta_net(out, in, store, layer, gate, weight, eps);
  }
  void gather(Matrix out, Matrix x, std::span<const int> rows) override {
    inner_.gather(out, x, rows);
  }
  std::vector<HeadResult> head(Matrix x, const PackedMatrix& weight,
                               std::span<const HeadJob> jobs) override {
    return inner_.head(x, weight, jobs);
  }
  void logits(std::span<float> out, Matrix x, const PackedMatrix& weight) override {
    inner_.logits(out, x, weight);
  }
  void wait() override { inner_.wait(); }

 private:
  void note(Matrix x, const PackedMatrix& weight);

  PassOps& inner_;
  std::map<const PackedMatrix*, Record> records_;
};

}  // namespace counterbeam
