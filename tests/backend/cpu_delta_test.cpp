// Tests the recurrent layers of the CPU back end against the reference and against the formula at
// odd shapes. Results must be bitwise equal however a sequence is split into steps, also in the
// chunked form.
#include "cpu_support.h"

namespace counterbeam {
namespace {

class CpuDelta : public CpuPaths {
 protected:
  // The chunked form on AMX tiles: keys, queries and states have 16 bits of significand.
  bool chunks() const { return bf16() && GetParam().isa == Isa::Amx; }
};
INSTANTIATE_TEST_SUITE_P(Paths, CpuDelta, ::testing::ValuesIn(all_paths()), path_name);

struct DeltaCase {
  int key_heads, value_heads, key_dim, value_dim, taps;
};

constexpr DeltaCase kDeltaCases[] = {{2, 4, 16, 32, 4}, {1, 1, 5, 7, 3}, {2, 2, 64, 48, 2}};

// Convolution and delta rule of two sequences of `tokens`, fed `step` tokens at a time.
std::vector<float> recur(Ops& ops, const DeltaCase& shape, int tokens, int step) {
  const StateShape states{
      2, shape.key_heads, shape.value_heads, shape.key_dim, shape.value_dim, shape.taps};
  const int channels = states.conv_channels(), outputs = shape.value_heads * shape.value_dim;
  const auto store = ops.make_state_store(states, 3);
  ops.clear_state(*store, StateId{1});
  ops.clear_state(*store, StateId{2});
  Numbers numbers(9);
  const auto u = numbers.many(std::size_t(2 * tokens * channels));
  const auto gates = numbers.many(std::size_t(2 * tokens * 2 * shape.value_heads));
  const auto conv = upload(ops, numbers.many(std::size_t(channels * shape.taps)));
  const auto a_log = upload(ops, numbers.many(std::size_t(shape.value_heads)));
  const auto dt_bias = upload(ops, numbers.many(std::size_t(shape.value_heads)));
  std::vector<float> results(std::size_t(2 * tokens * outputs));
  for (int first = 0; first < tokens; first += step) {
    const int rows = std::min(step, tokens - first);
    TestBatch batch;
    batch.add(first, rows, {}, StateId{1});
    batch.add(first, rows, {}, StateId{2});
    ops.begin(batch.batch());
    Matrix x = ops.matrix(2 * rows, channels), g = ops.matrix(2 * rows, 2 * shape.value_heads);
    const auto source = [&](int r) { return r / rows * tokens + first + r % rows; };
    for (int r = 0; r < 2 * rows; ++r) {
      std::copy_n(u.begin() + source(r) * channels, channels, row_of(x, r).begin());
      std::copy_n(gates.begin() + source(r) * g.width, g.width, row_of(g, r).begin());
    }
    ops.causal_conv(x, x, *conv, *store, 1);  // in place
    Matrix out = ops.matrix(2 * rows, outputs);
    const int bytes = ops.costs().activation_bytes;
    ops.delta_net(
        out,
        {x, g.columns(0, shape.value_heads, bytes),
         g.columns(shape.value_heads, shape.value_heads, bytes), a_log.get(), dt_bias.get()},
        *store, 1);
    for (int r = 0; r < 2 * rows; ++r)
      std::copy_n(row_of(out, r).begin(), outputs, results.begin() + source(r) * outputs);
    // Saving and restoring a snapshot changes nothing.
    ops.copy_state(*store, StateId{1}, StateId{0});
    ops.clear_state(*store, StateId{1});
    ops.copy_state(*store, StateId{0}, StateId{1});
  }
  return results;
}

TEST_P(CpuDelta, MatchesTheReference) {
  const auto ops = fast(), reference = make_reference_ops();
  for (const DeltaCase& shape : kDeltaCases) {
    expect_near(recur(*ops, shape, 37, 37), recur(*reference, shape, 37, 5), chunks() ? 1e-4 : 1e-5,
                "delta net");
  }
}

TEST_P(CpuDelta, DoesNotDependOnTheStepSize) {
  for (const DeltaCase& shape : kDeltaCases) {
    const auto expected = recur(*fast(1), shape, 37, 37);
    for (const int step : {1, 2, 5, 8, 9, 16, 20})
      EXPECT_TRUE(same_bits(recur(*fast(3), shape, 37, step), expected)) << "step " << step;
  }
}

// A sequence for the delta rule with one key head and one value head, and three states.
class Recurrence {
 public:
  Recurrence(Ops& ops, int key_dim, int value_dim, int tokens)
      : ops_(ops), shape_{1, 1, 1, key_dim, value_dim, 2}, tokens_(tokens) {
    Numbers numbers(11);
    qkv = numbers.many(std::size_t(tokens * shape_.conv_channels()));
    gates = numbers.many(std::size_t(tokens * 2));
    a_log_ = upload(ops, {a_log()});
    dt_bias_ = upload(ops, {0.25f});
    store_ = ops.make_state_store(shape_, 3);
    for (int slot = 0; slot < 3; ++slot) ops.clear_state(*store_, StateId{slot});
  }
  std::vector<float> qkv;    // [tokens][q, k, v]
  std::vector<float> gates;  // [tokens][beta, decay]

