#include "base/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

TEST(OutputFile, ReplacesTheTargetOnlyWhenFinished) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  write_file(path, "old");
  {
    OutputFile dropped(path);
    dropped.write("new", 3);
    EXPECT_EQ(read_file(path), "old");
  }
  EXPECT_EQ(read_file(path), "old");
  OutputFile finished(path);
  finished.write("new", 3);
  finished.finish();
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1) << "nothing else is left";
}

TEST(OutputFile, DevicesAndPipesAreWrittenToAndNeverReplaced) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_file("/dev/full", "x"), Failed);
  EXPECT_EQ(fs::status("/dev/full").type(), fs::file_type::character);
  write_file("/dev/null", "x");
  EXPECT_EQ(fs::status("/dev/null").type(), fs::file_type::character);
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] {
    std::FILE* file = std::fopen(pipe.c_str(), "rb");
    for (int c; (c = std::fgetc(file)) != EOF;) read += static_cast<char>(c);
    std::fclose(file);
  });
  write_file(pipe, "through");
  reader.join();
  EXPECT_EQ(read, "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

}  // namespace
}  // namespace counterbeam
