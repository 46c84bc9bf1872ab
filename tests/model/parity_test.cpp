// Compares logits with transformers for every checkpoint of the shared folder, with sequences split
// into batches in several ways, which must agree bitwise.
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

double squared_error(const Logits& ours, std::span<const float> reference) {
  double error = 0, power = 0;
  std::size_t i = 0;
  for (const auto& row : ours) {
    for (const float x : row) {
      error += (double(x) - reference[i]) * (double(x) - reference[i]);
      power += double(reference[i]) * reference[i];
      ++i;
    }
  }
  return error / power;
}

void expect_parity(const Logits& ours, std::span<const float> reference, const std::string& what) {
  const std::size_t vocab = ours[0].size();
  ASSERT_EQ(ours.size() * vocab, reference.size()) << what;
  EXPECT_LE(squared_error(ours, reference), 1e-9) << what;
  for (std::size_t r = 0; r < ours.size(); ++r) {
    const auto row = reference.subspan(r * vocab, vocab);
    EXPECT_EQ(std::max_element(ours[r].begin(), ours[r].end()) - ours[r].begin(),
              std::max_element(row.begin(), row.end()) - row.begin())
        << what << ", position " << r;
  }
}

struct Case {
  std::string name;
  std::vector<TokenId> ids;
  std::vector<float> logits;  // [ids, vocab]
};

std::vector<Case> cases_of(const fs::path& folder) {
  const SafetensorsFile reference(folder / "reference.safetensors");
  std::vector<Case> cases;
  for (int i = 0;; ++i) {
    const TensorView* view = reference.find("input_ids." + std::to_string(i));
    if (view == nullptr) return cases;
    Case one{folder.filename().string() + " " + std::to_string(i), {}, {}};
    one.ids.resize(static_cast<std::size_t>(view->shape.elements()));
    std::memcpy(one.ids.data(), view->data, view->bytes());
    one.logits = to_f32(*reference.find("logits." + std::to_string(i)));
    cases.push_back(std::move(one));
  }
}

Runner load_runner(const fs::path& folder, std::unique_ptr<Ops> ops) {
  const ModelConfig config = read_config(folder);
  CheckpointWeights weights(Checkpoint::open(folder), config);
  Runner runner(std::move(ops), config, weights);
  EXPECT_TRUE(weights.unexpected().empty());
  return runner;
}

// Checks that every way to split a sequence into batches gives the same bits.
Logits same_by_every_way(Runner& runner, const Case& one) {
  const Logits whole = by_prefill(runner, one.ids);
  EXPECT_EQ(whole, by_pieces(runner, one.ids, {1})) << one.name << " token by token";
  EXPECT_EQ(whole, by_pieces(runner, one.ids, {5, 1, 32, 2, 17})) << one.name << " by blocks";
  EXPECT_EQ(whole, by_forks(runner, one.ids)) << one.name << " after forks";
  EXPECT_EQ(whole, in_company(runner, one.ids)) << one.name << " in company";
  return whole;
}

void expect_parity_of_folder(const fs::path& folder, std::unique_ptr<Ops> ops) {
  Runner runner = load_runner(folder, std::move(ops));
  for (const Case& one : cases_of(folder)) {
    expect_parity(same_by_every_way(runner, one), one.logits, one.name);
  }
  EXPECT_EQ(runner.cache().used(), (CacheNeed{0, 0}));
}

// The checkpoints next to the repository and, if COUNTERBEAM_PARITY is set, those of
// tools/parity_checkpoints.py.
std::vector<fs::path> parity_folders(bool with_others) {
  std::vector<fs::path> folders;
  const auto add = [&](const fs::path& parent) {
    for (const auto& entry : fs::directory_iterator(parent)) folders.push_back(entry.path());
  };
  add(testing::shared_folder() / "fixtures/parity");
  const char* others = std::getenv("COUNTERBEAM_PARITY");
  if (with_others && others != nullptr) add(others);
  std::sort(folders.begin(), folders.end());
  return folders;
}

