// Reading of files that are not what they should be, or do not stay so.
#include "base/file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
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
