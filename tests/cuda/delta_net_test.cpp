// Tests the convolution and the delta rule on the device against the reference at odd shapes.
// Results must be bitwise equal however a sequence is split into steps and whatever else is in the
// batch.
#include "cuda_support.h"

namespace counterbeam {
namespace {

using CudaDeltaNet = CudaTest;

struct Case {
  StateShape shape;
  int before;  // columns before q, k and v in their matrix
};

constexpr Case kCases[] = {
    {{2, 2, 4, 128, 128, 4}, 0}, {{2, 1, 2, 128, 64, 4}, 8},  {{1, 2, 2, 128, 32, 3}, 0},
    {{2, 2, 4, 16, 32, 4}, 8},   {{1, 1, 1, 5, 7, 3}, 1},     {{2, 2, 2, 64, 48, 2}, 0},
    {{1, 1, 3, 24, 8, 5}, 3},    {{1, 1, 2, 128, 128, 1}, 5}, {{1, 1, 1, 144, 40, 40}, 0},
};

std::string name(const Case& c) {
  return "key dim " + std::to_string(c.shape.key_dim) + ", value dim " +
         std::to_string(c.shape.value_dim) + ", taps " + std::to_string(c.shape.conv_width);
}

// The inputs of every token of every sequence, and the layer's parameters.
struct Inputs {
  Inputs(const StateShape& shape, int sequences, int length)
      : channels(shape.conv_channels()), heads(shape.value_heads), tokens(length) {
    for (int s = 0; s < sequences; ++s) {
      Numbers numbers(20 + std::uint64_t(s));
      x.push_back(numbers.many(std::size_t(tokens * channels)));
      gates.push_back(numbers.many(std::size_t(tokens * 2 * heads)));
      for (float& gate : gates.back()) gate *= 4;
    }
    Numbers numbers(19);
    conv = numbers.many(std::size_t(channels * shape.conv_width));
    a_log = numbers.many(std::size_t(heads));
    dt_bias = numbers.many(std::size_t(heads));
  }
  int channels, heads, tokens;
  std::vector<std::vector<float>> x, gates;  // [sequence][token, channels], [token, beta | decay]
  std::vector<float> conv, a_log, dt_bias;
};

// The outputs of one sequence: [token, channels] and [token, value heads * value dim].
struct Outputs {
  std::vector<float> convolved, remembered;
};

// The states of some sequences on the device, and the batches that use them.
class Device {
 public:
  Device(const Case& c, const Inputs& inputs)
      : case_(c),
        inputs_(inputs),
        sequences_(static_cast<int>(inputs.x.size())),
        conv_(inputs.conv),
        a_log_(inputs.a_log),
        dt_bias_(inputs.dt_bias),
        slots_(std::vector<float>(std::size_t(sequences_ + 1) * view(nullptr).slot_floats(), 0.0f)),
        outputs(std::size_t(sequences_)) {}

  // How heads are normalised after the delta rule.
  enum class Norm { None, Apart, Within } norm = Norm::None;

  // Runs tokens [first, first + rows[s]) of every sequence s that has rows.
  void run(const std::vector<int>& first, const std::vector<int>& rows, int padding) {
    TestBatch batch;
    for (int s = sequences_ - 1; s >= 0; --s)
      if (rows[std::size_t(s)] > 0)
        batch.add(first[std::size_t(s)], rows[std::size_t(s)], {}, StateId{s + 1});
    const DeviceTestBatch device(batch.batch(), padding);
    const int total = static_cast<int>(batch.ids.size()) + padding;
    const int channels = inputs_.channels, heads = inputs_.heads;
    const int width = case_.before + channels + 2 * heads;
    std::vector<float> fused(std::size_t(total * width), std::nanf(""));
    for (const Segment& segment : batch.segments) {
      const auto s = static_cast<std::size_t>(segment.state) - 1;
      for (int i = 0; i < segment.rows; ++i) {
        const int token = segment.position + i;
        auto to = fused.begin() + (segment.first_row + i) * width + case_.before;
        to = std::copy_n(inputs_.x[s].begin() + token * channels, channels, to);
        std::copy_n(inputs_.gates[s].begin() + token * 2 * heads, 2 * heads, to);
      }
    }
    const DeviceMatrix in(fused, total, width);
    const Matrix x = in.matrix().columns(case_.before, channels, 2);
    const Matrix beta = in.matrix().columns(case_.before + channels, heads, 2);
    const Matrix decay = in.matrix().columns(case_.before + channels + heads, heads, 2);
    const DeviceMatrix convolved(total, channels), remembered(total, out_width());
    const int layer = case_.shape.layers - 1;
    cuda::causal_conv(nullptr, convolved.matrix(), x, conv_.data(), view(slots_.data()), layer,
                      device.batch());
    remember(remembered.matrix(), {convolved.matrix(), beta, decay, a_log_.data(), dt_bias_.data()},
             layer, device.batch());
    const auto conv_out = convolved.get(), out = remembered.get();
    for (const Segment& segment : batch.segments) {
      Outputs& of = outputs[static_cast<std::size_t>(segment.state) - 1];
      append(of.convolved, conv_out, segment, channels);
      append(of.remembered, out, segment, out_width());
    }
  }

