// Tests messages: control characters of text from outside do not reach the terminal.
#include "base/output.h"

#include <gtest/gtest.h>

#include "base/log.h"

namespace counterbeam {
namespace {

class Stream {
 public:
  ~Stream() { std::fclose(file); }
  std::string text() const {
    std::rewind(file);
    std::string text(1000, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file));
    return text;
  }
  std::FILE* file = std::tmpfile();
};

TEST(WriteEscaped, EscapesControlCharactersButNotLineEnds) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", ""},
      {"plain text\nin two lines", "plain text\nin two lines"},
      {"a\tb\r\x1b[2Jc\x7f", R"(a\x09b\x0d\x1b[2Jc\x7f)"},
      {std::string_view("\0", 1), R"(\x00)"},
      {"\u00e9 \u0416 \u4e2d \U0001f600", "\u00e9 \u0416 \u4e2d \U0001f600"},
      {"\u009b2J\u0085", R"(\x9b2J\x85)"},  // control characters of two bytes
      {"\u00a0", "\u00a0"},
  };
  for (const auto& [text, shown] : cases) {
    const Stream stream;
    write_escaped(text, stream.file);
    EXPECT_EQ(stream.text(), shown);
  }
}

TEST(Log, WarningsAreEscaped) {
  const Stream stream;
  Log(true, stream.file).warning("the file {} is odd", "a\x1b[2Jb");
  EXPECT_EQ(stream.text(), "counterbeam: warning: the file a\\x1b[2Jb is odd\n");
}

}  // namespace
}  // namespace counterbeam
