#include "base/unicode.h"

#include <gtest/gtest.h>

#include "base/unicode_normalize.h"
#include "base/utf8.h"

namespace counterbeam {
namespace {

TEST(Utf8, ReplacesEachMaximalInvalidSubpart) {
  EXPECT_EQ(to_valid_utf8("a\x80"), "a\uFFFD");
  EXPECT_EQ(to_valid_utf8("\xE4\xBD"), "\uFFFD");  // a truncated character
  EXPECT_EQ(to_valid_utf8("\xE4\xBD\x41"),
            "\uFFFD"
            "A");  // a truncated character before another
  EXPECT_EQ(to_valid_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");            // a surrogate
  EXPECT_EQ(to_valid_utf8("\xF0\x80\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // overlong
  EXPECT_EQ(to_valid_utf8("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // above U+10FFFF
  EXPECT_EQ(to_valid_utf8("\xC0\xAF\xFF"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(to_valid_utf8("\xF0\x9F\x99\x82 ok"), "\U0001F642 ok");
}

TEST(Utf8, EveryPointRoundTrips) {
  for (char32_t point = 0; point <= kLastPoint; point += point < 0x3000 ? 1 : 97) {
    if (point >= 0xD800 && point < 0xE000) continue;
    const std::string text = to_utf8(point);
    unsigned length;
    EXPECT_EQ(char_at(text, 0, length), point);
    EXPECT_EQ(length, text.size());
    EXPECT_TRUE(is_valid_utf8(text));
    EXPECT_EQ(char_before("x" + text, text.size() + 1), 1u);
  }
}

TEST(Utf8, CompletePrefixExcludesOnlyIncompleteCharacters) {
  const std::string smile = "\U0001F642";
  for (std::size_t cut = 1; cut < 4; ++cut)
    EXPECT_EQ(complete_prefix("ab" + smile.substr(0, cut)), 2u) << cut;
  EXPECT_EQ(complete_prefix("ab" + smile), 6u);
  EXPECT_EQ(complete_prefix("ab\xFF"), 3u);
  EXPECT_EQ(complete_prefix("ab\xED\xA0"), 4u);  // can never become a character
  EXPECT_EQ(complete_prefix("\x80\x80\x80\x80"), 4u);
  EXPECT_EQ(complete_prefix(""), 0u);
}

TEST(Unicode, CategoriesAreThoseOfUnicode16) {
  EXPECT_EQ(category('A'), Category::Lu);
  EXPECT_EQ(category(0x4E2D), Category::Lo);
  EXPECT_EQ(category(0x0301), Category::Mn);
  EXPECT_EQ(category(0x00BD), Category::No);
  EXPECT_EQ(category(0x2EBF0), Category::Lo);  // new in 15.1
  EXPECT_EQ(category(0x10D50), Category::Lu);  // new in 16.0
  EXPECT_EQ(category(0x0378), Category::Cn);
  EXPECT_EQ(category(0x10FFFF), Category::Cn);
  EXPECT_EQ(category(0xE000), Category::Co);
  int letters = 0;
  for (char32_t point = 0; point <= kLastPoint; ++point) letters += is_in(point, kLetters);
  EXPECT_EQ(letters, 141028);
}

TEST(Unicode, WhiteSpaceIsTheProperty) {
  std::vector<char32_t> spaces;
  for (char32_t point = 0; point <= kLastPoint; ++point)
    if (is_white_space(point)) spaces.push_back(point);
  EXPECT_EQ(spaces, (std::vector<char32_t>{9,      10,     11,     12,     13,     32,     0x85,
                                           0xA0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004,
                                           0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A, 0x2028,
                                           0x2029, 0x202F, 0x205F, 0x3000}));
}

TEST(Unicode, CategoryNamesInManySpellings) {
  EXPECT_EQ(category_set("L"), kLetters);
  EXPECT_EQ(category_set("letter"), kLetters);
  EXPECT_EQ(category_set("Uppercase_Letter"), category_bit(Category::Lu));
  EXPECT_EQ(category_set("decimal number"), category_bit(Category::Nd));
  EXPECT_FALSE(category_set("Klingon"));
}

TEST(Unicode, Case) {
  EXPECT_EQ(to_lower(U'Ä'), U'ä');
  EXPECT_EQ(to_lower(U'Я'), U'я');
  EXPECT_EQ(fold_case(0x17F), U's');   // long s
  EXPECT_EQ(fold_case(0x212A), U'k');  // Kelvin
}

struct NormalCase {
  const char* text;
  const char* nfc;
  const char* nfd;
  const char* nfkc;
  const char* nfkd;
};

TEST(Normalize, TheFourForms) {
  const NormalCase cases[] = {
      {"e\u0301", "\u00E9", "e\u0301", "\u00E9", "e\u0301"},
      {"\u00E9", "\u00E9", "e\u0301", "\u00E9", "e\u0301"},
      {"\u1E9B\u0323", "\u1E9B\u0323", "\u017F\u0323\u0307", "\u1E69", "s\u0323\u0307"},
      {"q\u0307\u0323", "q\u0323\u0307", "q\u0323\u0307", "q\u0323\u0307", "q\u0323\u0307"},
      {"\u212B", "\u00C5", "A\u030A", "\u00C5", "A\u030A"},
      {"\uFB01", "\uFB01", "\uFB01", "fi", "fi"},
      {"\uD55C", "\uD55C", "\u1112\u1161\u11AB", "\uD55C", "\u1112\u1161\u11AB"},
      {"\u1112\u1161\u11AB", "\uD55C", "\u1112\u1161\u11AB", "\uD55C", "\u1112\u1161\u11AB"},
      {"\u0958", "\u0915\u093C", "\u0915\u093C", "\u0915\u093C", "\u0915\u093C"},  // excluded
      {"\u1FCF", "\u1FCF", "\u1FBF\u0342", " \u0313\u0342", " \u0313\u0342"},
      {"\uFDFA", "\uFDFA", "\uFDFA",
       "\u0635\u0644\u0649 \u0627\u0644\u0644\u0647 \u0639\u0644\u064A\u0647 "
       "\u0648\u0633\u0644\u0645",
       "\u0635\u0644\u0649 \u0627\u0644\u0644\u0647 \u0639\u0644\u064A\u0647 "
       "\u0648\u0633\u0644\u0645"},
      {"plain", "plain", "plain", "plain", "plain"},
      {"\u0301", "\u0301", "\u0301", "\u0301", "\u0301"},  // a mark alone
  };
  for (const NormalCase& one : cases) {
    EXPECT_EQ(normalize(one.text, NormalForm::Nfc), one.nfc) << one.text;
    EXPECT_EQ(normalize(one.text, NormalForm::Nfd), one.nfd) << one.text;
    EXPECT_EQ(normalize(one.text, NormalForm::Nfkc), one.nfkc) << one.text;
    EXPECT_EQ(normalize(one.text, NormalForm::Nfkd), one.nfkd) << one.text;
  }
}

// Over every code point: the forms are idempotent and agree with each other.
TEST(Normalize, LawsHoldForEveryPoint) {
  for (char32_t point = 0; point <= 0x2FFFF; ++point) {
    if (point >= 0xD800 && point < 0xE000) continue;
    const std::string text = "a" + to_utf8(point) + "\u0323";
    const std::string c = normalize(text, NormalForm::Nfc), d = normalize(text, NormalForm::Nfd);
    ASSERT_EQ(normalize(c, NormalForm::Nfc), c) << static_cast<unsigned>(point);
    ASSERT_EQ(normalize(d, NormalForm::Nfc), c) << static_cast<unsigned>(point);
    ASSERT_EQ(normalize(c, NormalForm::Nfd), d) << static_cast<unsigned>(point);
    const std::string kd = normalize(text, NormalForm::Nfkd);
    ASSERT_EQ(normalize(normalize(text, NormalForm::Nfkc), NormalForm::Nfkd), kd)
        << static_cast<unsigned>(point);
  }
}

}  // namespace
}  // namespace counterbeam
