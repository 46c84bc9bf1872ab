// Models in GGUF as a source of parts: the fixtures beside the repository against transformers, and
// small files written here.
#include "model/gguf_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>

#include "backend/cpu_support.h"
#include "model/gguf_files.h"
#include "model/runner.h"
#include "support/shared_folder.h"
#include "tensor/safetensors.h"

namespace counterbeam {
namespace {

using namespace testing;
namespace fs = std::filesystem;

struct GgufFixture {
  const char* name;
  float gap;  // of a logit when transformers computes in bf16
};
constexpr GgufFixture kFixtures[] = {
    {"gguf-q8_0-qwen2", 0.16f}, {"gguf-q4_k_m-llama", 0.10f}, {"gguf-q8_0-qwen35", 0.27f}};

fs::path quantised_folder() {
  return shared_folder() / "fixtures/quantised";
}

struct GgufErrors {
  double squared = 0;  // normalised
  float largest = 0;
};

GgufErrors errors_of(const fs::path& folder, std::unique_ptr<Ops> ops) {
  const GgufModel source(folder / "model.gguf");
  const ModelConfig config = source.config();
  const auto weights = source.weights(config);
  Runner runner(std::move(ops), config, *weights);
  EXPECT_TRUE(weights->unexpected().empty());
  EXPECT_EQ(weights->non_finite(), "");
  const SafetensorsFile reference(folder / "reference.safetensors");
  double error = 0, power = 0;
  GgufErrors errors;
  for (int i = 0;; ++i) {
    const TensorView* view = reference.find("input_ids." + std::to_string(i));
    if (view == nullptr) break;
    std::vector<TokenId> ids(static_cast<std::size_t>(view->shape.elements()));
    std::memcpy(ids.data(), view->data, view->bytes());
    const std::vector<float> wanted = to_f32(*reference.find("logits." + std::to_string(i)));
    std::size_t at = 0;
    for (const auto& row : by_prefill(runner, ids))
      for (const float found : row) {
        const float difference = found - wanted[at];
        error += double(difference) * difference;
        power += double(wanted[at]) * wanted[at];
        errors.largest = std::max(errors.largest, std::abs(difference));
        ++at;
      }
    EXPECT_EQ(at, wanted.size());
  }
  errors.squared = error / power;
  return errors;
}

TEST(GgufParity, ReferenceOpsMatchTransformers) {
  CB_NEEDS_SHARED(quantised_folder());
  for (const GgufFixture& fixture : kFixtures)
    EXPECT_LE(errors_of(quantised_folder() / fixture.name, make_reference_ops()).squared, 1e-9)
        << fixture.name;
}

class GgufCpuParity : public CpuPaths {};
INSTANTIATE_TEST_SUITE_P(Paths, GgufCpuParity, ::testing::ValuesIn(all_paths()), path_name);

TEST_P(GgufCpuParity, MatchesTransformers) {
  CB_NEEDS_SHARED(quantised_folder());
  for (const GgufFixture& fixture : kFixtures) {
    const GgufErrors errors = errors_of(quantised_folder() / fixture.name, fast());
    if (bf16())
      EXPECT_LE(errors.largest, 3 * fixture.gap) << fixture.name;
    else
      EXPECT_LE(errors.squared, 1e-9) << fixture.name;
  }
}

TEST(GgufParity, TheGpuMatchesTransformers) {
  CB_NEEDS_SHARED(quantised_folder());
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  for (const GgufFixture& fixture : kFixtures)
    EXPECT_LE(errors_of(quantised_folder() / fixture.name, make_cuda_ops()).largest,
              3 * fixture.gap)
        << fixture.name;
}

TEST(GgufParity, IdsAreThoseOfHuggingFace) {
  CB_NEEDS_SHARED(quantised_folder());
  for (const GgufFixture& fixture : kFixtures) {
    const fs::path folder = quantised_folder() / fixture.name;
    const Tokenizer tokenizer = GgufModel(folder / "model.gguf").tokenizer();
    const Tokenizer theirs = Tokenizer::load(folder);
    EXPECT_EQ(tokenizer.size(), theirs.size());
    EXPECT_EQ(tokenizer.id_limit(), theirs.id_limit());
    for (const Json& row : read_json_file(folder / "tokenize.json")) {
      const std::string text = row["text"];
      const auto ids = row["ids"].get<std::vector<TokenId>>();
      EXPECT_EQ(tokenizer.encode(text, {.special_in_text = true}), ids) << text;
      EXPECT_EQ(tokenizer.encode(text), theirs.encode(text)) << text;
      EXPECT_EQ(tokenizer.decode(ids), theirs.decode(ids));
    }
  }
}

class GgufModelTest : public ::testing::Test {
 protected:
  std::unique_ptr<ModelSource> open(const GgufFile& file, const char* name = "m.gguf") const {
    return open_model(folder_.write(name, file.bytes()).string());
  }
  // The logits of a few tokens.
  Logits logits(const ModelSource& source) const {
    const ModelConfig config = source.config();
    const auto weights = source.weights(config);
    Runner runner(make_reference_ops(), config, *weights);
    EXPECT_EQ(weights->unexpected(), std::vector<std::string>());
    return by_prefill(runner, std::vector<TokenId>{1, 4, 2, 9, 3});
  }

