// Logits against transformers: every checkpoint of the shared folder, whichever way its sequences
// are cut into batches. The ways must agree bit for bit with each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

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

void expect_parity_of_folder(const fs::path& folder, std::unique_ptr<Ops> ops) {
  const ModelConfig config = read_config(folder);
  const Checkpoint checkpoint = Checkpoint::open(folder);
  CheckpointWeights weights(checkpoint, config);
  Runner runner(std::move(ops), config, weights);
  EXPECT_TRUE(weights.unexpected().empty());
  const SafetensorsFile reference(folder / "reference.safetensors");
  for (int i = 0;; ++i) {
    const TensorView* ids_view = reference.find("input_ids." + std::to_string(i));
    if (ids_view == nullptr) break;
    std::vector<TokenId> ids(static_cast<std::size_t>(ids_view->shape.elements()));
    std::memcpy(ids.data(), ids_view->data, ids_view->bytes());
    const std::vector<float> logits = to_f32(*reference.find("logits." + std::to_string(i)));
    const std::string what = folder.filename().string() + " " + std::to_string(i);
    const Logits whole = by_prefill(runner, ids);
    expect_parity(whole, logits, what);
    EXPECT_EQ(whole, by_pieces(runner, ids, {1})) << what << " token by token";
    EXPECT_EQ(whole, by_pieces(runner, ids, {5, 1, 32, 2, 17})) << what << " by blocks";
    EXPECT_EQ(whole, by_forks(runner, ids)) << what << " after forks";
    EXPECT_EQ(whole, in_company(runner, ids)) << what << " in company";
  }
  EXPECT_EQ(runner.cache().used(), (CacheNeed{0, 0}));
}

std::vector<fs::path> parity_folders() {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(testing::shared_folder() / "fixtures/parity")) {
    folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

TEST(Parity, ReferenceOpsMatchTransformers) {
  CB_NEEDS_SHARED(testing::shared_folder() / "fixtures/parity");
  for (const fs::path& folder : parity_folders()) {
    SCOPED_TRACE(folder.filename().string());
    expect_parity_of_folder(folder, make_reference_ops());
  }
}

}  // namespace
}  // namespace counterbeam
