// Malformed shard indexes and checkpoint folders, and the exact error message of each.
#include <gtest/gtest.h>

#include "support/allocation_watch.h"
#include "support/bad_case.h"
#include "support/temporary_folder.h"
#include "tensor/checkpoint.h"
#include "tensor/shard_index.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;
using testing::BadCase;
using testing::TemporaryFolder;

std::string mapped(const std::string& file) {
  return "{\"weight_map\":{\"a\":" + file + "}}";
}

std::string repeated(const std::string& part, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += part;
  return all;
}

TEST(BadIndex, HasItsMessage) {
  const std::vector<BadCase> cases = {
      {"empty file", "",
       "byte 0: the index must be an object, found the end; download the file again"},
      {"not JSON", "weights",
       "byte 0: the index must be an object, found \"weights\"; download the file again"},
      {"array", "[]", "byte 0: the index must be an object, found \"[\"; download the file again"},
      {"no weight_map", "{\"metadata\":{\"total_size\":4}}",
       "has no weight_map; download the file again"},
      {"weight_map is null", "{\"weight_map\":null}",
       "byte 14: weight_map must be an object, found \"null\"; download the file again"},
      {"weight_map is an array", "{\"weight_map\":[]}",
       "byte 14: weight_map must be an object, found \"[\"; download the file again"},
      {"weight_map is empty", "{\"weight_map\":{}}",
       "weight_map is empty; download the file again"},
      {"weight_map twice", R"({"weight_map":{"a":"x.safetensors"},"weight_map":{}})",
       "key \"weight_map\" occurs twice; download the file again"},
      {"file is a number", mapped("1"),
       "byte 19, in \"a\": the file of a tensor must be a string, found \"1\"; download the file "
       "again"},
      {"file is null", mapped("null"),
       "byte 19, in \"a\": the file of a tensor must be a string, found \"null\"; download the "
       "file again"},
      {"file is a list", mapped("[\"x.safetensors\"]"),
       "byte 19, in \"a\": the file of a tensor must be a string, found \"[\"x.safetensors\"\"; "
       "download the file again"},
      {"empty file name", mapped("\"\""),
       "weight_map \"a\": \"\" is not the name of a .safetensors file in the model's own folder"},
      {"absolute path", mapped("\"/etc/passwd\""),
       "weight_map \"a\": \"/etc/passwd\" is not the name of a .safetensors file in the model's "
       "own folder"},
      {"climbing path", mapped("\"../x.safetensors\""),
       "weight_map \"a\": \"../x.safetensors\" is not the name of a .safetensors file in the "
       "model's own folder"},
      {"subfolder", mapped("\"sub/x.safetensors\""),
       "weight_map \"a\": \"sub/x.safetensors\" is not the name of a .safetensors file in the "
       "model's own folder"},
      {"backslash", mapped("\"..\\\\x.safetensors\""),
       "weight_map \"a\": \"..\\x.safetensors\" is not the name of a .safetensors file in the "
       "model's own folder"},
      {"zero byte", mapped("\"x\\u0000.safetensors\""),
       "weight_map \"a\": \"x\\x00.safetensors\" is not the name of a .safetensors file in the "
       "model's own folder"},
      {"two dots", mapped("\"..\""),
       "weight_map \"a\": \"..\" is not the name of a .safetensors file in the model's own folder"},
      {"not safetensors", mapped("\"pytorch_model.bin\""),
       "weight_map \"a\": \"pytorch_model.bin\" is not the name of a .safetensors file in the "
       "model's own folder"},
      {"tensor twice", R"({"weight_map":{"a":"x.safetensors","a":"y.safetensors"}})",
       "weight_map \"a\" occurs twice; download the file again"},
      {"something after it", mapped("\"x.safetensors\"") + "{}",
       "byte 36: nothing may follow the value, found \"{\"; download the file again"},
      {"not closed", "{\"weight_map\":{\"a\":\"x.safetensors\"",
       "byte 34: expected ',' or '}', found the end; download the file again"},
      {"bad literal in the metadata", "{\"metadata\":{\"x\":nul}}",
       "byte 17: expected a value, found \"nul\"; download the file again"},
      {"bad number in the metadata", "{\"metadata\":{\"x\":01}}",
       "byte 19: a number starts with 0; download the file again"},
      {"number without digits", "{\"metadata\":{\"x\":-}}",
       "byte 18: expected a value, found \"}\"; download the file again"},
      {"deep metadata", "{\"metadata\":" + repeated("[", 300),
       "byte 267: nested deeper than 256 levels; download the file again"},
      {"too large", std::string((16 << 20) + 1, ' '),
       "is 16777217 bytes long, more than the 16777216 an index may have"},
  };
  for (const BadCase& bad : cases) {
    const std::size_t peak = testing::peak_allocation([&] {
      testing::expect_message(bad.name, "i.json: " + bad.message,
                              [&] { ShardIndex(bad.input, "i.json"); });
    });
    EXPECT_LT(peak, testing::kAllowance) << bad.name;
  }
}

