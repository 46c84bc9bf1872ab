#include "backend/profiled_ops.h"

#include <fmt/format.h>

#include <chrono>
#include <unordered_map>

namespace counterbeam {
namespace {

using Clock = std::chrono::steady_clock;

class ProfiledOps : public Ops {
 public:
  ProfiledOps(std::unique_ptr<Ops> ops, OperationProfile& profile)
      : ops_(std::move(ops)), profile_(profile) {
    profile_.threads = ops_->costs().threads;
    ops_->watch(&pool_);
  }

  std::string name() const override { return ops_->name(); }
  const BackendCosts& costs() const override { return ops_->costs(); }
  double memory_bandwidth() override { return ops_->memory_bandwidth(); }

  void expect_weights(std::int64_t count) const override { ops_->expect_weights(count); }
  std::unique_ptr<PackedMatrix> pack(std::span<const StoredMatrix> parts) override {
    return counted([&] { return ops_->pack(parts); });
  }
  std::unique_ptr<Vector> upload(std::span<const TensorView> parts) override {
    return ops_->upload(parts);
  }
  std::int64_t matrix_bytes() const override { return ops_->matrix_bytes(); }
  std::unique_ptr<PackedMatrix> pack_random(int out, int in, float scale,
                                            std::uint64_t seed) override {
    return counted([&] { return ops_->pack_random(out, in, scale, seed); });
  }

  std::int64_t page_bytes(const KvShape& shape) const override { return ops_->page_bytes(shape); }
  std::int64_t state_bytes(const StateShape& shape) const override {
    return ops_->state_bytes(shape);
  }
  std::int64_t cache_bytes(std::int64_t wanted) const override { return ops_->cache_bytes(wanted); }
  std::unique_ptr<KvStore> make_kv_store(const KvShape& shape, int pages) override {
    return ops_->make_kv_store(shape, pages);
  }
  std::unique_ptr<StateStore> make_state_store(const StateShape& shape, int slots) override {
    return ops_->make_state_store(shape, slots);
  }
  void copy_page(KvStore& store, PageId from, PageId to, int tokens) override {
    timed("copy_page", [&] { ops_->copy_page(store, from, to, tokens); });
  }
  void copy_state(StateStore& store, StateId from, StateId to) override {
    timed("copy_state", [&] { ops_->copy_state(store, from, to); });
  }
  void clear_state(StateStore& store, StateId state) override {
    timed("clear_state", [&] { ops_->clear_state(store, state); });
  }

  void abandon() noexcept override { ops_->abandon(); }
  void begin(const Batch& batch) override {
    timed("begin", [&] { ops_->begin(batch); });
  }
  Matrix matrix(int rows, int width) override { return ops_->matrix(rows, width); }

  void embed(Matrix out, const PackedMatrix& table, float scale) override {
    timed("embed", [&] { ops_->embed(out, table, scale); });
  }
  void rms_norm(Matrix out, Matrix x, const Vector& weight, float eps, NormKind kind) override {
    timed("rms_norm", [&] { ops_->rms_norm(out, x, weight, eps, kind); });
  }
  void matmul(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias) override {
    timed("matmul", weight, [&] { ops_->matmul(out, x, weight, bias); });
  }
  void matmul_add(Matrix sum, Matrix x, const PackedMatrix& weight, const Vector* bias) override {
    timed("matmul_add", weight, [&] { ops_->matmul_add(sum, x, weight, bias); });
  }
  void add(Matrix sum, Matrix x) override {
    timed("add", [&] { ops_->add(sum, x); });
  }
  void gated_matmul(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias,
                    Activation activation, Matrix scratch) override {
    timed("gated_matmul", weight,
          [&] { ops_->gated_matmul(out, x, weight, bias, activation, scratch); });
  }
  void rope(Matrix x, int heads, const Rope& of) override {
    timed("rope", [&] { ops_->rope(x, heads, of); });
  }
  void silu_mul(Matrix out, Matrix gate, Matrix up) override {
    timed("silu_mul", [&] { ops_->silu_mul(out, gate, up); });
  }
  void gelu_mul(Matrix out, Matrix gate, Matrix up) override {
    timed("gelu_mul", [&] { ops_->gelu_mul(out, gate, up); });
  }
  void sigmoid_gate(Matrix out, Matrix gate) override {
    timed("sigmoid_gate", [&] { ops_->sigmoid_gate(out, gate); });
  }
  void split_heads(Matrix first, Matrix second, Matrix x, int heads) override {
    timed("split_heads", [&] { ops_->split_heads(first, second, x, heads); });
  }
  void split_and_norm(Matrix q, Matrix gate, Matrix q_gate, const Vector& q_weight, Matrix k,
                      const Vector& k_weight, float eps, NormKind kind) override {
    timed("split_and_norm",
          [&] { ops_->split_and_norm(q, gate, q_gate, q_weight, k, k_weight, eps, kind); });
  }