TEST(Parity, ReferenceOpsMatchTransformers) {
  CB_NEEDS_SHARED(testing::shared_folder() / "fixtures/parity");
  for (const fs::path& folder : parity_folders(true)) {
    SCOPED_TRACE(folder.filename().string());
    expect_parity_of_folder(folder, make_reference_ops());
  }
}

// All in bf16: weights, activations, keys and values.
TEST(Parity, TheGpuMatchesTransformersWithinBf16) {
  CB_NEEDS_SHARED(testing::shared_folder() / "fixtures/parity");
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  for (const fs::path& folder : parity_folders(true)) {
    SCOPED_TRACE(folder.filename().string());
    Runner runner = load_runner(folder, make_cuda_ops());
    for (const Case& one : cases_of(folder)) {
      const double error = squared_error(same_by_every_way(runner, one), one.logits);
      EXPECT_LE(error, 3e-3) << one.name;
      RecordProperty(one.name, fmt::format("{:.1e}", error));
      fmt::print("{}: normalised squared error {:.1e}\n", one.name, error);
    }
  }
}

class CpuParity : public CpuPaths {};
INSTANTIATE_TEST_SUITE_P(Paths, CpuParity, ::testing::ValuesIn(all_paths()), path_name);

// The distance from a positive number to the next bfloat16 above it.
float bf16_ulp(float x) {
  return std::ldexp(1.0f, std::ilogb(x) - 7);
}

// The weights of a checkpoint rounded to bf16, so that only the arithmetic is compared.
class RoundedWeights : public WeightSource {
 public:
  explicit RoundedWeights(WeightSource& exact) : exact_(exact) {}
  TensorView get(const std::string& name, const Shape& shape) override {
    kept_.push_back(Tensor::from_f32(to_f32(exact_.get(name, shape)), DType::BF16, shape));
    return kept_.back().view();
  }
  void done() override {
    kept_.clear();
    exact_.done();
  }

 private:
  WeightSource& exact_;
  std::vector<Tensor> kept_;
};

Runner load_rounded(const fs::path& folder, std::unique_ptr<Ops> ops) {
  const ModelConfig config = read_config(folder);
  CheckpointWeights exact(Checkpoint::open(folder), config);
  RoundedWeights weights(exact);
  return {std::move(ops), config, weights};
}

// The most likely token may differ only if the reference's logits of the two are within three ulps
// (0.047 for logits of 2 to 4): inputs of GEMMs and keys and values are rounded to bf16 too, and
// rows of 64 numbers average out little of that.
void expect_bf16_close(const Logits& ours, const Logits& reference, const std::string& what) {
  double error = 0, power = 0;
  for (std::size_t r = 0; r < ours.size(); ++r) {
    const auto best = std::max_element(ours[r].begin(), ours[r].end()) - ours[r].begin();
    const float top = *std::max_element(reference[r].begin(), reference[r].end());
    EXPECT_LE(top - reference[r][static_cast<std::size_t>(best)], 3 * bf16_ulp(std::abs(top)))
        << what << ", position " << r;
    for (std::size_t i = 0; i < ours[r].size(); ++i) {
      error += std::pow(double(ours[r][i]) - reference[r][i], 2);
      power += std::pow(double(reference[r][i]), 2);
    }
  }
  EXPECT_LE(error / power, 1e-3) << what;
}

// Float32 matches transformers; bf16 changes the most likely token only near ties.
TEST_P(CpuParity, HoldsForEveryBatching) {
  CB_NEEDS_SHARED(testing::shared_folder() / "fixtures/parity");
  for (const fs::path& folder : parity_folders(!bf16())) {
    SCOPED_TRACE(folder.filename().string());
    if (!bf16()) {
      expect_parity_of_folder(folder, fast());
      continue;
    }
    Runner runner = load_runner(folder, fast());
    Runner reference = load_rounded(folder, make_reference_ops());
    for (const Case& one : cases_of(folder)) {
      expect_bf16_close(same_by_every_way(runner, one), by_prefill(reference, one.ids), one.name);
    }
  }
}

}  // namespace
}  // namespace counterbeam
