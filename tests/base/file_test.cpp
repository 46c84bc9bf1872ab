// Reading of files that are not what they should be, or do not stay so.
#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/make_folder.h"
#include "base/mapped_file.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

template <typename Action>
std::string file_error(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(File, WhatIsNoRegularFileIsRefusedAtOnce) {
  const TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const fs::path& path : {pipe, fs::path("/dev/zero"), folder.path()}) {
    EXPECT_THAT(file_error([&] { read_file(path); }), HasSubstr(path.string() + ": is a ")) << path;
    EXPECT_THAT(file_error([&] { MappedFile file(path); }),
                HasSubstr(path.string() + ": is not a regular file"));
  }
}

TEST(File, ALimitHoldsBeforeTheFirstByte) {
  const TemporaryFolder folder;
  const fs::path path = folder.write("sparse", "x");
  ASSERT_EQ(::truncate(path.c_str(), off_t{6} << 30), 0);
  EXPECT_THAT(file_error([&] { read_file(path); }),
              HasSubstr("is 6442450944 bytes long; at most 1073741824 are read"));
  EXPECT_THAT(file_error([&] { read_file(path, 10); }), HasSubstr("at most 10 are read"));
  ASSERT_EQ(::truncate(path.c_str(), 10), 0);
  EXPECT_EQ(read_file(path, 10).size(), 10u);
}

TEST(File, AFolderThatCannotBeMadeIsNamed) {
  const TemporaryFolder folder;
  const fs::path deep = folder.path() / "a" / "b";
  make_folder(deep);
  make_folder(deep);
  EXPECT_TRUE(fs::is_directory(deep));
  const fs::path file = folder.write("file", "x");
  for (const fs::path& path : {file, file / "below"})
    EXPECT_THAT(file_error([&] { make_folder(path); }),
                HasSubstr(path.string() + ": the folder cannot be made: Not a directory"));
}

TEST(File, TooManyOpenFilesAreNoFaultOfTheFile) {
  const TemporaryFolder folder;
  const fs::path path = folder.write("file", "x");
  rlimit former{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &former), 0);
  const rlimit few{3, former.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_THROW(read_file(path), Failed);
  EXPECT_THROW(MappedFile{path}, Failed);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &former), 0);
  EXPECT_THROW(MappedFile{folder.path() / "absent"}, BadInput);
}

TEST(MappedFile, AFileThatBecomesShorterIsAnErrorThatNamesIt) {
  const TemporaryFolder folder;
  const std::string content(5 * 4096 + 7, 'x');
  const fs::path path = folder.write("weights", content), other = folder.write("other", content);
  const MappedFile file(path), untouched(other);
  EXPECT_EQ(file.bytes()[4096], std::byte{'x'});
  EXPECT_NO_THROW(file.check(path));
  ASSERT_EQ(::truncate(path.c_str(), 4096), 0);
  std::size_t zeros = 0;
  for (const std::byte byte : file.bytes()) zeros += byte == std::byte{0};
  EXPECT_EQ(zeros, content.size() - 4096);
  EXPECT_THAT(file_error([&] { file.check(path); }),
              AllOf(HasSubstr(path.string()), HasSubstr("disappeared")));
  EXPECT_EQ(untouched.bytes().back(), std::byte{'x'});
  EXPECT_NO_THROW(untouched.check(other));
}

// The rest of the last page reads as zeros, and no signal says so.
TEST(MappedFile, ACutInsideAPageIsAnErrorThatNamesTheFile) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "weights";
  for (const std::size_t size : {std::size_t{7}, std::size_t{4096}, std::size_t{5 * 4096 + 700}})
    for (const std::size_t cut : {std::size_t{1}, size % 4096 / 2 + 1, size}) {
      folder.write("weights", std::string(size, 'x'));
      const MappedFile file(path);
      EXPECT_EQ(file.bytes()[0], std::byte{'x'});
      EXPECT_NO_THROW(file.check(path));
      ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(size - cut)), 0);
      EXPECT_THAT(file_error([&] { file.check(path); }),
                  AllOf(HasSubstr(path.string() + ": a part of the file disappeared"),
                        HasSubstr("became shorter")))
          << size << " less " << cut;
    }
}

TEST(MappedFile, AFileThatIsWrittenToIsAnErrorThatNamesIt) {
  const TemporaryFolder folder;
  const std::string content(3 * 4096, 'x');
  const fs::path path = folder.write("weights", content);
  const auto change = [&](auto action) {
    const MappedFile file(path);
    ::usleep(20'000);  // the clock of files is a coarse one
    action();
    return file_error([&] { file.check(path); });
  };
  const auto write_at = [&](off_t at) {
    const int file = ::open(path.c_str(), O_WRONLY);
    EXPECT_EQ(::pwrite(file, "y", 1, at), 1);
    ::close(file);
  };
  const auto refused = HasSubstr(path.string() + ": the file was written to while it was read");
  EXPECT_THAT(change([&] { write_at(5000); }), refused);
  EXPECT_THAT(change([&] { write_at(3 * 4096 + 10); }), refused);  // it grows
  EXPECT_EQ(change([] {}), "no error");
}

// As downloads do it: what is mapped stays as it is.
TEST(MappedFile, AFileThatIsReplacedUnderItsNameIsNoError) {
  const TemporaryFolder folder;
  const fs::path path = folder.write("weights", std::string(5000, 'x'));
  MappedFile file(path), moved = std::move(file);
  write_file(path, "y");
  EXPECT_EQ(moved.bytes().back(), std::byte{'x'});
  EXPECT_NO_THROW(moved.check(path));
  fs::remove(path);
  EXPECT_NO_THROW(moved.check(path));
}

TEST(MappedFile, OtherBusErrorsStillEndTheProgram) {
#ifdef COUNTERBEAM_SANITIZED
  GTEST_SKIP() << "the sanitizer has a handler of its own, which ends the program another way";
#endif
  const TemporaryFolder folder;
  const fs::path path = folder.write("file", std::string(8192, 'x'));
  EXPECT_EXIT(
      {
        const MappedFile file(path);  // installs the handler
        ::raise(SIGBUS);
        ::raise(SIGBUS);  // the former action is back
        ::_exit(0);
      },
      ::testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace counterbeam
