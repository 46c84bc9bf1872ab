// Compares the logits of quantised checkpoints of the shared folder with references that were
// computed in float32 on the decoded weights, on every path of the CPU back end and on the GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/cpu_support.h"
#include "model/checkpoint_weights.h"
#include "model/runner.h"
#include "support/shared_folder.h"

namespace counterbeam {
namespace {

using testing::Logits;
using testing::Runner;
namespace fs = std::filesystem;

struct QuantisedFixture {
  const char* name;
  float gap;  // the largest change of a logit when transformers computes in bf16
};
constexpr QuantisedFixture kFixtures[] = {
    {"fp8-qwen3", 0.10f},     {"fp8-llama-ragged", 0.11f}, {"ct-fp8-channel-llama", 0.16f},
    {"ct-int8-qwen2", 0.10f}, {"ct-w4-qwen3", 0.09f},      {"awq-qwen2", 0.08f},
    {"gptq-llama", 0.13f},
};

struct Distance {
  double error = 0, power = 0;
  float largest = 0;
};

// Every prompt of a fixture, read whole and token by token, which must agree bitwise.
Distance distance_of(const fs::path& folder, std::unique_ptr<Ops> ops) {
  const ModelConfig config = read_config(folder);
  CheckpointWeights weights(Checkpoint::open(folder), config);
  EXPECT_TRUE(weights.quantised());
  Runner runner(std::move(ops), config, weights);
  EXPECT_TRUE(weights.unexpected().empty());
  EXPECT_EQ(weights.non_finite(), "");
  const SafetensorsFile reference(folder / "reference.safetensors");
  Distance distance;
  for (int i = 0; reference.find(fmt::format("input_ids.{}", i)); ++i) {
    const TensorView& view = *reference.find(fmt::format("input_ids.{}", i));
    std::vector<TokenId> ids(static_cast<std::size_t>(view.shape.elements()));
    std::memcpy(ids.data(), view.data, view.bytes());
    const std::vector<float> expected = to_f32(*reference.find(fmt::format("logits.{}", i)));
    const Logits ours = by_prefill(runner, ids);
    EXPECT_EQ(ours, by_pieces(runner, ids, {1})) << "token by token";
    EXPECT_EQ(ours, by_pieces(runner, ids, {3, 1, 20})) << "by blocks";
    std::size_t at = 0;
    for (const auto& row : ours)
      for (const float x : row) {
        const float difference = x - expected[at];
        distance.error += double(difference) * double(difference);
        distance.power += double(expected[at]) * double(expected[at]);
        distance.largest = std::max(distance.largest, std::abs(difference));
        ++at;
      }
  }
  EXPECT_GT(distance.power, 0);
  return distance;
}

TEST(QuantisedParity, TheReferenceDecodesEveryFormat) {
  CB_NEEDS_SHARED(testing::shared_folder() / "fixtures/quantised");
  for (const QuantisedFixture& fixture : kFixtures) {
    SCOPED_TRACE(fixture.name);
    const fs::path folder = testing::shared_folder() / "fixtures/quantised" / fixture.name;
    const Distance distance = distance_of(folder, make_reference_ops());
    EXPECT_LE(distance.error / distance.power, 1e-9);
  }
}

class QuantisedPaths : public CpuPaths {};
INSTANTIATE_TEST_SUITE_P(Paths, QuantisedPaths, ::testing::ValuesIn(all_paths()), path_name);

TEST_P(QuantisedPaths, MatchTheReference) {
  CB_NEEDS_SHARED(testing::shared_folder() / "fixtures/quantised");
  for (const QuantisedFixture& fixture : kFixtures) {
    SCOPED_TRACE(fixture.name);
    const fs::path folder = testing::shared_folder() / "fixtures/quantised" / fixture.name;
    const Distance distance = distance_of(folder, fast());
    if (bf16())
      EXPECT_LE(distance.largest, 3 * fixture.gap);
    else
      EXPECT_LE(distance.error / distance.power, 1e-9);
  }
}

TEST(QuantisedParity, TheGpuMatchesTheReference) {
  CB_NEEDS_SHARED(testing::shared_folder() / "fixtures/quantised");
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  for (const QuantisedFixture& fixture : kFixtures) {
    SCOPED_TRACE(fixture.name);
    const fs::path folder = testing::shared_folder() / "fixtures/quantised" / fixture.name;
    EXPECT_LE(distance_of(folder, make_cuda_ops()).largest, 3 * fixture.gap);
  }
}

}  // namespace
}  // namespace counterbeam
