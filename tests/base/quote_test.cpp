#include "base/quote.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"

namespace counterbeam {
namespace {

TEST(Quote, KeepsPlainTextAndEscapesControlCharacters) {
  EXPECT_EQ(in_quotes("model.norm"), "\"model.norm\"");
  EXPECT_EQ(in_quotes("\x1b[31m\n\x7f"), "\"\\x1b[31m\\x0a\\x7f\"");
  EXPECT_EQ(printable("h\xc3\xa9"), "h\xc3\xa9");
  EXPECT_EQ(printable("\xff"), "\xef\xbf\xbd");
}

TEST(Quote, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 3), "abc... (6 bytes)");
  EXPECT_EQ(printable("ab\xc3\xa9z", 3), "ab... (5 bytes)");
  EXPECT_EQ(printable(std::string(100, '\x80'), 10).size(), std::string("... (100 bytes)").size());
}

TEST(Json, MessagesStayShort) {
  try {
    parse_json("\"" + std::string(100000, 'x'), "file");
    FAIL();
  } catch (const Error& error) {
    EXPECT_LT(std::string(error.what()).size(), 400u);
  }
}

}  // namespace
}  // namespace counterbeam
