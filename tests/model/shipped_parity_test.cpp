// Compares the logits of the shipped models with transformers (tools/train/make_fixture.py): a
// prompt and its answer for each tiny task, at 36 positions, on every instruction set of this
// machine. In bf16 only the logits are compared, since there are ties.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "backend/cpu_support.h"
#include "model/checkpoint_weights.h"
#include "model/runner.h"

namespace counterbeam {
namespace {

using testing::Logits;
using testing::Runner;
namespace fs = std::filesystem;

std::vector<TokenId> ints(const TensorView& view) {
  std::vector<TokenId> values(static_cast<std::size_t>(view.shape.elements()));
  std::memcpy(values.data(), view.data, view.bytes());
  return values;
}

void expect_shipped_parity(const std::string& name, std::unique_ptr<Ops> ops, bool bf16) {
  const fs::path folder = fs::path(COUNTERBEAM_SOURCE_DIR) / "models" / name;
  const SafetensorsFile reference(fs::path(COUNTERBEAM_SOURCE_DIR) /
                                  "tests/fixtures/shipped_logits" / (name + ".safetensors"));
  const ModelConfig config = read_config(folder);
  CheckpointWeights weights(Checkpoint::open(folder), config);
  Runner runner(std::move(ops), config, weights);
  EXPECT_TRUE(weights.unexpected().empty());
  for (int i = 0; i < 3; ++i) {
    const std::string number = std::to_string(i);
    const Logits ours = by_prefill(runner, ints(*reference.find("input_ids." + number)));
    const std::vector<TokenId> positions = ints(*reference.find("positions." + number));
    const std::vector<float> wanted = to_f32(*reference.find("logits." + number));
    double error = 0, power = 0;
    for (std::size_t p = 0; p < positions.size(); ++p) {
      const auto& row = ours[static_cast<std::size_t>(positions[p])];
      const float* want = wanted.data() + p * row.size();
      if (!bf16) {
        EXPECT_EQ(std::max_element(row.begin(), row.end()) - row.begin(),
                  std::max_element(want, want + row.size()) - want)
            << "sequence " << i << ", position " << positions[p];
      }
      for (std::size_t v = 0; v < row.size(); ++v) {
        error += (double(row[v]) - want[v]) * (double(row[v]) - want[v]);
        power += double(want[v]) * want[v];
      }
    }
    EXPECT_LE(error / power, bf16 ? 3e-5 : 1e-9) << "sequence " << i;
  }
}

class ShippedParity : public CpuPaths {};
INSTANTIATE_TEST_SUITE_P(Paths, ShippedParity, ::testing::ValuesIn(all_paths()), path_name);

TEST_P(ShippedParity, LogitsEqualTransformers) {
  for (const char* name : {"tiny-dense", "tiny-hybrid"}) {
    SCOPED_TRACE(name);
    expect_shipped_parity(name, fast(), bf16());
  }
}

}  // namespace
}  // namespace counterbeam
