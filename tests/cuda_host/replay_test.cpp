// The replay contract of ops.h on the simulated device: an operation of a decoding step launches
// when the step is captured and never when it is replayed.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

#include "backend/ops.h"
#include "base/error.h"
#include "cuda_host/simulated_device.h"

namespace counterbeam {
namespace {

using namespace testing;

constexpr int kRows = 3, kHeads = 2, kHeadDim = 64, kWidth = kHeads * kHeadDim;
constexpr KvShape kKv{1, kHeads, kHeadDim};
constexpr StateShape kStates{1, kHeads, kHeads, kHeadDim, kHeadDim, 4};

// A back end with weights and stores, and one decoding step of kRows sequences.
class Device {
 public:
  Device() {
    matrix = ops->pack_random(kWidth, kWidth, 0.1f, 1);
    gate_up = ops->pack_random(2 * kWidth, kWidth, 0.1f, 2);
    wide = vector(kWidth);
    per_head = vector(kHeadDim);
    conv = vector(kStates.conv_channels() * kStates.conv_width);
    for (int i = 0; i < kRows; ++i) {
      const auto index = static_cast<std::size_t>(i);
      pages_[index] = PageId{i};
      segments_[index] = {.first_row = i,
                          .rows = 1,
                          .position = 0,
                          .pages = {&pages_[index], 1},
                          .state = StateId{i}};
      ops->clear_state(*states, StateId{i});
    }
    rope = {std::vector<float>(kHeadDim / 2, 0.5f), 1.0f};
  }

  // The step's matrices are made alike every time, as a model makes them.
  void begin(std::span<const TokenId> ids) {
    ops->begin({ids, segments_});
    for (Matrix& each : m) each = ops->matrix(kRows, kWidth);
    pair = ops->matrix(kRows, 2 * kWidth);
    qkv = ops->matrix(kRows, kStates.conv_channels());
    convolved = ops->matrix(kRows, kStates.conv_channels());
    beta = ops->matrix(kRows, kHeads);
    decay = ops->matrix(kRows, kHeads);
  }
  DeltaNetInputs delta() const { return {qkv, beta, decay, per_head.get(), per_head.get()}; }
  std::vector<float> logits() {
    const Matrix last = ops->matrix(kRows, kWidth);
    const int rows[] = {0, 1, 2};
    ops->gather(last, m[0], rows);
    std::vector<float> out(std::size_t{kRows} * kWidth);
    ops->logits(out, last, *matrix);
    return out;
  }

  std::unique_ptr<Ops> ops = make_cuda_ops();
  std::unique_ptr<PackedMatrix> matrix, gate_up;
  std::unique_ptr<Vector> wide, per_head, conv;
  std::unique_ptr<KvStore> kv = ops->make_kv_store(kKv, kRows);
  std::unique_ptr<StateStore> states = ops->make_state_store(kStates, kRows);
  Rope rope;
  Matrix m[4], pair, qkv, convolved, beta, decay;

