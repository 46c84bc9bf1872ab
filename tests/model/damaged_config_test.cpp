// Every truncation of the configs in fuzz/corpus, and every flipped bit: an Error or a config whose
// sizes are sound, never a crash.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "model/config.h"

namespace counterbeam {
namespace {

bool is_config(std::string_view json) {
  try {
    const ModelConfig config = parse_config(parse_json(json, "x"), "x");
    EXPECT_GT(config.layer_count(), 0);
    EXPECT_GT(config.hidden, 0);
    EXPECT_EQ(config.heads % config.kv_heads, 0);
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(DamagedConfig, EveryTruncationAndEveryBit) {
  int files = 0, still_read = 0;
  const std::filesystem::path corpus = COUNTERBEAM_SOURCE_DIR "/fuzz/corpus/config";
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    std::string json = read_file(entry.path());
    ASSERT_TRUE(is_config(json)) << entry.path();
    const std::size_t last = json.find_last_of('}');
    for (std::size_t size = 0; size <= last; ++size, ++files)
      EXPECT_FALSE(is_config(std::string_view(json).substr(0, size))) << size;
    for (char& c : json)
      for (int bit = 0; bit < 8; ++bit, ++files) {
        c = static_cast<char>(c ^ (1 << bit));
        still_read += is_config(json);
        c = static_cast<char>(c ^ (1 << bit));
      }
  }
  EXPECT_GT(files, 10'000);
  EXPECT_LT(still_read, files);
}

}  // namespace
}  // namespace counterbeam
