#include "base/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

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

TEST(OutputFile, HasNoNameUntilItIsFinished) {
  const TemporaryFolder folder;
  OutputFile file(folder.path() / "file");
  file.write("new", 3);
  if (!fs::is_empty(folder.path())) GTEST_SKIP() << "this file system has no files without a name";
  file.finish();
  EXPECT_EQ(read_file(folder.path() / "file"), "new");
}

TEST(OutputFile, FoldersAndMissingFoldersAreErrorsThatLeaveNothing) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "target");
  EXPECT_THROW(write_file(folder.path() / "target", "x"), Failed);
  EXPECT_THROW(write_file(folder.path() / "absent" / "file", "x"), Failed);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(OutputFile, OnlyLeftoversOfDeadProcessesOfOursAreRemoved) {
  const TemporaryFolder folder;
  const std::string dead = ".counterbeam-2147483000-1.part";  // above any pid
  const std::string alive = fmt::format(".counterbeam-{}-1.part", ::getppid());
  for (const std::string& name : {dead, alive, std::string("notes.part"),
                                  std::string(".counterbeam-x-1.part"), dead + ".txt"})
    folder.write(name, "mine");
  remove_partial_files(folder.path());
  EXPECT_FALSE(fs::exists(folder.path() / dead));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 4);
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