  // Every sequence from its first token to its last, `step` at a time.
  void run_all(int step, int padding = 0) {
    for (int at = 0; at < inputs_.tokens; at += step) {
      const std::size_t n = std::size_t(sequences_);
      run(std::vector<int>(n, at), std::vector<int>(n, std::min(step, inputs_.tokens - at)),
          padding);
    }
  }

  std::vector<float> state(int sequence) const {
    const auto all = slots_.get();
    const auto size = static_cast<std::ptrdiff_t>(view(nullptr).slot_floats());
    return {all.begin() + (sequence + 1) * size, all.begin() + (sequence + 2) * size};
  }

 private:
  void remember(Matrix out, const cuda::DeltaInputs& in, int layer,
                const cuda::DeviceBatch& batch) const {
    const cuda::StateView states = view(slots_.data());
    const int dim = case_.shape.value_dim;
    Numbers numbers(18);
    const DeviceArray<float> weight(numbers.many(std::size_t(dim)));
    const DeviceMatrix gate(numbers.many(std::size_t(out.rows * out.width)), out.rows, out.width);
    if (norm == Norm::Within) {
      cuda::gated_delta_net(nullptr, out, in, gate.matrix(), weight.data(), 1e-6f, states, layer,
                            batch);
    } else {
      cuda::delta_net(nullptr, out, in, states, layer, batch);
      if (norm == Norm::Apart)
        cuda::gated_norm(nullptr, out, out, gate.matrix(), weight.data(), dim, 1e-6f);
    }
    cuda::check(cudaDeviceSynchronize(), "running");
  }

  int out_width() const { return case_.shape.value_heads * case_.shape.value_dim; }
  cuda::StateView view(float* slots) const { return {slots, case_.shape}; }
  static void append(std::vector<float>& to, const std::vector<float>& from, const Segment& segment,
                     int width) {
    to.insert(to.end(), from.begin() + segment.first_row * width,
              from.begin() + (segment.first_row + segment.rows) * width);
  }

  const Case& case_;
  const Inputs& inputs_;
  int sequences_;
  DeviceArray<float> conv_, a_log_, dt_bias_, slots_;

