// Every truncation of the tokenizers in fuzz/corpus, and three flipped bits of every byte: an Error
// or a tokenizer that works, never a crash.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "text/tokenizer.h"

namespace counterbeam {
namespace {

bool is_tokenizer(std::string_view json) {
  try {
    const Tokenizer tokenizer = Tokenizer::parse(json, "x", "", "");
    tokenizer.decode(tokenizer.encode("a<s> 1"));
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(DamagedTokenizer, EveryTruncationAndFlippedBits) {
  int files = 0, still_read = 0;
  const std::filesystem::path corpus = COUNTERBEAM_SOURCE_DIR "/fuzz/corpus/tokenizer";
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    const std::string content = read_file(entry.path());
    std::string json = content.substr(0, content.find('\0'));
    ASSERT_TRUE(is_tokenizer(json)) << entry.path();
    const std::size_t last = json.find_last_of('}');
    for (std::size_t size = 0; size <= last; ++size, ++files)
      EXPECT_FALSE(is_tokenizer(std::string_view(json).substr(0, size))) << size;
    for (std::size_t at = 0; at < json.size(); ++at)
      for (const std::size_t bit : {at % 8, (at + 3) % 8, (at + 5) % 8}) {
        json[at] = static_cast<char>(json[at] ^ (1 << bit));
        still_read += is_tokenizer(json);
        json[at] = static_cast<char>(json[at] ^ (1 << bit));
        ++files;
      }
  }
  EXPECT_GT(files, 10'000);
  EXPECT_LT(still_read, files);
}

}  // namespace
}  // namespace counterbeam
