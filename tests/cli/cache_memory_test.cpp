// Tests the options --cache-memory and --cache-dtype.
#include <gtest/gtest.h>

#include "base/json.h"
#include "support/run_command.h"

namespace counterbeam {
namespace {

using testing::run_counterbeam;

constexpr const char* kBench =
    " bench --rows 2 --context 40 --tokens 4 --prefill 8 --beams 2 --block 4 "
    "--rounds 1 --json";

TEST(CacheMemory, AcceptsEveryUnit) {
  for (const char* size : {"20000000", "20000K", "20M", "1G"}) {
    const auto result = run_counterbeam(std::string("--cache-memory ") + size + kBench);
    EXPECT_EQ(result.code, 0) << size << ": " << result.err;
    EXPECT_TRUE(Json::parse(result.out).contains("block_ratio")) << size;
  }
}

TEST(CacheMemory, RejectsOtherTexts) {
  for (const char* size : {"''", "x", "0", "-1", "1.5G", "8GB", "G", "9000000T", "'8 G'"}) {
    const auto result = run_counterbeam(std::string("--cache-memory=") + size + kBench);
    EXPECT_EQ(result.code, 2) << size;
    EXPECT_NE(result.err.find("--cache-memory"), std::string::npos) << result.err;
  }
}

TEST(CacheDtype, IsNamedByTheEngine) {
  for (const char* type : {"fp8", "int8"}) {
    const auto result = run_counterbeam(std::string("--device cpu --cache-dtype ") + type + kBench);
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_NE(
        Json::parse(result.out)["engine"].get<std::string>().find(std::string(type) + " KV cache"),
        std::string::npos)
        << result.out;
  }
}

TEST(CacheDtype, RejectsOtherNames) {
  const auto result = run_counterbeam(std::string("--cache-dtype fp4") + kBench);
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(
      result.err,
      "counterbeam: --cache-dtype: \"fp4\" is not known; allowed: auto, fp8, int8; did you mean "
      "fp8?\n");
  const auto remote = run_counterbeam("ask --engine http://127.0.0.1:1 --cache-dtype int8 'Hi'");
  EXPECT_EQ(remote.code, 2);
  EXPECT_EQ(remote.err,
            "counterbeam: --cache-dtype: the servers of --engine keep their own caches; leave it "
            "out\n");
}

TEST(CacheMemory, TooLittleIsAnErrorWithTheNumbers) {
  const auto result = run_counterbeam(std::string("--cache-memory 1K") + kBench);
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("1024 bytes of cache memory (--cache-memory) hold no sequence"),
            std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace counterbeam
