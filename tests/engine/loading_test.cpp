// Tests loading of checkpoints: complete, with a missing tensor, with a tensor of another shape, or
// with NaN.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "engine/tiny.h"
#include "model/dry_load.h"
#include "model/hugging_face.h"
#include "model/model_source.h"
#include "support/temporary_folder.h"
#include "tensor/safetensors.h"

namespace counterbeam {
namespace {

using ::testing::HasSubstr;
using namespace testing;
namespace fs = std::filesystem;

constexpr const char* kConfig = R"({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"],
  "hidden_size": 16, "intermediate_size": 24, "vocab_size": 50, "num_attention_heads": 2,
  "num_key_value_heads": 1, "head_dim": 8, "num_hidden_layers": 2, "max_position_embeddings": 400,
  "rms_norm_eps": 1e-6, "rope_theta": 10000, "tie_word_embeddings": true, "eos_token_id": 0,
  "dtype": "float32", "hidden_act": "silu"})";

class LoadingTest : public ::testing::Test {
 protected:
  LoadingTest() {
    write_file(folder_ / "config.json", kConfig);
    config_ = read_config(folder_);
    RandomWeights random(DType::F32, 5);
    for (const ExpectedTensor& expected : expected_tensors(config_)) {
      const TensorView view = random.get(expected.name, expected.shape);
      tensors_.emplace_back(expected.name, Tensor::from_f32(to_f32(view), DType::F32, view.shape));
    }
  }
  Tensor& tensor(const std::string& name) {
    for (auto& [known, value] : tensors_) {
      if (known == name) return value;
    }
    throw std::runtime_error("no tensor " + name);
  }

  // Unties the head from the embedding, so that only sequences that contain a token use its
  // embedding.
  void untie() {
    std::string text = kConfig;
    text.replace(text.find("\"tie_word_embeddings\": true"), 27, "\"tie_word_embeddings\": false");
    write_file(folder_ / "config.json", text);
    tensors_.emplace_back("lm_head.weight", tensor("model.embed_tokens.weight").copy());
  }

  std::unique_ptr<LocalEngine> load(const LocalOptions& options = {}) {
    std::vector<NamedTensor> named;
    for (const auto& [name, value] : tensors_) named.push_back({name, value.view()});
    write_safetensors(folder_ / "model.safetensors", named);
    return LocalEngine::load(HuggingFaceFolder(folder_), options);
  }

