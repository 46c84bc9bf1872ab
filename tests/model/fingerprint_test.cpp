// A fingerprint follows the content of a model: it stays when the folder moves or the weights are
// divided into other files, and changes with any part that changes answers.
#include "model/fingerprint.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/temporary_folder.h"
#include "tensor/safetensors.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

constexpr std::int64_t kRows = 64, kColumns = 256;  // 64 KiB: more than is hashed

Tensor filled(float first, float last) {
  Tensor tensor(DType::F32, {kRows, kColumns});
  tensor.values<float>().front() = first;
  tensor.values<float>().back() = last;
  return tensor;
}

void write_model(const fs::path& folder, float first = 1, float last = 2) {
  fs::create_directories(folder);
  for (const char* name : {"config.json", "generation_config.json", "tokenizer.json",
                           "tokenizer_config.json", "chat_template.jinja"})
    write_file(folder / name, name);
  const Tensor a = filled(first, last), b = filled(3, 4);
  const std::vector<NamedTensor> tensors = {{"a", a.view()}, {"b", b.view()}};
  write_safetensors(folder / "model.safetensors", tensors);
}

bool operator==(const ModelFingerprint& a, const ModelFingerprint& b) {
  return a.config == b.config && a.tokenizer == b.tokenizer && a.chat_template == b.chat_template &&
         a.weights == b.weights;
}

TEST(Fingerprint, StaysWhenTheFolderMoves) {
  const TemporaryFolder folder;
  write_model(folder.path() / "a");
  write_model(folder.path() / "elsewhere/b");
  const ModelFingerprint here = fingerprint_of(folder.path() / "a");
  EXPECT_EQ(here.weights.size(), 32u);
  EXPECT_TRUE(here == fingerprint_of(folder.path() / "elsewhere/b"));
  EXPECT_TRUE(here == fingerprint_of(folder.path() / "a/"));
}

TEST(Fingerprint, EveryPartMatters) {
  const TemporaryFolder folder;
  const fs::path own = folder.path() / "own", other = folder.path() / "other";
  write_model(own);
  const ModelFingerprint before = fingerprint_of(own);
  for (const char* name : {"config.json", "generation_config.json"}) {
    write_model(other);
    write_file(other / name, "changed");
    const ModelFingerprint changed = fingerprint_of(other);
    EXPECT_NE(changed.config, before.config) << name;
    EXPECT_EQ(changed.tokenizer, before.tokenizer);
    EXPECT_EQ(changed.weights, before.weights);
  }
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
    write_model(other);
    write_file(other / name, "changed");
    EXPECT_NE(fingerprint_of(other).tokenizer, before.tokenizer) << name;
  }
  write_model(other);
  fs::remove(other / "chat_template.jinja");
  EXPECT_NE(fingerprint_of(other).chat_template, before.chat_template);
  write_model(other, 1.5f, 2);
  EXPECT_NE(fingerprint_of(other).weights, before.weights) << "the first value of a tensor";
  write_model(other, 1, 2.5f);
  EXPECT_NE(fingerprint_of(other).weights, before.weights) << "the last value of a tensor";
}

TEST(Fingerprint, HowTensorsAreDividedIntoFilesDoesNotMatter) {
  const TemporaryFolder folder;
  const fs::path own = folder.path() / "own", other = folder.path() / "other";
  write_model(own);
  write_model(other);
  fs::remove(other / "model.safetensors");
  const Tensor a = filled(1, 2), b = filled(3, 4);
  const std::vector<NamedTensor> first = {{"a", a.view()}}, second = {{"b", b.view()}};
  write_safetensors(other / "model-1.safetensors", first);
  write_safetensors(other / "model-2.safetensors", second);
  write_file(other / "model.safetensors.index.json",
             R"({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})");
  EXPECT_TRUE(fingerprint_of(own) == fingerprint_of(other));
}

TEST(Fingerprint, NeedsWeights) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  EXPECT_THROW(fingerprint_of(folder.path()), Error);
}

}  // namespace
}  // namespace counterbeam
