// Thousands of damaged safetensors files: every truncation, every flipped header bit, random edits,
// and headers designed to be expensive. Each is rejected, or read into tensors that lie inside the
// file.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/file.h"
#include "support/allocation_watch.h"
#include "support/bad_case.h"
#include "support/temporary_folder.h"
#include "tensor/safetensors.h"

namespace counterbeam {
namespace {

std::string good_file() {
  const testing::TemporaryFolder folder;
  const Tensor a(DType::BF16, {3, 5}), b(DType::F32, {}), c(DType::I64, {2, 0}), d(DType::U8, {7});
  const NamedTensor tensors[] = {{"model.layers.0.mlp.up_proj.weight", a.view()},
                                 {"scalar", b.view()},
                                 {"nothing", c.view()},
                                 {"\xc3\xa9 \"x\"", d.view()}};
  const std::pair<std::string, std::string> metadata[] = {{"format", "pt"}};
  write_safetensors(folder.path() / "x", tensors, metadata);
  return read_file(folder.path() / "x");
}

// Whether the file is accepted; if so, checks that its tensors lie inside it.
bool is_read(const std::string& bytes) {
  const auto span = std::as_bytes(std::span(bytes));
  try {
    const SafetensorsContent content = read_safetensors(span, "x");
    for (const NamedTensor& tensor : content.tensors) {
      EXPECT_GE(tensor.view.data, span.data());
      EXPECT_LE(tensor.view.data + tensor.view.bytes(), span.data() + span.size());
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::uint64_t header_end(const std::string& bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  return 8 + length;
}

TEST(DamagedSafetensors, EveryTruncationIsRejected) {
  const std::string good = good_file();
  ASSERT_TRUE(is_read(good));
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(is_read(good.substr(0, size))) << size;
  EXPECT_FALSE(is_read(good + '\0'));
}

TEST(DamagedSafetensors, EveryHeaderBit) {
  std::string bytes = good_file();
  const std::uint64_t end = header_end(bytes);
  int files = 0, still_read = 0;
  for (std::size_t at = 0; at < end; ++at)
    for (int bit = 0; bit < 8; ++bit, ++files) {
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      still_read += is_read(bytes);
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
    }
  EXPECT_GT(files, 2000);
  EXPECT_LT(still_read, files / 2);  // accepted flips are in names, metadata and white space
}

TEST(DamagedSafetensors, RandomEdits) {
  const std::string good = good_file();
  const std::uint64_t end = header_end(good);
  std::mt19937 random(7);
  constexpr std::string_view kAlphabet = "{}[]\",:0123456789eE.-\\utnf \n\xc3\xff";
  for (int file = 0; file < 30000; ++file) {
    std::string bytes = good;
    for (unsigned edit = 0, edits = 1 + random() % 4; edit < edits; ++edit) {
      const std::size_t at = 8 + random() % (end - 8);
      const char fresh = kAlphabet[random() % kAlphabet.size()];
      switch (random() % 3) {
        case 0:
          bytes[at] = fresh;
          break;
        case 1:
          bytes.insert(at, 1, fresh);
          break;
        default:
          bytes.erase(at, 1 + random() % 5);
          break;
      }
    }
    is_read(bytes);
  }
}

TEST(DamagedSafetensors, MemoryIsBoundedByTheFileSize) {
  const auto repeat = [](std::string_view part, std::size_t bytes) {
    std::string all;
    while (all.size() < bytes) all += part;
    return all;
  };
  const auto numbered = [](std::string_view before, std::string_view after, std::size_t bytes) {
    std::string all;
    for (std::uint64_t i = 0; all.size() < bytes; ++i)
      all += fmt::format("{}{}{}", before, i, after);
    return all;
  };
  constexpr std::size_t kBytes = 24 << 20;
  const std::string headers[] = {
      "{" + numbered("\"", R"(":{"dtype":"U8","shape":[0,1,1,1,1,1,1,1],"data_offsets":[0,0]},)",
                     kBytes),
      "{\"__metadata__\":{" + numbered("\"", "\":\"\",", kBytes),
      "{\"" + std::string(kBytes, 'n') + "\":{}}",
      "{\"" + repeat("\\u0041", kBytes) + "\":{}}",
      "{\"a\":" + repeat("{\"a\":", kBytes),
      "{\"a\":{\"shape\":" + repeat("[", kBytes),
      "{\"a\":{\"shape\":[" + repeat("1,", kBytes),
      "{\"a\":{\"data_offsets\":[" + repeat("0,", kBytes),
      "{" + std::string(kBytes, ' '),
  };
  for (const std::string& header : headers) {
    std::string bytes(8, '\0');
    const std::uint64_t length = header.size();
    std::memcpy(bytes.data(), &length, 8);
    bytes += header;
    const std::size_t peak = testing::peak_allocation([&] { EXPECT_FALSE(is_read(bytes)); });
    EXPECT_LT(peak, bytes.size() + testing::kAllowance) << header.substr(0, 40);
  }
}

}  // namespace
}  // namespace counterbeam
