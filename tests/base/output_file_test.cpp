#include "base/output_file.h"

#include <fcntl.h>
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

TEST(OutputFile, NamedDevicesAndPipesAreWrittenToAndNeverReplaced) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_named_file("/dev/full", "x"), Failed);
  EXPECT_EQ(fs::status("/dev/full").type(), fs::file_type::character);
  write_named_file("/dev/null", "x");
  EXPECT_EQ(fs::status("/dev/null").type(), fs::file_type::character);
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  // More than a pipe holds, so that writing has to wait for the reader.
  const std::string content(std::size_t{1} << 20, 'x');
  const int opened = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(opened, 0);
  ASSERT_EQ(::fcntl(opened, F_SETFL, 0), 0);
  std::string read;
  std::thread writer([&] { write_named_file(pipe, content); });
  char buffer[4096];
  while (read.size() < content.size()) {
    const ssize_t got = ::read(opened, buffer, sizeof buffer);
    if (got > 0) read.append(buffer, static_cast<std::size_t>(got));
    if (got == 0) std::this_thread::yield();  // the writer has not come yet
    if (got < 0) break;
  }
  writer.join();
  ::close(opened);
  EXPECT_EQ(read, content);
  EXPECT_TRUE(fs::is_fifo(pipe));
}

// As --trace /dev/stdout with standard output in a file.
TEST(OutputFile, ADescriptorOfThisProcessIsWrittenWhereItStands) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("file", ""), link = folder.path() / "link";
  const int opened = ::open(file.c_str(), O_WRONLY);
  ASSERT_GE(opened, 0);
  const std::string name = fmt::format("/dev/fd/{}", opened);
  fs::create_symlink(name, link);
  ASSERT_EQ(::write(opened, "a", 1), 1);
  write_named_file(name, "b");
  write_named_file(link, "c");
  ASSERT_EQ(::write(opened, "d", 1), 1);
  ::close(opened);
  EXPECT_EQ(read_file(file), "abcd");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_THROW(write_named_file(name, "e"), Failed);  // closed
}

TEST(OutputFile, AFifoThatNobodyReadsIsAnError) {
  const TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  try {
    write_named_file(pipe, "x");
    ADD_FAILURE() << "written to nobody";
  } catch (const Failed& error) {
    EXPECT_EQ(std::string(error.what()),
              pipe.string() + ": is a FIFO that nobody reads; start its reader first");
  }
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST(OutputFile, DevicesAndFifosInThePlaceOfFilesOfOursAreRefused) {
  const TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe", device = folder.path() / "device";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", device);
  for (const fs::path& path : {pipe, device}) {
    try {
      write_file(path, "x");
      ADD_FAILURE() << path;
    } catch (const BadInput& error) {
      EXPECT_EQ(std::string(error.what()),
                path.string() + ": is a device or a pipe, not a regular file");
    }
  }
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_TRUE(fs::is_symlink(device));
}

}  // namespace
}  // namespace counterbeam