TEST(BadIndex, TooManyEntriesOrFiles) {
  const auto message_of = [](int tensors, int files) {
    std::string text = "{\"weight_map\": {";
    for (int i = 0; i < tensors; ++i)
      text += fmt::format("{}\"{}\":\"{}.safetensors\"", i ? "," : "", i, i % files);
    try {
      ShardIndex(text + "}}", "index.json");
      return std::string("no error");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(message_of((1 << 18) + 1, 1), "index.json: weight_map has more than 262144 entries");
  EXPECT_EQ(message_of(4097, 4097), "index.json: weight_map names more than 4096 files");
  EXPECT_EQ(message_of(4097, 4096), "no error");
}

TEST(BadIndex, MemoryIsBoundedByTheFileSize) {
  std::string text = "{\"weight_map\":{";
  for (int i = 0; i < 250000; ++i) text += fmt::format("\"{}\":\"{}.safetensors\",", i, i % 4000);
  text += "\"z\":\"z.safetensors\"}}";
  const std::size_t peak =
      testing::peak_allocation([&] { EXPECT_EQ(ShardIndex(text, "i").entries().size(), 250001u); });
  EXPECT_LT(peak, text.size() + testing::kAllowance);
}

// Folders of one-tensor shards and an index over them.
class BadFolder : public ::testing::Test {
 protected:
  void shard(const std::string& file, const std::string& name) {
    const Tensor tensor(DType::F32, {1});
    const NamedTensor tensors[] = {{name, tensor.view()}};
    write_safetensors(folder_.path() / file, tensors);
  }
  void index(const std::string& map) {
    folder_.write("model.safetensors.index.json", "{\"weight_map\":" + map + "}");
  }
  void expect(const std::string& message) {
    const std::string prefix = folder_.path().string();
    testing::expect_message("folder", prefix + message, [&] { Checkpoint::open(folder_.path()); });
  }
  TemporaryFolder folder_;
};

TEST_F(BadFolder, AnIndexThatIsTooLongIsNotRead) {
  index("{}");
  fs::resize_file(folder_.path() / "model.safetensors.index.json", 1 << 30);
  const std::size_t peak = testing::peak_allocation([&] {
    expect("/model.safetensors.index.json: is 1073741824 bytes long; at most 16777216 are read");
  });
  EXPECT_LT(peak, std::size_t{1} << 20);
}

TEST_F(BadFolder, ShardIsAbsent) {
  shard("x.safetensors", "a");
  index(R"({"a":"x.safetensors","b":"y.safetensors"})");
  expect(
      "/model.safetensors.index.json: names the file \"y.safetensors\", which is not there; "
      "download it again");
}

TEST_F(BadFolder, TensorIsNotInItsShard) {
  shard("x.safetensors", "a");
  index(R"({"b":"x.safetensors"})");
  expect(
      "/model.safetensors.index.json: tensor \"b\" is not in \"x.safetensors\", where weight_map "
      "has it; download both files again");
}

TEST_F(BadFolder, TensorIsInAnotherShard) {
  shard("x.safetensors", "a");
  shard("y.safetensors", "b");
  index(R"({"a":"y.safetensors","b":"x.safetensors"})");
  expect(
      "/model.safetensors.index.json: tensor \"a\" is not in \"y.safetensors\", where weight_map "
      "has it; download both files again");
}

TEST_F(BadFolder, TensorIsInTwoShards) {
  shard("x.safetensors", "a");
  shard("y.safetensors", "a");
  index(R"({"a":"x.safetensors","b":"y.safetensors"})");
  expect(
      ": tensor \"a\" is both in x.safetensors and in y.safetensors; download the checkpoint "
      "again");
}

TEST_F(BadFolder, ShardIsDamaged) {
  folder_.write("x.safetensors", "short");
  index(R"({"a":"x.safetensors"})");
  expect(
      "/x.safetensors: is 5 bytes long, a safetensors file has at least 8; the file is damaged or "
      "not safetensors: download or convert it again");
}

TEST_F(BadFolder, ShardIsAFolder) {
  std::filesystem::create_directory(folder_.path() / "x.safetensors");
  index(R"({"a":"x.safetensors"})");
  expect("/x.safetensors: is not a regular file");
}

TEST_F(BadFolder, NoWeights) {
  expect(
      ": has neither model.safetensors nor model.safetensors.index.json; download the checkpoint's "
      "safetensors files");
}

TEST_F(BadFolder, PickledWeights) {
  folder_.write("pytorch_model-00001-of-00002.bin", "x");
  expect(
      ": has neither model.safetensors nor model.safetensors.index.json; "
      "pytorch_model-00001-of-00002.bin is a pickled PyTorch file, which is not read because it "
      "can run code: load it with transformers and save_pretrained(..., safe_serialization=True)");
}

TEST_F(BadFolder, Gguf) {
  folder_.write("q4.gguf", "x");
  expect(
      ": has neither model.safetensors nor model.safetensors.index.json; q4.gguf is a GGUF file: "
      "give the file itself as --model");
}

TEST_F(BadFolder, Adapter) {
  folder_.write("adapter_model.safetensors", "x");
  expect(
      ": has neither model.safetensors nor model.safetensors.index.json; adapter_model.safetensors "
      "is an adapter: merge it into its base model and save that");
}

TEST_F(BadFolder, ShardsWithoutIndex) {
  shard("model-00001-of-00002.safetensors", "a");
  expect(
      ": has neither model.safetensors nor model.safetensors.index.json; "
      "model-00001-of-00002.safetensors is there but no model.safetensors.index.json names it: "
      "download that file too");
}

}  // namespace
}  // namespace counterbeam
