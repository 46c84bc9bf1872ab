// Models in one GGUF file and in several.
#include "tensor/gguf_checkpoint.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/error.h"
#include "support/bad_case.h"
#include "support/gguf_writer.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

using namespace testing;
namespace fs = std::filesystem;

struct SplitKeys {
  int no, count, tensors;
};

class GgufCheckpointTest : public ::testing::Test {
 protected:
  // A part with one tensor.
  std::string part(const SplitKeys& split, const std::string& tensor) const {
    GgufWriter writer;
    const auto u16 = [](std::string_view key, int value) {
      return key_of(key, GgufKind::U16, raw(static_cast<std::uint16_t>(value)));
    };
    writer.keys = {u16("split.no", split.no), u16("split.count", split.count),
                   key_of("split.tensors.count", GgufKind::I32, raw<std::int32_t>(split.tensors))};
    if (split.no == 0) writer.keys.push_back(string_key("general.name", "whole"));
    writer.add_f32(tensor, {2}, {1, 2});
    return writer.bytes();
  }
  fs::path write(const std::string& name, const std::string& bytes) const {
    return folder_.write(name, bytes);
  }
  void write_three() const {
    write("m-00001-of-00003.gguf", part({0, 3, 3}, "b"));
    write("m-00002-of-00003.gguf", part({1, 3, 3}, "a"));
    write("m-00003-of-00003.gguf", part({2, 3, 3}, "c"));
  }
  void expect(const std::string& file, const std::string& message) const {
    const fs::path path = folder_.path() / file;
    expect_message(file, message, [&] { GgufCheckpoint::open(path); });
  }
  std::string path_of(const std::string& file) const { return (folder_.path() / file).string(); }

  TemporaryFolder folder_;
};

TEST_F(GgufCheckpointTest, PartsShareTheLimitOfOneFile) {
  const auto with_keys = [](int no, int count) {
    GgufWriter writer;
    writer.keys = {u32_key("split.no", static_cast<std::uint32_t>(no)), u32_key("split.count", 2)};
    for (int i = 0; i < count; ++i) writer.keys.push_back(u32_key(fmt::format("k{}", i), 1));
    return writer.bytes();
  };
  write("m-00001-of-00002.gguf", with_keys(0, 32766));
  write("m-00002-of-00002.gguf", with_keys(1, 32766));
  EXPECT_EQ(GgufCheckpoint::open(folder_.path() / "m-00001-of-00002.gguf").files().size(), 2u);
  write("m-00002-of-00002.gguf", with_keys(1, 32767));
  expect("m-00001-of-00002.gguf",
         path_of("m-00002-of-00002.gguf") +
             ": the parts of the model up to this one have 65537 metadata keys and 0 tensors; the "
             "limits are 65536 and 65536; split the model again");
}

TEST_F(GgufCheckpointTest, PartsAreReadTogether) {
  write_three();
  const GgufCheckpoint checkpoint = GgufCheckpoint::open(folder_.path() / "m-00001-of-00003.gguf");
  EXPECT_EQ(checkpoint.files().size(), 3u);
  ASSERT_EQ(checkpoint.tensors().size(), 3u);
  EXPECT_EQ(checkpoint.tensors()[0].name, "a");
  EXPECT_EQ(checkpoint.tensors()[0].file, 1u);
  EXPECT_EQ(checkpoint.bytes(), 24u);
  EXPECT_EQ(checkpoint.metadata().find("general.name")->string(), "whole");
  EXPECT_EQ(checkpoint.find("c")->shape, Shape({2}));
  EXPECT_EQ(checkpoint.find("d"), nullptr);
  checkpoint.will_need("a");
  checkpoint.done_with("a");
  checkpoint.check("a");
}

TEST_F(GgufCheckpointTest, ALaterPartNamesTheFirst) {
  write_three();
  expect("m-00002-of-00003.gguf", path_of("m-00002-of-00003.gguf") +
                                      ": is part 2 of 3 of a split model; give the first, "
                                      "m-00001-of-00003.gguf");
}

TEST_F(GgufCheckpointTest, BadParts) {
  write("one.gguf", part({0, 3, 3}, "a"));
  expect("one.gguf", path_of("one.gguf") +
                         ": is part 1 of 3 of a split model, so its name must end in "
                         "-00001-of-00003.gguf; rename it back");
  const std::string first = "m-00001-of-00002.gguf", second = "m-00002-of-00002.gguf";
  write(first, part({0, 2, 2}, "a"));
  expect(first, path_of(first) + ": part 2 of 2, " + second + ", is not there; download it too");
  write(second, part({0, 2, 2}, "b"));
  expect(first, path_of(second) +
                    ": says that it is part 1 of 2, but its name says part 2 of 2; download it "
                    "again");
  write(second, part({1, 3, 2}, "b"));
  expect(first, path_of(second) +
                    ": says that it is part 2 of 3, but its name says part 2 of 2; download it "
                    "again");
  write(second, part({1, 2, 2}, "a"));
  expect(first, path_of(first) + ": tensor \"a\" is both in " + first + " and in " + second +
                    "; download the model again");
  write(second, part({1, 2, 2}, "b"));
  write(first, part({0, 2, 9}, "a"));
  expect(first, path_of(first) +
                    ": split.tensors.count is 9, but the 2 files have 2 tensors; download them "
                    "again");
  write(first, part({2, 2, 2}, "a"));
  expect(first, path_of(first) + ": split.no 2 is not below split.count 2; split the model again");
  write(first, part({0, 2000, 2}, "a"));
  expect(first, path_of(first) + ": split.count 2000 is above the limit of 1024");
  GgufWriter writer;
  writer.keys = {string_key("split.count", "two")};
  write(first, writer.bytes());
  expect(first,
         path_of(first) + ": split.count is not a number of at least 0; split the model again");
}

TEST_F(GgufCheckpointTest, OnlyRegularFiles) {
  ASSERT_EQ(::mkfifo(path_of("pipe.gguf").c_str(), 0600), 0);
  expect("pipe.gguf", path_of("pipe.gguf") + ": is not a regular file");
  fs::create_directory(folder_.path() / "folder.gguf");
  expect("folder.gguf", path_of("folder.gguf") + ": is not a regular file");
  expect("absent.gguf", path_of("absent.gguf") + ": cannot be opened: No such file or directory");
}

TEST_F(GgufCheckpointTest, AFileThatShrinksIsAnError) {
  GgufWriter writer;
  writer.add_f32("a", {1 << 14}, std::vector<float>(1 << 14, 1.0f));
  for (const bool within_a_page : {false, true}) {
    const fs::path path = write("m.gguf", writer.bytes());
    const GgufCheckpoint checkpoint = GgufCheckpoint::open(path);
    EXPECT_NO_THROW(checkpoint.check("a"));
    fs::resize_file(path, within_a_page ? fs::file_size(path) - 4 : 4096);
    float last = 1;
    const auto data = checkpoint.find("a")->data;
    std::memcpy(&last, data.data() + data.size() - 4, 4);
    EXPECT_EQ(last, 0);
    EXPECT_THROW(checkpoint.check("a"), Error);
    EXPECT_THROW(checkpoint.check_metadata(), Error);
  }
}

}  // namespace
}  // namespace counterbeam