 private:
  std::unique_ptr<Vector> vector(int size) {
    const std::vector<float> values(static_cast<std::size_t>(size), 0.5f);
    const Tensor tensor = Tensor::from_f32(values, DType::F32, {size});
    const TensorView view = tensor.view();
    return ops->upload({&view, 1});
  }
  std::array<PageId, kRows> pages_{};
  std::array<Segment, kRows> segments_{};
};

struct Operation {
  const char* name;
  void (*run)(Device&);
};

// Every operation of PassOps that a graph may hold. EveryOperationIsInTheTable compares it with
// ops.h.
const Operation kOperations[] = {
    {"embed", [](Device& d) { d.ops->embed(d.m[0], *d.matrix, 1); }},
    {"rms_norm",
     [](Device& d) { d.ops->rms_norm(d.m[0], d.m[1], *d.wide, 1e-6f, NormKind::Plain); }},
    {"matmul", [](Device& d) { d.ops->matmul(d.m[0], d.m[1], *d.matrix, nullptr); }},
    {"matmul_add", [](Device& d) { d.ops->matmul_add(d.m[0], d.m[1], *d.matrix, nullptr); }},
    {"gated_matmul",
     [](Device& d) {
       d.ops->gated_matmul(d.m[0], d.m[1], *d.gate_up, nullptr, Activation::Silu, d.pair);
     }},
    {"rope", [](Device& d) { d.ops->rope(d.m[0], kHeads, d.rope); }},
    {"silu_mul", [](Device& d) { d.ops->silu_mul(d.m[0], d.m[1], d.m[2]); }},
    {"gelu_mul", [](Device& d) { d.ops->gelu_mul(d.m[0], d.m[1], d.m[2]); }},
    {"add", [](Device& d) { d.ops->add(d.m[0], d.m[1]); }},
    {"sigmoid_gate", [](Device& d) { d.ops->sigmoid_gate(d.m[0], d.m[1]); }},
    {"split_heads", [](Device& d) { d.ops->split_heads(d.m[0], d.m[1], d.pair, kHeads); }},
    {"split_and_norm",
     [](Device& d) {
       d.ops->split_and_norm(d.m[0], d.m[1], d.pair, *d.per_head, d.m[2], *d.per_head, 1e-6f,
                             NormKind::Plain);
     }},
    {"store_kv", [](Device& d) { d.ops->store_kv(*d.kv, 0, d.m[0], d.m[1]); }},
    {"rope_and_store",
     [](Device& d) {
       d.ops->rope_and_store(d.m[0], kHeads, d.m[1], d.m[2], d.rope, *d.kv, 0, kKv);
     }},
    {"attention", [](Device& d) { d.ops->attention(d.m[0], d.m[1], *d.kv, 0, kHeads, 0.125f, 0); }},
    {"causal_conv",
     [](Device& d) { d.ops->causal_conv(d.convolved, d.qkv, *d.conv, *d.states, 0); }},
    {"delta_net", [](Device& d) { d.ops->delta_net(d.m[0], d.delta(), *d.states, 0); }},
    {"gated_norm",
     [](Device& d) { d.ops->gated_norm(d.m[0], d.m[1], d.m[2], *d.per_head, 1e-6f); }},
    {"gated_delta_net",
     [](Device& d) {
       d.ops->gated_delta_net(d.m[0], d.delta(), *d.states, 0, d.m[1], *d.per_head, 1e-6f);
     }},
};

constexpr TokenId kIds[] = {5, 6, 7}, kOtherIds[] = {8, 9, 10};

TEST(Replay, NoOperationLaunchesDuringAReplay) {
  for (const Operation& operation : kOperations) {
    Device device;
    for (const bool replay : {false, true}) {
      device.begin(kIds);
      const int before = enqueued();
      operation.run(device);
      const int launched = enqueued() - before;
      EXPECT_EQ(launched > 0, !replay) << operation.name << ", replayed: " << replay;
      device.ops->wait();
    }
  }
}

TEST(Replay, EveryOperationIsInTheTable) {
  std::ifstream file(std::string(COUNTERBEAM_SOURCE_DIR) + "/src/backend/ops.h");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t begin = text.find("class PassOps"), end = text.find("\n};", begin);
  ASSERT_NE(end, std::string::npos);
  const std::string body = text.substr(begin, end - begin);
  // These surround the graph, or have no launch.
  std::set<std::string> listed{"begin", "matrix", "costs", "gather",
                               "head",  "logits", "wait",  "abandon"};
  for (const Operation& operation : kOperations) listed.insert(operation.name);
  std::set<std::string> declared;
  const std::regex declaration(R"(virtual [^;(]*?(\w+)\()");
  for (std::sregex_iterator match(body.begin(), body.end(), declaration), none; match != none;
       ++match) {
    if ((*match)[1] != "PassOps") declared.insert((*match)[1]);
  }
  EXPECT_EQ(declared, listed);
}

// A replay computes over the new batch, and a matrix made after attention (which takes a workspace
// while it is captured, but not while it is replayed) is where the graph expects it.
TEST(Replay, ComputesOverTheNewBatch) {
  const auto step = [](Device& device, std::span<const TokenId> ids) {
    device.begin(ids);
    device.ops->embed(device.m[1], *device.matrix, 1);
    device.ops->store_kv(*device.kv, 0, device.m[1], device.m[1]);
    device.ops->attention(device.m[2], device.m[1], *device.kv, 0, kHeads, 0.125f, 0);
    device.m[0] = device.ops->matrix(kRows, kWidth);
    device.ops->matmul(device.m[0], device.m[2], *device.matrix, nullptr);
    return device.logits();
  };
  Device replaying, fresh;
  const std::vector<float> first = step(replaying, kIds);
  const std::vector<float> second = step(replaying, kOtherIds);
  EXPECT_EQ(second, step(fresh, kOtherIds));
  EXPECT_NE(second, first);
}

// A pass that fails while its graph is captured leaves no graph behind that would lack the rest.
TEST(Replay, AnAbandonedPassIsNotReplayed) {
  Device device, fresh;
  device.begin(kIds);
  device.ops->embed(device.m[1], *device.matrix, 1);
  EXPECT_THROW(device.ops->matrix(kRows, 1 << 30), Error);
  device.ops->abandon();
  for (Device* each : {&device, &fresh}) {
    each->begin(kOtherIds);
    each->ops->embed(each->m[1], *each->matrix, 1);
    each->ops->matmul(each->m[0], each->m[1], *each->matrix, nullptr);
  }
  EXPECT_EQ(device.logits(), fresh.logits());
}

}  // namespace
}  // namespace counterbeam
