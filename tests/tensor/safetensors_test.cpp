#include "tensor/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "support/shared_folder.h"
#include "support/temporary_folder.h"
#include "tensor/checkpoint.h"
#include "tensor/npy.h"

namespace counterbeam {
namespace {

using testing::TemporaryFolder;

std::string file_with(std::string_view header, std::size_t data) {
  const std::uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), 8);
  bytes += header;
  bytes.append(data, '\x01');
  return bytes;
}

SafetensorsContent read(std::string_view bytes) {
  return read_safetensors(std::as_bytes(std::span(bytes)), "x.safetensors");
}

TEST(Safetensors, ReadsOddButLegalFiles) {
  EXPECT_TRUE(read(file_with("{}", 0)).tensors.empty());
  EXPECT_TRUE(read(file_with("{}   \n", 0)).tensors.empty());
  const std::string bytes = file_with(
      R"({"b":{"data_offsets":[1,5],"shape":[],"dtype":"F32"},"empty":{"dtype":"I64","shape":[4,0],)"
      R"("data_offsets":[1,1]},"\u00e9\n":{"dtype":"F4","shape":[2],"data_offsets":[0,1]},)"
      R"("__metadata__":{"format":"pt"}})",
      5);
  const SafetensorsContent content = read(bytes);
  ASSERT_EQ(content.tensors.size(), 3u);
  EXPECT_EQ(content.tensors[0].name, "b");
  EXPECT_EQ(content.tensors[0].view.shape.rank(), 0);
  EXPECT_EQ(content.tensors[1].view.shape.elements(), 0);
  EXPECT_EQ(content.tensors[2].name, "é\n");
  EXPECT_EQ(content.metadata.at(0).second, "pt");
  float value = 0;
  std::memcpy(&value, content.tensors[0].view.data, 4);  // unaligned
  EXPECT_EQ(to_f32(content.tensors[0].view), std::vector<float>{value});
}

TEST(Safetensors, WrittenFilesReadBack) {
  const TemporaryFolder folder;
  const float values[] = {1, 2, 3, 4, 5, 6};
  const Tensor a = Tensor::from_f32(values, DType::BF16, {2, 3});
  const Tensor b = Tensor::from_f32(values, DType::F32, {6});
  Tensor c(DType::I64, {0});
  const NamedTensor tensors[] = {{"a", a.view()}, {"b \"quoted\"", b.view()}, {"c", c.view()}};
  const std::pair<std::string, std::string> metadata[] = {{"format", "pt"}};
  write_safetensors(folder.path() / "model.safetensors", tensors, metadata);

  const std::string bytes = read_file(folder.path() / "model.safetensors");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  EXPECT_LT(bytes.find("\"c\""), bytes.find("quoted"));  // wide elements first
  EXPECT_LT(bytes.find("quoted"), bytes.find("\"a\""));

  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(checkpoint.tensors().size(), 3u);
  EXPECT_EQ(checkpoint.bytes(), 12u + 24u);
  EXPECT_EQ(to_f32(checkpoint.at("a")), std::vector<float>(values, values + 6));
  EXPECT_EQ(to_f32(checkpoint.at("b \"quoted\"")), std::vector<float>(values, values + 6));
  checkpoint.will_need("a");
  checkpoint.done_with("a");
  EXPECT_EQ(to_f32(checkpoint.at("a").row(1)), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(checkpoint.find("d"), nullptr);
  EXPECT_THROW(checkpoint.at("d"), Error);
}

TEST(Checkpoint, FollowsTheIndexWhateverTheShardNames) {
  const TemporaryFolder folder;
  const float one[] = {1}, two[] = {2};
  const Tensor a = Tensor::from_f32(one, DType::F32, {1}),
               b = Tensor::from_f32(two, DType::F32, {1});
  const NamedTensor first[] = {{"a", a.view()}}, second[] = {{"b", b.view()}};
  write_safetensors(folder.path() / "model.safetensors-00001-of-00001.safetensors", first);
  write_safetensors(folder.path() / "other.safetensors", second);
  write_safetensors(folder.path() / "model-00001-of-00009.safetensors", second);  // unlisted
  folder.write("model.safetensors.index.json",
               R"({"metadata":{"total_size":8.0},"weight_map":{"b":"other.safetensors",)"
               R"("a":"model.safetensors-00001-of-00001.safetensors"}})");
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(checkpoint.files().size(), 2u);
  EXPECT_EQ(to_f32(checkpoint.at("a"))[0], 1.0f);
  EXPECT_EQ(to_f32(checkpoint.at("b"))[0], 2.0f);
}

TEST(Checkpoint, ReadsFilesOfTheReferenceWriter) {
  const auto folder = testing::shared_folder() / "fixtures" / "parity";
  CB_NEEDS_SHARED(folder);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const Checkpoint checkpoint = Checkpoint::open(entry.path());
    EXPECT_EQ(checkpoint.at("model.norm.weight").dtype, DType::F32) << entry.path();
    const SafetensorsFile reference(entry.path() / "reference.safetensors");
    ASSERT_NE(reference.find("input_ids.0"), nullptr);
    EXPECT_EQ(reference.find("logits.0")->shape[0], reference.find("input_ids.0")->shape[0]);
  }
}

TEST(Npy, MatchesTheFormat) {
  const TemporaryFolder folder;
  const float rows[2][3] = {{1, 2, 3}, {4, 5, 6}};
  NpyWriter writer(folder.path() / "x.npy", 2, 3);
  writer.row(rows[0]);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "x.npy"));  // only after finish()
  writer.row(rows[1]);
  writer.finish();
  const std::string bytes = read_file(folder.path() / "x.npy");
  ASSERT_EQ(bytes.size(), 128u + 24u);
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(bytes.substr(8, 2), std::string("\x76\x00", 2));  // 118 = 128 - 10
  EXPECT_EQ(bytes.substr(10, 61), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  ");
  EXPECT_EQ(bytes[127], '\n');
  EXPECT_EQ(std::memcmp(bytes.data() + 128, rows, 24), 0);
}

}  // namespace
}  // namespace counterbeam