 public:
  std::vector<Outputs> outputs;
};

// The reference outputs of a sequence; the delta rule gets the rounded `convolved`.
Outputs reference(const Case& c, const Inputs& inputs, std::size_t sequence,
                  const std::vector<float>& convolved) {
  const auto ops = make_reference_ops();
  const StateShape& shape = c.shape;
  const int tokens = inputs.tokens, heads = inputs.heads;
  const auto store = ops->make_state_store(shape, 1);
  const auto conv = upload(*ops, inputs.conv), a_log = upload(*ops, inputs.a_log),
             dt_bias = upload(*ops, inputs.dt_bias);
  TestBatch batch;
  batch.add(0, tokens, {}, StateId{0});
  ops->begin(batch.batch());
  Matrix x = put(*ops, inputs.x[sequence], tokens, inputs.channels);
  Matrix gates = put(*ops, inputs.gates[sequence], tokens, 2 * heads);
  Matrix qkv = put(*ops, convolved, tokens, inputs.channels);
  Matrix out = ops->matrix(tokens, heads * shape.value_dim);
  ops->causal_conv(x, x, *conv, *store, shape.layers - 1);
  ops->delta_net(
      out,
      {qkv, gates.columns(0, heads, 4), gates.columns(heads, heads, 4), a_log.get(), dt_bias.get()},
      *store, shape.layers - 1);
  return {get(x), get(out)};
}

TEST_F(CudaDeltaNet, MatchesTheReference) {
  for (const Case& c : kCases) {
    const Inputs inputs(c.shape, 2, 45);
    for (const int step : {45, 20}) {
      Device device(c, inputs);
      device.run_all(step, 1);
      for (std::size_t s = 0; s < 2; ++s) {
        const Outputs& got = device.outputs[s];
        const Outputs expected = reference(c, inputs, s, got.convolved);
        // Tolerance: one rounding to bf16.
        expect_near(got.convolved, expected.convolved, 4e-3, "convolution, " + name(c));
        expect_near(got.remembered, expected.remembered, 4e-3, "delta rule, " + name(c));
      }
    }
  }
}

TEST_F(CudaDeltaNet, KeepsTheLastInputs) {
  for (const Case& c : kCases) {
    const Inputs inputs(c.shape, 1, 45);
    Device device(c, inputs);
    device.run_all(7);
    const int kept = (c.shape.conv_width - 1) * inputs.channels;
    const auto state = device.state(0);
    const auto layer = state.end() - std::ptrdiff_t(state.size()) / c.shape.layers;
    EXPECT_TRUE(same_bits(std::vector<float>(layer, layer + kept),
                          std::vector<float>(inputs.x[0].end() - kept, inputs.x[0].end())))
        << name(c);
  }
}

TEST_F(CudaDeltaNet, DoesNotDependOnTheStepSize) {
  for (const Case& c : kCases) {
    const Inputs inputs(c.shape, 2, 45);
    Device whole(c, inputs);
    whole.run_all(45);
    for (const int step : {1, 2, 5, 8, 31}) {
      Device cut(c, inputs);
      cut.run_all(step, step % 3);
      for (int s = 0; s < 2; ++s) {
        const auto i = std::size_t(s);
        EXPECT_TRUE(same_bits(cut.outputs[i].convolved, whole.outputs[i].convolved)) << name(c);
        EXPECT_TRUE(same_bits(cut.outputs[i].remembered, whole.outputs[i].remembered)) << name(c);
        EXPECT_TRUE(same_bits(cut.state(s), whole.state(s))) << name(c) << ", step " << step;
      }
    }
  }
}

// Alone, with a few and with many sequences of other lengths: the launches differ, the bits do not.
TEST_F(CudaDeltaNet, DoesNotDependOnTheBatch) {
  for (const Case& c : kCases) {
    const Inputs one(c.shape, 1, 40);
    Device alone(c, one);
    alone.run_all(40);
    for (const int sequences : {2, 12, 24, 80}) {
      const Inputs inputs(c.shape, sequences, 40);
      Device together(c, inputs);
      std::vector<int> first(std::size_t(sequences), 0), rows(std::size_t(sequences), 0);
      for (int s = 0; s < sequences; ++s) rows[std::size_t(s)] = s == 0 ? 23 : s % 5;
      together.run(first, rows, 3);
      for (int s = 0; s < sequences; ++s) {
        first[std::size_t(s)] = rows[std::size_t(s)];
        rows[std::size_t(s)] = s == 0 ? 17 : 1;
      }
      together.run(first, rows, 0);
      EXPECT_TRUE(same_bits(together.outputs[0].remembered, alone.outputs[0].remembered))
          << name(c) << ", " << sequences << " sequences";
      EXPECT_TRUE(same_bits(together.state(0), alone.state(0))) << name(c);
    }
  }
}

// Few rows, many rows of one sequence, many rows of many sequences.
TEST_F(CudaDeltaNet, FusedNormsEqualSeparateNorms) {
  for (const Case& c : kCases) {
    for (const auto& [sequences, tokens, step] :
         {std::tuple{3, 4, 1}, {1, 45, 45}, {40, 21, 21}, {40, 20, 9}}) {
      const Inputs inputs(c.shape, sequences, tokens);
      Device apart(c, inputs), within(c, inputs);
      apart.norm = Device::Norm::Apart;
      within.norm = Device::Norm::Within;
      apart.run_all(step);
      within.run_all(step);
      for (int s = 0; s < sequences; ++s) {
        const auto i = std::size_t(s);
        EXPECT_TRUE(same_bits(within.outputs[i].remembered, apart.outputs[i].remembered))
            << name(c) << ", " << sequences << " x " << step;
        EXPECT_TRUE(same_bits(within.state(s), apart.state(s))) << name(c);
      }
    }
  }
}

}  // namespace
}  // namespace counterbeam