  void store_kv(KvStore& store, int layer, Matrix k, Matrix v) override {
    timed("store_kv", [&] { ops_->store_kv(store, layer, k, v); });
  }
  void rope_and_store(Matrix q, int heads, Matrix k, Matrix v, const Rope& of, KvStore& store,
                      int layer, const KvShape& shape) override {
    timed("rope_and_store", [&] { ops_->rope_and_store(q, heads, k, v, of, store, layer, shape); });
  }
  void attention(Matrix out, Matrix q, const KvStore& store, int layer, int heads, float scale,
                 int window) override {
    timed("attention", [&] { ops_->attention(out, q, store, layer, heads, scale, window); });
  }
  void causal_conv(Matrix out, Matrix x, const Vector& weight, StateStore& store,
                   int layer) override {
    timed("causal_conv", [&] { ops_->causal_conv(out, x, weight, store, layer); });
  }
  void delta_net(Matrix out, const DeltaNetInputs& in, StateStore& store, int layer) override {
    timed("delta_net", [&] { ops_->delta_net(out, in, store, layer); });
  }
  void gated_norm(Matrix out, Matrix x, Matrix gate, const Vector& weight, float eps) override {
    timed("gated_norm", [&] { ops_->gated_norm(out, x, gate, weight, eps); });
  }
  void gated_delta_net(Matrix out, const DeltaNetInputs& in, StateStore& store, int layer,
                       Matrix gate, const Vector& weight, float eps) override {
    timed("gated_delta_net",
          [&] { ops_->gated_delta_net(out, in, store, layer, gate, weight, eps); });
  }

  void gather(Matrix out, Matrix x, std::span<const int> rows) override {
    timed("gather", [&] { ops_->gather(out, x, rows); });
  }
  std::vector<HeadResult> head(Matrix x, const PackedMatrix& weight,
                               std::span<const HeadJob> jobs) override {
    std::vector<HeadResult> results;
    timed("head", weight, [&] { results = ops_->head(x, weight, jobs); });
    return results;
  }
  void logits(std::span<float> out, Matrix x, const PackedMatrix& weight) override {
    timed("logits", weight, [&] { ops_->logits(out, x, weight); });
  }
  void wait() override { ops_->wait(); }

 private:
  template <typename Pack>
  std::unique_ptr<PackedMatrix> counted(Pack&& make) {
    const std::int64_t before = ops_->matrix_bytes();
    auto matrix = make();
    bytes_[matrix.get()] = static_cast<double>(ops_->matrix_bytes() - before);
    return matrix;
  }

  template <typename Call>
  void timed(const std::string& name, const PackedMatrix& weight, Call&& call) {
    const std::string kind = fmt::format("{} {} x {}", name, weight.out, weight.in);
    timed(kind, std::forward<Call>(call));
    const auto found = bytes_.find(&weight);
    if (found != bytes_.end()) profile_.operations[kind].weight_bytes += found->second;
  }

  template <typename Call>
  void timed(const std::string& kind, Call&& call) {
    const PoolTimes before = pool_;
    const auto start = Clock::now();
    call();
    const std::chrono::duration<double> taken = Clock::now() - start;
    const PoolTimes loops = pool_ - before;
    OperationTimes& times = profile_.operations[kind];
    ++times.calls;
    times.seconds += taken.count();
    times.loops += loops.loops;
    times.loop_seconds += 1e-9 * static_cast<double>(loops.nanoseconds);
    for (const PoolTimes::Thread& thread : loops.threads) {
      times.busy_seconds += 1e-9 * static_cast<double>(thread.busy);
      times.late_seconds += 1e-9 * static_cast<double>(thread.late);
      times.joined += thread.joined;
    }
  }

  std::unique_ptr<Ops> ops_;
  OperationProfile& profile_;
  PoolTimes pool_;
  std::unordered_map<const PackedMatrix*, double> bytes_;
};

}  // namespace

std::unique_ptr<Ops> make_profiled_ops(std::unique_ptr<Ops> ops, OperationProfile& profile) {
  return std::make_unique<ProfiledOps>(std::move(ops), profile);
}

}  // namespace counterbeam
