// Every call of the device and every allocation of the host fails in turn, once and from then on,
// while a model is loaded and answers. What follows is the right answer or an error, the engine
// gives right answers after a single fault, and nothing stays allocated on the device.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <new>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "cuda_host/failing_allocations.h"
#include "cuda_host/simulated_device.h"
#include "engine/tiny.h"
#include "model/dry_load.h"
#include "model/hugging_face.h"
#include "support/temporary_folder.h"
#include "tensor/safetensors.h"

namespace counterbeam {
namespace {

using namespace testing;

constexpr int kForEver = std::numeric_limits<int>::max();

using Answers = std::vector<float>;

void append(Answers& answers, const Extension& extension) {
  answers.insert(answers.end(), extension.tokens.begin(), extension.tokens.end());
  answers.insert(answers.end(), extension.logprobs.begin(), extension.logprobs.end());
  for (const auto& scores : extension.follower_logprobs)
    answers.insert(answers.end(), scores.begin(), scores.end());
}

// A search in small: two prompts that share pages, blocks with a follower, forks that write to
// shared pages, likeliest tokens, and scores.
Answers answers_of(Engine& engine) {
  Answers answers;
  std::vector<std::vector<TokenId>> prompts(2, some_tokens(20, 1));
  prompts[1].push_back(TokenId{7});
  std::vector<Sequence> sequences = std::move(engine.open(prompts).sequences);
  ExtendRequest first{.sequence = &sequences[0], .max_tokens = 5};
  first.followers = {&sequences[1]};
  append(answers, extend_one(engine, first));
  std::vector<Sequence> forks;
  for (int i = 0; i < 3; ++i) forks.push_back(sequences[0].fork());
  std::vector<ExtendRequest> requests;
  for (std::size_t i = 0; i < forks.size(); ++i) {
    ExtendRequest request{.sequence = &forks[i], .max_tokens = 4};
    request.sampling.top_k = 10;
    request.key.beam = static_cast<std::uint32_t>(i);
    request.top = i == 0 ? 2 : 0;
    requests.push_back(request);
  }
  for (const Extension& extension : engine.extend(requests)) append(answers, extension);
  const Answers scores = score_one(engine, forks[1], some_tokens(6, 2));
  answers.insert(answers.end(), scores.begin(), scores.end());
  return answers;
}

using MakeEngine = std::function<std::unique_ptr<LocalEngine>()>;

// A way to make calls fail: from the `first` one on, `count` of them.
struct Faults {
  const char* name;
  void (*fail)(int first, int count);
  int (*calls)();
};
const Faults kDeviceCalls{"calls of the device", fail_device_calls, device_calls};
const Faults kAllocations{"allocations", fail_allocations, allocations};

// The answers, or none after an error.
std::optional<Answers> attempt(const std::function<Answers()>& run) {
  try {
    return run();
  } catch (const Error& error) {
    EXPECT_GT(std::string_view(error.what()).size(), 10u);
  } catch (const std::bad_alloc&) {
  }
  return std::nullopt;
}

void check_fault(const Faults& faults, const MakeEngine& make, const Answers& right, int first,
                 int count) {
  SCOPED_TRACE(std::string(faults.name) + ": " + std::to_string(count) + " from " +
               std::to_string(first) + " on");
  const int before = device_objects();
  {
    std::unique_ptr<LocalEngine> engine;
    faults.fail(first, count);
    const auto during = attempt([&] {
      engine = make();
      return answers_of(*engine);
    });
    faults.fail(0, 0);
    EXPECT_TRUE(!during || *during == right);
    if (engine) {
      const auto after = attempt([&] { return answers_of(*engine); });
      EXPECT_TRUE(after) << "the engine does not recover";
      EXPECT_TRUE(!after || *after == right) << "a wrong answer after the fault";
    }
  }
  EXPECT_EQ(device_objects(), before) << "left on the device";
}

void visit_every_fault(const Faults& faults, const MakeEngine& make) {
  faults.fail(0, 0);
  const Answers right = answers_of(*make());
  const int calls = faults.calls();
  ASSERT_GT(calls, 100);
  for (int first = 0; first < calls; ++first) {
    for (const int count : {1, kForEver}) check_fault(faults, make, right, first, count);
    if (::testing::Test::HasFailure()) return;
  }
  std::printf("%d %s, each once and for ever\n", calls, faults.name);
}

MakeEngine random_engine(const ModelConfig& config) {
  return [config] {
    return tiny_engine(config, {.device = "cuda", .cache_size = CacheNeed{40, 20}});
  };
}

constexpr const char* kConfig = R"({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"],
  "hidden_size": 16, "intermediate_size": 24, "vocab_size": 50, "num_attention_heads": 2,
  "num_key_value_heads": 1, "head_dim": 8, "num_hidden_layers": 1, "max_position_embeddings": 400,
  "rms_norm_eps": 1e-6, "rope_theta": 10000, "tie_word_embeddings": true, "eos_token_id": 0,
  "dtype": "float32", "hidden_act": "silu", "quantization_config": {
    "quant_method": "compressed-tensors", "format": "int-quantized", "ignore": ["lm_head"],
    "config_groups": {"all": {"targets": ["Linear"], "weights": {
      "num_bits": 8, "type": "int", "symmetric": true, "strategy": "channel"}}}}})";