  StateStore& store() { return *store_; }
  // The outputs of tokens [first, last).
  std::vector<float> read(StateId state, int first, int last) {
    TestBatch batch;
    batch.add(first, last - first, {}, state);
    ops_.begin(batch.batch());
    const int rows = last - first, channels = shape_.conv_channels(), bytes = 4;
    const Matrix x = put(ops_, {qkv.begin() + first * channels, qkv.end()}, rows, channels);
    const Matrix g = put(ops_, {gates.begin() + first * 2, gates.end()}, rows, 2);
    const Matrix out = ops_.matrix(rows, shape_.value_dim);
    ops_.delta_net(
        out, {x, g.columns(0, 1, bytes), g.columns(1, 1, bytes), a_log_.get(), dt_bias_.get()},
        *store_, 0);
    return get(out);
  }

  // The formula of the delta rule in double precision.
  std::vector<float> by_the_rule() const {
    const int n = shape_.key_dim, m = shape_.value_dim;
    std::vector<double> state(std::size_t(n * m), 0.0), q, k;
    std::vector<float> out;
    for (int t = 0; t < tokens_; ++t) {
      const float* row = qkv.data() + t * shape_.conv_channels();
      const float* v = row + 2 * n;
      q = unit(row, n, 1 / std::sqrt(double(n)));
      k = unit(row + n, n, 1.0);
      const double beta = 1 / (1 + std::exp(-double(gates[std::size_t(2 * t)])));
      const double a = double(gates[std::size_t(2 * t + 1)]) + 0.25;
      const double decay = std::exp(-std::exp(double(a_log())) * std::log1p(std::exp(a)));
      for (int c = 0; c < m; ++c) {
        double read = 0, o = 0;
        for (int i = 0; i < n; ++i)
          read += (state[std::size_t(i * m + c)] *= decay) * k[std::size_t(i)];
        for (int i = 0; i < n; ++i) {
          double& s = state[std::size_t(i * m + c)];
          s += k[std::size_t(i)] * beta * (double(v[c]) - read);
          o += s * q[std::size_t(i)];
        }
        out.push_back(static_cast<float>(o));
      }
    }
    return out;
  }

 private:
  static float a_log() { return -3.0f; }  // so that a token matters a hundred tokens later
  static std::vector<double> unit(const float* x, int n, double scale) {
    double square = 1e-6;
    for (int i = 0; i < n; ++i) square += double(x[i]) * double(x[i]);
    std::vector<double> out;
    for (int i = 0; i < n; ++i) out.push_back(double(x[i]) / std::sqrt(square) * scale);
    return out;
  }

  Ops& ops_;
  StateShape shape_;
  int tokens_;
  std::unique_ptr<Vector> a_log_, dt_bias_;
  std::unique_ptr<StateStore> store_;
};

double normalised_error(const std::vector<float>& got, const std::vector<float>& expected) {
  double error = 0, square = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error += std::pow(double(got[i]) - double(expected[i]), 2);
    square += std::pow(double(expected[i]), 2);
  }
  return error / square;
}

TEST_P(CpuDelta, MatchesTheFormulaOverManyTokens) {
  const auto ops = fast();
  for (const auto& [keys, values] : {std::pair{128, 128}, {48, 80}, {7, 3}}) {
    Recurrence sequence(*ops, keys, values, 400);
    EXPECT_LE(normalised_error(sequence.read(StateId{0}, 0, 400), sequence.by_the_rule()),
              chunks() ? 1e-9 : 1e-12)
        << keys << " x " << values;
  }
}

TEST_P(CpuDelta, ForksContinueFromAnyPositionOfAChunk) {
  const auto ops = fast();
  Recurrence sequence(*ops, 40, 33, 64);
  const std::vector<float> whole = sequence.read(StateId{0}, 0, 64);
  for (int fork = 1; fork < 36; ++fork) {
    ops->clear_state(sequence.store(), StateId{1});
    sequence.read(StateId{1}, 0, fork);
    ops->copy_state(sequence.store(), StateId{1}, StateId{2});
    for (const int slot : {1, 2}) {
      const int until = slot == 1 ? 64 : fork + 17;
      const auto rest = sequence.read(StateId{slot}, fork, until);
      EXPECT_TRUE(same_bits(rest, std::span(whole).subspan(std::size_t(fork * 33), rest.size())))
          << fork << ", slot " << slot;
    }
  }
}

// The widest heads that a config may have.
TEST_P(CpuDelta, StatesOfAnySizeAreCounted) {
  const std::int64_t wide = 65536;
  EXPECT_GE(fast()->state_bytes({1, 1, 1, int{wide}, int{wide}, 2}), wide * wide * 4);
  EXPECT_GE(fast()->state_bytes({1, 1, 1, int{wide}, int{wide / 2}, 2}), wide * wide * 2);
}

TEST_P(CpuDelta, NonFiniteInputsReachTheOutput) {
  const auto ops = fast();
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    Recurrence sequence(*ops, 32, 32, 60);
    sequence.qkv[std::size_t(20 * 96 + 64 + 5)] = bad;  // value 5 of token 20
    const auto out = sequence.read(StateId{0}, 0, 60);
    for (int t = 0; t < 60; ++t) {
      EXPECT_EQ(std::isfinite(out[std::size_t(t * 32 + 5)]), t < 20) << t;
      EXPECT_TRUE(std::isfinite(out[std::size_t(t * 32 + 6)])) << t;
    }
    // Nor does it stay in a state that is reused.
    sequence.qkv[std::size_t(20 * 96 + 64 + 5)] = 0.5f;
    ops->clear_state(sequence.store(), StateId{0});
    EXPECT_TRUE(same_bits(sequence.read(StateId{0}, 0, 60), sequence.read(StateId{1}, 0, 60)));
  }
}

}  // namespace
}  // namespace counterbeam
