// GGUF files: what a good one holds, and thousands of damaged ones. Each of those is rejected, or
// read into values and tensors that lie inside the file.
#include "tensor/gguf.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "support/allocation_watch.h"
#include "support/bad_case.h"
#include "support/gguf_writer.h"

namespace counterbeam {
namespace {

using namespace testing;

GgufWriter good_gguf(std::size_t alignment = 32) {
  GgufWriter writer(alignment);
  writer.keys.push_back(string_key("general.architecture", "llama"));
  writer.keys.push_back(u32_key("llama.block_count", 7));
  writer.keys.push_back(key_of("a.negative", GgufKind::I16, raw<std::int16_t>(-3)));
  writer.keys.push_back(key_of("a.wide", GgufKind::U64, raw(~std::uint64_t{0})));
  writer.keys.push_back(key_of("a.double", GgufKind::F64, raw(0.5)));
  writer.keys.push_back(bool_key("a.flag", true));
  writer.keys.push_back(strings_key("tokens", {"a", "", "b c"}));
  writer.keys.push_back(numbers_key<std::int32_t>("kinds", GgufKind::I32, {1, -2, 3}));
  writer.add_f32("norm", {3}, {1, 2, 3});
  writer.add("quantised", GgmlType::Q8_0, {2, 64}, std::string(4 * 34, 'q'));
  writer.add("nothing", GgmlType::F16, {2, 0}, "");
  writer.add("scalar", GgmlType::F16, {}, "xy");
  return writer;
}

GgufContent read(const std::string& bytes) {
  return read_gguf(std::as_bytes(std::span(bytes)), "x");
}

TEST(Gguf, ReadsKeys) {
  const std::string bytes = good_gguf().bytes();
  const GgufContent content = read(bytes);
  EXPECT_EQ(content.version, 3u);
  EXPECT_EQ(content.find("general.architecture")->string(), "llama");
  EXPECT_EQ(content.find("llama.block_count")->integer(), 7);
  EXPECT_EQ(content.find("llama.block_count")->number(), 7.0);
  EXPECT_EQ(content.find("a.negative")->integer(), -3);
  EXPECT_EQ(content.find("a.wide")->integer(), std::nullopt);  // does not fit
  EXPECT_EQ(content.find("a.double")->number(), 0.5);
  EXPECT_EQ(content.find("a.double")->integer(), std::nullopt);
  EXPECT_EQ(content.find("a.flag")->boolean(), true);
  EXPECT_EQ(content.find("a.flag")->integer(), std::nullopt);
  EXPECT_EQ(content.find("kinds")->integer(1), -2);
  EXPECT_EQ(content.find("kinds")->integer(3), std::nullopt);
  EXPECT_EQ(content.find("kinds")->type_name(), "array of i32");
  std::vector<std::string> strings;
  content.find("tokens")->each_string([&](std::string_view text) { strings.emplace_back(text); });
  EXPECT_EQ(strings, (std::vector<std::string>{"a", "", "b c"}));
  EXPECT_EQ(content.find("tokens")->string(), std::nullopt);
  EXPECT_EQ(content.find("absent"), nullptr);
}

TEST(Gguf, NumbersOfEveryKind) {
  GgufWriter writer;
  writer.keys.push_back(key_of("u8", GgufKind::U8, raw<std::uint8_t>(200)));
  writer.keys.push_back(key_of("i8", GgufKind::I8, raw<std::int8_t>(-5)));
  writer.keys.push_back(key_of("u16", GgufKind::U16, raw<std::uint16_t>(60000)));
  writer.keys.push_back(key_of("i64", GgufKind::I64, raw<std::int64_t>(-(1LL << 40))));
  writer.keys.push_back(key_of("u64", GgufKind::U64, raw<std::uint64_t>(1ULL << 40)));
  writer.keys.push_back(key_of("f32", GgufKind::F32, raw(0.25f)));
  writer.keys.push_back(bool_key("flag", false));
  writer.keys.push_back(string_key("text", "a"));
  const std::string bytes = writer.bytes();
  const GgufContent content = read(bytes);
  EXPECT_EQ(content.find("u8")->integer(), 200);
  EXPECT_EQ(content.find("i8")->integer(), -5);
  EXPECT_EQ(content.find("u16")->integer(), 60000);
  EXPECT_EQ(content.find("i64")->integer(), -(1LL << 40));
  EXPECT_EQ(content.find("u64")->integer(), 1LL << 40);
  EXPECT_EQ(content.find("f32")->number(), 0.25);
  EXPECT_EQ(content.find("f32")->number(1), std::nullopt) << "there is one";
  EXPECT_EQ(content.find("flag")->boolean(), false);
  EXPECT_EQ(content.find("flag")->boolean(1), std::nullopt);
  EXPECT_EQ(content.find("flag")->number(), std::nullopt);
  EXPECT_EQ(content.find("f32")->boolean(), std::nullopt);
  EXPECT_EQ(content.find("text")->number(), std::nullopt);
  EXPECT_EQ(content.find("u8")->string(), std::nullopt);
}

TEST(Gguf, ReadsTensorsOfEveryAlignmentAndVersion) {
  for (const std::size_t alignment : {1, 8, 32, 64, 4096})
    for (const std::uint32_t version : {2u, 3u}) {
      const std::string bytes = good_gguf(alignment).bytes(version);
      const GgufContent content = read(bytes);
      ASSERT_EQ(content.tensors.size(), 4u);
      const GgufTensor& norm = *content.find_tensor("norm");
      EXPECT_EQ(norm.shape, Shape({3}));
      EXPECT_EQ(std::memcmp(norm.data.data(), "\0\0\x80\x3f", 4), 0);
      const GgufTensor& quantised = *content.find_tensor("quantised");
      EXPECT_EQ(quantised.type, GgmlType::Q8_0);
      EXPECT_EQ(quantised.shape, Shape({2, 64}));  // row-major, unlike the file
      EXPECT_EQ(quantised.data.size(), 4u * 34);
      EXPECT_EQ(quantised.data[0], std::byte{'q'});
      EXPECT_EQ(content.find_tensor("nothing")->data.size(), 0u);
      EXPECT_EQ(content.find_tensor("scalar")->shape.rank(), 0);
      EXPECT_EQ(content.find_tensor("absent"), nullptr);
    }
}

TEST(Gguf, TheLastTensorNeedsNoPadding) {
  GgufWriter writer;
  writer.add_f32("a", {1}, {1});
  const std::string bytes = writer.bytes();
  EXPECT_EQ(read(bytes.substr(0, bytes.size() - 28)).tensors.size(), 1u);
  EXPECT_THROW(read(bytes.substr(0, bytes.size() - 29)), Error);
}

TEST(Gguf, SizesOfTypesAreThoseOfTheFormat) {
  EXPECT_EQ(find_ggml_type(12)->name, "Q4_K");
  EXPECT_EQ(find_ggml_type(12)->bytes, 144u);
  for (const std::uint32_t withdrawn : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 43u, 256u})
    EXPECT_EQ(find_ggml_type(withdrawn), nullptr) << withdrawn;
}

// Whether the file is accepted; if so, checks that what was read lies inside it.
bool is_read(const std::string& bytes) {
  const auto span = std::as_bytes(std::span(bytes));
  const auto inside = [&](std::span<const std::byte> part) {
    return part.data() >= span.data() && part.data() + part.size() <= span.data() + span.size();
  };
  try {
    const GgufContent content = read_gguf(span, "x");
    for (const GgufKey& key : content.keys) EXPECT_TRUE(inside(key.value.bytes));
    for (const GgufTensor& tensor : content.tensors) EXPECT_TRUE(inside(tensor.data));
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(DamagedGguf, EveryTruncationIsRejected) {
  const std::string good = good_gguf().bytes();
  ASSERT_TRUE(is_read(good));
  const std::size_t least = good.size() - 30;  // the padding of the last tensor may be missing
  for (std::size_t size = 0; size < least; ++size)
    EXPECT_FALSE(is_read(good.substr(0, size))) << size;
}

TEST(DamagedGguf, EveryBit) {
  std::string bytes = good_gguf().bytes();
  int still_read = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      still_read += is_read(bytes);
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
    }
  EXPECT_LT(still_read, static_cast<int>(bytes.size()) * 8 * 3 / 4);
}

TEST(DamagedGguf, RandomEdits) {
  const std::string good = good_gguf().bytes();
  std::mt19937 random(7);
  for (int file = 0; file < 30000; ++file) {
    std::string bytes = good;
    for (unsigned edit = 0, edits = 1 + random() % 4; edit < edits; ++edit) {
      const std::size_t at = 4 + random() % (bytes.size() - 16);
      const std::uint64_t wide = std::uint64_t{random()} << (random() % 64);
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          std::memcpy(bytes.data() + at, &wide, 8);
          break;
        case 2:
          bytes.insert(at, 1, static_cast<char>(random()));
          break;
        default:
          bytes.erase(at, 1 + random() % 5);
          break;
      }
    }
    is_read(bytes);
  }
}

TEST(DamagedGguf, MemoryIsBoundedByTheFileSize) {
  constexpr std::size_t kBytes = 24 << 20;
  const auto repeat = [](const std::string& part, std::size_t bytes) {
    std::string all;
    while (all.size() < bytes) all += part;
    return all;
  };
  const auto start = [](std::uint64_t tensors, std::uint64_t keys) {
    return "GGUF" + raw<std::uint32_t>(3) + raw(tensors) + raw(keys);
  };
  const std::string tensor = tensor_entry("a", {1, 1, 1, 1}, 0, 0);
  const std::string files[] = {
      start(0, 65536) + repeat(u32_key("k", 1), kBytes),
      start(65536, 0) + repeat(tensor, kBytes),
      start(0, kBytes / 13) + std::string(kBytes, '\0'),
      start(kBytes / 24, 0) + std::string(kBytes, '\0'),
      start(0, 2) + array_key("k", GgufKind::String, kBytes / 8, std::string(kBytes, '\0')),
      start(0, 2) + array_key("k", GgufKind::U8, kBytes, std::string(kBytes, '\0')),
      start(0, 2) + u32_key(std::string(kBytes, 'k'), 1),
  };
  for (const std::string& bytes : files) {
    const std::size_t peak = peak_allocation([&] { EXPECT_FALSE(is_read(bytes)); });
    EXPECT_LT(peak, bytes.size() + kAllowance);
  }
}

}  // namespace
}  // namespace counterbeam
