// Lines of any length up to the bound, on both sides of the buffer's ends; what is no regular file.
#include "base/line_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/error.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

using testing::TemporaryFolder;

TEST(LineReader, LinesAroundTheSizeOfTheBuffer) {
  const TemporaryFolder folder;
  std::string content;
  std::vector<std::string> lines;
  for (const std::size_t size : {0, 1, 65533, 65535, 65536, 65537, 0, 200000, 3}) {
    lines.emplace_back(size, static_cast<char>('a' + lines.size()));
    content += lines.back() + "\n";
  }
  for (const std::size_t rest : {0, 1, 65536, 100000}) {
    LineReader reader(folder.write("lines", content + std::string(rest, 'z')), 200000);
    std::string line;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      ASSERT_TRUE(reader.next(line));
      EXPECT_EQ(line, lines[i]);
      EXPECT_EQ(reader.place(),
                (folder.path() / "lines").string() + ": line " + std::to_string(i + 1));
    }
    EXPECT_FALSE(reader.next(line));
    EXPECT_EQ(reader.rest(), rest);
  }
}

TEST(LineReader, ALineThatIsTooLongIsNamed) {
  const TemporaryFolder folder;
  for (const std::string& last : {std::string(101, 'x') + "\n", std::string(101, 'x')}) {
    const auto path = folder.write("lines", std::string(100, 'x') + "\n" + last);
    LineReader reader(path, 100);
    std::string line;
    ASSERT_TRUE(reader.next(line));
    try {
      reader.next(line);
      ADD_FAILURE();
    } catch (const BadInput& error) {
      EXPECT_EQ(std::string(error.what()),
                path.string() + ": line 2: is longer than 100 bytes; is the file damaged?");
    }
  }
}

TEST(LineReader, WhatIsNoFileIsRefused) {
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::filesystem::path& path :
       {folder.path(), pipe, std::filesystem::path("/dev/zero"), folder.path() / "absent"})
    EXPECT_THROW(LineReader(path, 100), BadInput) << path;
}

}  // namespace
}  // namespace counterbeam