  TemporaryFolder folder_;
};

TEST_F(GgufModelTest, PartsAreReadTogether) {
  const auto source = open(small_gguf("qwen2"));
  EXPECT_EQ(source->name(), "A small model");
  EXPECT_FALSE(source->ships());
  const ModelParts parts = read_parts(*source);
  EXPECT_EQ(parts.config.architecture, Architecture::Qwen2);
  EXPECT_EQ(parts.config.hidden, 32);
  EXPECT_EQ(parts.config.vocab, 12);
  EXPECT_TRUE(parts.config.qkv_bias);
  EXPECT_TRUE(parts.config.tied);
  EXPECT_EQ(parts.config.dtype, DType::F32);
  EXPECT_EQ(parts.eos, (std::vector<TokenId>{10}));
  ASSERT_TRUE(parts.chat_template.has_value());
  EXPECT_EQ(parts.chat_template->render(Json::array({{{"role", "user"}, {"content", "ab"}}})),
            "ab<end>");
  EXPECT_EQ(parts.turn_end.token, 10);
}

TEST_F(GgufModelTest, TheNameOfTheFileStandsInForGeneralName) {
  GgufFile file = small_gguf("qwen2");
  file.keys.erase("general.name");
  EXPECT_EQ(open(file, "Some-Model-Q8_0.gguf")->name(), "Some-Model-Q8_0");
  EXPECT_EQ(GgufModel(folder_.path() / "absent.gguf").name(), "absent");
}

TEST_F(GgufModelTest, AFileIsRecognisedByItsFirstBytes) {
  const auto source = open(small_gguf("qwen2"), "blob");
  EXPECT_EQ(source->config().hidden, 32);
  EXPECT_THROW(open_model((folder_.path() / "absent.gguf").string())->config(), Error);
}

TEST_F(GgufModelTest, EveryArchitectureRuns) {
  for (const char* name :
       {"llama", "mistral3", "qwen2", "qwen3", "qwen35", "phi3", "gemma3", "smollm3"}) {
    SCOPED_TRACE(name);
    for (const auto& row : logits(*open(small_gguf(name))))
      for (const float logit : row) EXPECT_TRUE(std::isfinite(logit));
  }
}

// llama.cpp gives this name to Mistral Small 3.1, and stores q and k in pairs as for llama.
TEST_F(GgufModelTest, Mistral3IsLlama) {
  const auto source = open(small_gguf("mistral3"), "m3.gguf");
  EXPECT_EQ(source->config().model_type, "mistral3");
  EXPECT_EQ(logits(*source), logits(*open(small_gguf("llama"))));
}

// What quantising loses in each type, relative to the logits: none of it is far off.
TEST_F(GgufModelTest, EveryTypeIsCloseToItsNumbers) {
  const GgufFile plain = small_gguf("llama", 256);
  const Logits exact = logits(*open(plain));
  for (const GgmlType type : {GgmlType::F16, GgmlType::BF16, GgmlType::Q8_0}) {
    SCOPED_TRACE(name_of(type));
    const Logits found = logits(*open(stored_as(plain, type)));
    double error = 0, power = 0;
    for (std::size_t r = 0; r < exact.size(); ++r)
      for (std::size_t i = 0; i < exact[r].size(); ++i) {
        error += std::pow(double(found[r][i]) - exact[r][i], 2);
        power += std::pow(double(exact[r][i]), 2);
      }
    EXPECT_LT(error / power, 1e-3);
    EXPECT_GT(error, 0);
  }
}

// The same numbers, quantised or not, give the same logits, bit for bit.
TEST_F(GgufModelTest, BlocksAreTheirNumbers) {
  for (const char* name : {"llama", "qwen35"}) {
    const GgufFile blocks = stored_as(small_gguf(name, 64), GgmlType::Q8_0);
    EXPECT_EQ(logits(*open(blocks)), logits(*open(decoded(blocks), "d.gguf"))) << name;
  }
}

TEST_F(GgufModelTest, RopeFactorsDivideTheFrequencies) {
  GgufFile file = small_gguf("llama");
  const Logits plain = logits(*open(file));
  file.set("rope_freqs.weight", {8}, {1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_EQ(logits(*open(file)), plain);
  file.set("rope_freqs.weight", {8}, {1, 1, 1, 1, 2, 4, 8, 8});
  const ModelConfig config = open(file)->config();
  EXPECT_EQ(config.rope.kind, RopeKind::Factors);
  EXPECT_EQ(config.rope.dividers[7], 8);
  EXPECT_NE(logits(*open(file)), plain);
}

TEST_F(GgufModelTest, PhiTakesTheLongFactorsWhereTheContextIsLong) {
  GgufFile file = small_gguf("phi3");
  file.set("rope_factors_long.weight", {8}, std::vector<float>(8, 3.0f));
  file.set("rope_factors_short.weight", {8}, std::vector<float>(8, 2.0f));
  file.keys["phi3.rope.scaling.original_context_length"] =
      u32_key("phi3.rope.scaling.original_context_length", 32);
  file.keys["phi3.rope.scaling.attn_factor"] = f32_key("phi3.rope.scaling.attn_factor", 1.25f);
  ModelConfig config = open(file)->config();
  EXPECT_EQ(config.rope.dividers[0], 3);
  EXPECT_EQ(config.rope.scale, 1.25);
  file.keys["phi3.rope.scaling.original_context_length"] =
      u32_key("phi3.rope.scaling.original_context_length", 64);
  EXPECT_EQ(open(file)->config().rope.dividers[0], 2);
}

TEST_F(GgufModelTest, ScalingsOfRope) {
  const auto rope = [&](const char* type, float factor, bool old_name = false) {
    GgufFile file = small_gguf("qwen2");
    const std::string key = old_name ? "qwen2.rope.scale_linear" : "qwen2.rope.scaling.factor";
    file.keys["qwen2.rope.scaling.type"] = string_key("qwen2.rope.scaling.type", type);
    file.keys[key] = f32_key(key, factor);
    return open(file)->config().rope;
  };
  EXPECT_EQ(rope("none", 4).kind, RopeKind::Default);
  EXPECT_EQ(rope("linear", 0).kind, RopeKind::Default);
  EXPECT_EQ(rope("linear", 4).kind, RopeKind::Linear);
  EXPECT_EQ(rope("linear", 4, true).factor, 4);
  const RopeConfig yarn = rope("yarn", 4), shrunk = rope("yarn", 0.5f);
  EXPECT_EQ(yarn.kind, RopeKind::Yarn);
  EXPECT_EQ(yarn.beta_fast, 32);
  EXPECT_EQ(yarn.beta_slow, 1);
  EXPECT_DOUBLE_EQ(yarn.scale, 0.1 * std::log(4.0) + 1);
  EXPECT_EQ(shrunk.scale, 1);
}

TEST_F(GgufModelTest, WindowsByPeriodAndByList) {
  GgufFile file = small_gguf("gemma3");
  const char *window = "gemma3.attention.sliding_window",
             *pattern = "gemma3.attention.sliding_window_pattern";
  file.keys[window] = u32_key(window, 7);
  file.keys[pattern] = u32_key(pattern, 2);
  ModelConfig config = open(file)->config();
  EXPECT_EQ(config.layers[0].window, 7);
  EXPECT_EQ(config.layers[1].window, 0);
  file.keys[pattern] = array_key(pattern, GgufKind::Bool, 2, std::string("\x00\x01", 2));
  config = open(file)->config();
  EXPECT_EQ(config.layers[0].window, 0);
  EXPECT_EQ(config.layers[1].window, 7);
  const char* cap = "gemma3.attn_logit_softcapping";
  file.keys[cap] = f32_key(cap, 0);
  EXPECT_NO_THROW(open(file)->config()) << "0 stands for none";
}

// GGUF lists extents from the last axis on. llama.cpp fills the list up with ones, and its writer
// drops them, so both forms exist.
TEST_F(GgufModelTest, LeadingExtentsOfOneDoNotMatter) {
  GgufFile file = small_gguf("qwen35");
  const auto key = [&](const std::string& name, std::uint32_t value) {
    file.keys["qwen35." + name] = u32_key("qwen35." + name, value);
  };
  key("ssm.group_count", 1);
  key("ssm.time_step_rank", 1);
  key("ssm.inner_size", 16);
  const auto set = [&](const std::string& name, std::vector<std::int64_t> shape) {
    std::vector<float> values;
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(std::sin(static_cast<float>(i)) - (name == "ssm_a" ? 2.0f : 0.0f));
    file.set("blk.0." + name, std::move(shape), values);
  };
  set("attn_qkv.weight", {48, 32});
  set("attn_gate.weight", {16, 32});
  set("ssm_alpha.weight", {1, 32});
  set("ssm_beta.weight", {1, 32});
  set("ssm_conv1d.weight", {48, 4});
  set("ssm_a", {1});
  set("ssm_dt.bias", {1});
  set("ssm_out.weight", {32, 16});
  const Logits plain = logits(*open(file));
  file.tensors["blk.0.ssm_alpha.weight"].shape = {32};
  file.tensors["blk.0.ssm_a"].shape = {1, 1};
  for (auto& [name, tensor] : file.tensors)
    if (name.ends_with("norm.weight") || name == "token_embd.weight")
      tensor.shape.insert(tensor.shape.begin(), 1);
  EXPECT_EQ(logits(*open(file, "ones.gguf")), plain);
  GgufFile llama = small_gguf("llama");
  llama.set("rope_freqs.weight", {1, 8}, {1, 1, 1, 1, 2, 4, 8, 8});
  EXPECT_EQ(open(llama)->config().rope.dividers[7], 8);
}

// The names of tensors are read from the mapped file, so even a tensor that was read may be gone.
TEST_F(GgufModelTest, AFileThatIsOverwrittenWhileItIsReadIsAnError) {
  const GgufFile file = small_gguf("qwen2");
  const auto source = open(file);
  const ModelConfig config = source->config();
  const auto write_zeros = [&] {
    std::fstream stream(folder_.path() / "m.gguf", std::ios::binary | std::ios::in | std::ios::out);
    stream << std::string(file.bytes().size(), '\0');
    stream.close();
    // File systems with coarse times may not tell the two writes apart.
    const fs::path path = folder_.path() / "m.gguf";
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::hours(1));
  };
  for (const bool reads_more : {false, true}) {
    const auto same = open(file);
    const auto weights = same->weights(config);
    weights->get("norm.weight", {32});
    write_zeros();
    try {
      if (reads_more) weights->get("layers.0.input_layernorm.weight", {32});
      weights->done();
      ADD_FAILURE() << "read a file that changed";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("the file was written to while it was read"),
                std::string::npos)
          << error.what();
    }
  }
}

TEST_F(GgufModelTest, DraftLayersAreLeftOut) {
  GgufFile file = small_gguf("qwen35");
  const Logits plain = logits(*open(file));
  file.keys["qwen35.block_count"] = u32_key("qwen35.block_count", 3);
  file.keys["qwen35.nextn_predict_layers"] = u32_key("qwen35.nextn_predict_layers", 1);
  file.set("blk.2.nextn.eh_proj.weight", {32, 64}, std::vector<float>(32 * 64));
  EXPECT_EQ(logits(*open(file)), plain);
}

TEST_F(GgufModelTest, TheFingerprintIsOfTheContent) {
  const ModelFingerprint one = open(small_gguf("qwen2"), "a.gguf")->fingerprint();
  const ModelFingerprint same = open(small_gguf("qwen2"), "b.gguf")->fingerprint();
  EXPECT_EQ(one.config, same.config);
  EXPECT_EQ(one.weights, same.weights);
  EXPECT_EQ(one.tokenizer.size(), 32u);
  GgufFile other = small_gguf("qwen2");
  other.keys["tokenizer.chat_template"] = string_key("tokenizer.chat_template", "x");
  other.tensors["output_norm.weight"].data[0] ^= 1;
  const ModelFingerprint changed = open(other)->fingerprint();
  EXPECT_EQ(one.config, changed.config);
  EXPECT_EQ(one.tokenizer, changed.tokenizer);
  EXPECT_NE(one.chat_template, changed.chat_template);
  EXPECT_NE(one.weights, changed.weights);
}

TEST_F(GgufModelTest, AFileWithoutATokenizerStillHasItsOtherParts) {
  GgufFile file = small_gguf("qwen2");
  std::erase_if(file.keys, [](const auto& key) { return key.first.starts_with("tokenizer."); });
  const auto source = open(file);
  EXPECT_FALSE(source->has_tokenizer());
  const ModelParts parts = read_parts(*source);
  EXPECT_FALSE(parts.tokenizer.has_value());
  EXPECT_NE(parts.chat_error.find("this model has no chat template"), std::string::npos);
}

}  // namespace
}  // namespace counterbeam