  std::string error_of_loading() {
    try {
      load();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
  ModelConfig config_;
  std::vector<std::pair<std::string, Tensor>> tensors_;
};

TEST_F(LoadingTest, AWholeCheckpointLoadsOnEveryBackEnd) {
  const auto prompt = some_tokens(30, 1), tokens = some_tokens(20, 2);
  std::size_t bytes = 0;
  for (const auto& [name, value] : tensors_) bytes += value.view().bytes();
  std::vector<std::vector<float>> scores;
  for (const char* isa : {"reference", ""}) {
    auto engine = load({.precision = Precision::F32, .isa = isa});
    EXPECT_TRUE(engine->unexpected_tensors().empty());
    EXPECT_EQ(engine->info().vocab_size, 50);
    EXPECT_EQ(engine->loading().bytes, static_cast<std::int64_t>(bytes));
    EXPECT_EQ(engine->info().max_length, 400);
    EXPECT_EQ(engine->info().eos, std::vector<TokenId>{0});
    Sequence sequence = open_one(*engine, prompt);
    scores.push_back(score_one(*engine, sequence, tokens));
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) EXPECT_NEAR(scores[0][i], scores[1][i], 1e-4);
}

TEST_F(LoadingTest, AMissingTensorIsNamedWithItsShape) {
  std::erase_if(tensors_,
                [](const auto& pair) { return pair.first == "model.layers.1.mlp.up_proj.weight"; });
  EXPECT_THAT(error_of_loading(),
              HasSubstr("model.layers.1.mlp.up_proj.weight [24, 16] is missing"));
}

TEST_F(LoadingTest, AMisshapenTensorIsNamedWithBothShapes) {
  tensor("model.layers.0.self_attn.k_proj.weight") = Tensor(DType::F32, {16, 8});
  EXPECT_THAT(error_of_loading(),
              HasSubstr("model.layers.0.self_attn.k_proj.weight has shape [16, 8], but config.json "
                        "asks for [8, 16]; download the checkpoint again"));
}

TEST_F(LoadingTest, ATensorOfIntegersIsRejected) {
  tensor("model.norm.weight") = Tensor(DType::I32, {16});
  EXPECT_THAT(error_of_loading(), HasSubstr("model.norm.weight is I32"));
}

TEST_F(LoadingTest, UnusedTensorsAreListed) {
  tensors_.emplace_back("model.layers.0.extra", Tensor(DType::F32, {2}));
  EXPECT_EQ(load()->unexpected_tensors(), std::vector<std::string>{"model.layers.0.extra"});
}

TEST_F(LoadingTest, TensorsOfLayersThatConfigDoesNotHaveAreRefused) {
  tensors_.emplace_back("model.layers.2.mlp.up_proj.weight", Tensor(DType::F32, {24, 16}));
  EXPECT_THAT(error_of_loading(), HasSubstr("has tensor \"model.layers.2.mlp.up_proj.weight\" of "
                                            "layer 2, but config.json has 2 layers"));
  tensors_.back().first = "model.layers.99999999999.x";  // more than an int
  EXPECT_THAT(error_of_loading(), HasSubstr("of layer 99999999999, but config.json has 2 layers"));
}

TEST_F(LoadingTest, TheFirstWeightThatIsNotFiniteIsNamed) {
  EXPECT_EQ(load()->non_finite_weight(), "");
  for (const float value : {NAN, -INFINITY}) {
    tensor("model.layers.1.mlp.up_proj.weight").values<float>()[2 * 16 + 5] = value;
    EXPECT_EQ(
        load()->non_finite_weight(),
        fmt::format("tensor model.layers.1.mlp.up_proj.weight, element 37 of 384, is {}", value));
    EXPECT_EQ(load({.isa = "reference"})->non_finite_weight().substr(0, 6), "tensor");
  }
}

TEST_F(LoadingTest, AnEndTokenOutsideOfTheVocabularyIsRefused) {
  write_file(folder_ / "generation_config.json", R"({"eos_token_id": [0, 50]})");
  try {
    read_parts(HuggingFaceFolder(folder_));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("the end token 50 (eos_token_id) is not in the vocabulary of 50"));
  }
}

TEST_F(LoadingTest, AnAnswerThatTheCacheCutsOffIsAFault) {
  auto engine = load({.cache_size = {4, 0}});  // pages: much less than max_position_embeddings
  const int most = static_cast<int>(engine->info().max_length);
  ASSERT_LT(most, 400);
  Sequence sequence = open_one(*engine, some_tokens(most - 5, 1));
  try {
    extend_one(*engine, {.sequence = &sequence, .max_tokens = 50, .key = {.seed = 1}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Failed);
    EXPECT_THAT(error.what(), HasSubstr("--cache-memory"));
  }
  Sequence shorter = open_one(*engine, some_tokens(most - 5, 1));
  EXPECT_EQ(extend_one(*engine, {.sequence = &shorter, .max_tokens = 4}).tokens.size(), 4u);
}

TEST_F(LoadingTest, WhateverTheCacheIsTooSmallForNamesTheCache) {
  auto engine = load({.cache_size = {4, 0}});
  const int most = static_cast<int>(engine->info().max_length);
  const auto expect_fault = [](const auto& action) {
    try {
      action();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Failed) << error.what();
      EXPECT_THAT(error.what(), HasSubstr("--cache-memory"));
    }
  };
  const std::vector<TokenId> longer = some_tokens(most + 1, 1);
  expect_fault([&] { open_one(*engine, longer); });
  expect_fault([&] { engine->logits(longer, [](int, std::span<const float>) {}); });
  expect_fault([&] {
    Sequence sequence = open_one(*engine, some_tokens(5, 1));
    const ScoreRequest reading{.sequence = &sequence, .tokens = std::span(longer).first(most - 4)};
    engine->score({&reading, 1});
  });
  expect_fault([&] {  // full at the end of one extension, and asked for another
    Sequence sequence = open_one(*engine, some_tokens(most - 5, 1));
    extend_one(*engine, {.sequence = &sequence, .max_tokens = 5});
    extend_one(*engine, {.sequence = &sequence, .max_tokens = 5});
  });
}

// The CPU back ends, and the GPU's where there is a device; with caches of 8 bits too.
std::vector<LocalOptions> back_ends() {
  std::vector<LocalOptions> all{{.isa = "reference"}};
  for (const CacheType type : {CacheType::Plain, CacheType::Fp8, CacheType::Int8}) {
    all.push_back({.isa = "", .cache_type = type});
    if (why_no_cuda().empty())
      all.push_back({.device = "cuda", .cache_size = {400, 60}, .cache_type = type});
  }
  return all;
}

TEST_F(LoadingTest, NaNInTheWeightsFailsTheRequestAndNotTheEngine) {
  tensor("model.embed_tokens.weight").values<float>()[7 * 16 + 3] = NAN;
  for (const LocalOptions& options : back_ends()) {
    auto engine = load(options);
    Sequence sequence = open_one(*engine, {1, 2, 3});
    try {
      score_one(*engine, sequence, {4, 5});
      FAIL() << "NaN was not detected";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Failed);
      EXPECT_THAT(error.what(), HasSubstr("not finite"));
    }
    EXPECT_EQ(sequence.length(), 3);
    EXPECT_EQ(engine->counters().non_finite, 1);
  }
}