// A checkpoint with codes of 8 bits, so that loading uploads plain and quantised matrices.
void write_quantised_checkpoint(const std::filesystem::path& folder) {
  write_file(folder / "config.json", kConfig);
  std::vector<std::pair<std::string, Tensor>> tensors;
  RandomWeights random(DType::F32, 5);
  for (const ExpectedTensor& expected : expected_tensors(read_config(folder))) {
    if (expected.name.find("_proj.") == std::string::npos) {
      const TensorView view = random.get(expected.name, expected.shape);
      tensors.emplace_back(expected.name, Tensor::from_f32(to_f32(view), DType::F32, view.shape));
      continue;
    }
    Tensor codes(DType::I8, expected.shape);
    for (std::size_t i = 0; i < codes.bytes(); ++i)
      codes.data()[i] = static_cast<std::byte>(i * 37);
    const auto outs = static_cast<std::size_t>(expected.shape[0]);
    tensors.emplace_back(expected.name, std::move(codes));
    tensors.emplace_back(
        expected.name + "_scale",
        Tensor::from_f32(std::vector<float>(outs, 0.002f), DType::F32, {expected.shape[0], 1}));
  }
  std::vector<NamedTensor> named;
  for (const auto& [name, tensor] : tensors) named.push_back({name, tensor.view()});
  write_safetensors(folder / "model.safetensors", named);
}

TEST(DeviceFaults, EveryCallOfTheDeviceWithAQuantisedCheckpoint) {
  const TemporaryFolder folder;
  write_quantised_checkpoint(folder.path());
  visit_every_fault(kDeviceCalls, [&] {
    return LocalEngine::load(HuggingFaceFolder(folder.path()),
                             {.device = "cuda", .cache_size = CacheNeed{40, 20}});
  });
}

TEST(DeviceFaults, EveryCallOfTheDeviceWithAttention) {
  visit_every_fault(kDeviceCalls, random_engine(tiny_attention()));
}

TEST(DeviceFaults, EveryCallOfTheDeviceWithRecurrentLayers) {
  visit_every_fault(kDeviceCalls, random_engine(tiny_recurrent()));
}

TEST(DeviceFaults, EveryAllocationWithAttention) {
  visit_every_fault(kAllocations, random_engine(tiny_attention()));
}

TEST(DeviceFaults, EveryAllocationWithRecurrentLayers) {
  visit_every_fault(kAllocations, random_engine(tiny_recurrent()));
}

}  // namespace
}  // namespace counterbeam
