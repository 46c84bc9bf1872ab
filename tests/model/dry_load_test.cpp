// Loading without weights: every tensor is asked for once, every problem is noted, none is read.
#include "model/dry_load.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

namespace counterbeam {
namespace {

// Has nothing, and says so.
class NoWeights : public WeightSource {
 public:
  TensorView get(const std::string& name, const Shape& shape) override {
    bad_input("{} {}", name, shape.to_string());
  }
  void done() override { FAIL() << "nothing was read"; }
};

TEST(DryLoad, NotesEveryTensorInTheOrderOfLoading) {
  for (const std::string& shape : known_shape_names()) {
    const ModelConfig config = known_shape(shape);
    NoWeights none;
    const DryLoad load = dry_load(config, none);
    std::vector<std::string> expected;
    std::int64_t elements = 0;
    for (const ExpectedTensor& tensor : expected_tensors(config, "")) {
      expected.push_back(tensor.name + " " + tensor.shape.to_string());
      elements += tensor.shape.elements();
    }
    EXPECT_EQ(load.problems, expected) << shape;
    EXPECT_EQ(load.matrix_elements + load.vector_elements, elements) << shape;
    EXPECT_EQ(parameter_count(config), elements) << shape;
    EXPECT_EQ(std::set<std::string>(expected.begin(), expected.end()).size(), expected.size());
    EXPECT_TRUE(dry_load(config).problems.empty()) << shape;
  }
}

TEST(DryLoad, NamesAreThoseOfACheckpoint) {
  ModelConfig config = known_shape("qwen2.5-0.5b");
  config.layers.resize(1);
  const auto names = [&] {
    std::set<std::string> all;
    for (const ExpectedTensor& tensor : expected_tensors(config)) all.insert(tensor.name);
    return all;
  };
  EXPECT_TRUE(names().contains("model.layers.0.self_attn.q_proj.bias"));
  EXPECT_FALSE(names().contains("lm_head.weight"));
  config.tied = false;
  EXPECT_TRUE(names().contains("lm_head.weight"));
}

}  // namespace
}  // namespace counterbeam