// Some vanish, such as a bias of minus infinity before an exponential. None may come out as a
// number.
TEST_F(LoadingTest, ANonFiniteValueInAnyWeightIsAnErrorOrHasNoEffect) {
  untie();
  int points = 0, errors = 0;
  for (auto& [name, weights] : tensors_) {
    float& first = weights.values<float>()[0];
    const float before = first;
    for (const float value : {NAN, INFINITY, -INFINITY}) {
      first = value;
      for (const LocalOptions& options : back_ends()) {
        auto engine = load(options);
        EXPECT_THAT(engine->non_finite_weight(), HasSubstr(name));
        Sequence sequence = open_one(*engine, {0, 1, 2});
        ++points;
        try {
          const Extension extension = extend_one(
              *engine, {.sequence = &sequence, .max_tokens = 4, .key = {.seed = 1}, .stop = {}});
          for (const float logprob : extension.logprobs)
            EXPECT_TRUE(std::isfinite(logprob))
                << name << " " << value << " on " << engine->info().description;
        } catch (const Error& error) {
          ++errors;
          EXPECT_EQ(error.kind(), ErrorKind::Failed);
          EXPECT_THAT(error.what(), HasSubstr("not finite")) << name;
          EXPECT_EQ(engine->counters().non_finite, 1);
          EXPECT_EQ(sequence.length(), 3);
        }
      }
    }
    first = before;
  }
  EXPECT_GE(points, 50);
  EXPECT_GE(errors, points * 9 / 10);
}

TEST_F(LoadingTest, ANaNFailsOnlyItsOwnCall) {
  untie();
  tensor("model.embed_tokens.weight").values<float>()[7 * 16] = NAN;
  const auto clean = some_tokens(70, 3, 7), tokens = some_tokens(40, 4, 7);
  for (LocalOptions options : back_ends()) {
    options.step_rows = 8;
    auto engine = load(options);
    const std::string& where = engine->info().description;
    const Sequence parent = open_one(*engine, clean);
    Sequence alone = parent.fork();
    const auto scores = score_one(*engine, alone, tokens);
    std::atomic<bool> done = false;
    std::thread healthy([&] {
      while (!done) {
        Sequence sequence = parent.fork();
        EXPECT_EQ(score_one(*engine, sequence, tokens), scores) << where;
      }
    });
    for (int i = 0; i < 20; ++i) {
      Sequence sick = open_one(*engine, {1, 2, 3});
      EXPECT_THROW(score_one(*engine, sick, {7, 7, 7}), Error) << where;
    }
    done = true;
    healthy.join();
  }
}

TEST_F(LoadingTest, ANaNInFreedPagesDoesNotAffectOthers) {
  untie();
  const auto clean = some_tokens(70, 3, 7), tokens = some_tokens(40, 4, 7);
  for (const auto& [isa, cache] : {std::pair{"reference", CacheType::Plain},
                                   {"", CacheType::Plain},
                                   {"reference", CacheType::Int8},
                                   {"", CacheType::Fp8},
                                   {"", CacheType::Int8}}) {
    tensor("model.embed_tokens.weight").values<float>()[7 * 16] = 0;
    auto healthy = load({.isa = isa, .cache_type = cache});
    Sequence expected = open_one(*healthy, clean);
    const auto scores = score_one(*healthy, expected, tokens);
    for (const float poison : {NAN, std::numeric_limits<float>::infinity()}) {
      tensor("model.embed_tokens.weight").values<float>()[7 * 16] = poison;
      auto engine =
          load({.isa = isa, .cache_size = {6, 0}, .cache_type = cache, .kept_prefixes = 0});
      {
        Sequence sick = open_one(*engine, std::vector<TokenId>(150, 7));
        EXPECT_THROW(extend_one(*engine, {.sequence = &sick, .max_tokens = 3}), Error);
      }
      Sequence sequence = open_one(*engine, clean);
      EXPECT_EQ(score_one(*engine, sequence, tokens), scores) << isa;
    }
  }
}

}  // namespace
}  // namespace counterbeam
