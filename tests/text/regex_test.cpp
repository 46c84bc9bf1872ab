#include "text/regex.h"

#include <gtest/gtest.h>

#include <random>

#include "base/utf8.h"
#include "text/piece_scanner.h"

namespace counterbeam {
namespace {

std::vector<std::string> matches(std::string_view pattern, std::string_view text) {
  std::vector<TextSpan> spans;
  Regex::Scratch scratch;
  Regex(pattern).find_all(text, spans, scratch);
  std::vector<std::string> found;
  for (const TextSpan& span : spans)
    found.emplace_back(text.substr(span.begin, span.end - span.begin));
  return found;
}

using Found = std::vector<std::string>;

TEST(Regex, FirstAlternativeWins) {
  EXPECT_EQ(matches("a|ab", "abab"), (Found{"a", "a"}));
  EXPECT_EQ(matches("(?:ab|a)c", "acabc"), (Found{"ac", "abc"}));
}

TEST(Regex, GreedyLazyPossessive) {
  EXPECT_EQ(matches("a+b", "aaab"), (Found{"aaab"}));
  EXPECT_EQ(matches("a+?", "aaa"), (Found{"a", "a", "a"}));
  EXPECT_EQ(matches("a++a", "aaa"), (Found{}));
  EXPECT_EQ(matches("(?>a|ab)c", "abc"), (Found{}));
  EXPECT_EQ(matches("a{2,3}", "aaaaa"), (Found{"aaa", "aa"}));
  EXPECT_EQ(matches("a{,2}b", "aaab"), (Found{"aab"}));
  EXPECT_EQ(matches("a{x", "a{x"), (Found{"a{x"}));
}

TEST(Regex, LookAround) {
  EXPECT_EQ(matches("\\s+(?!\\S)", "a   b  "), (Found{"  ", "  "}));
  EXPECT_EQ(matches("(?<=a)b", "ab cb"), (Found{"b"}));
  EXPECT_EQ(matches("(?<!a|xy)b", "ab xyb cb"), (Found{"b"}));
  EXPECT_EQ(matches("\\bword\\b", "word sword word"), (Found{"word", "word"}));
}

TEST(Regex, LinesAndEnds) {
  EXPECT_EQ(matches("^a", "a\na"), (Found{"a", "a"}));
  EXPECT_EQ(matches("a$", "a\nab"), (Found{"a"}));
  EXPECT_EQ(matches("\\Aa|a\\z", "aaa"), (Found{"a", "a"}));
  EXPECT_EQ(matches(".+", "ab\ncd"), (Found{"ab", "cd"}));
  EXPECT_EQ(matches("(?m:.+)", "ab\ncd"), (Found{"ab\ncd"}));
}

TEST(Regex, ClassesOfUnicode) {
  EXPECT_EQ(matches("\\p{L}+", "Größe 中文!"), (Found{"Größe", "中文"}));
  EXPECT_EQ(matches("[^\\s\\p{L}]+", "a 1½? b"), (Found{"1½?"}));
  EXPECT_EQ(matches("[\\p{L}&&[^a-z]]+", "abCDé"), (Found{"CDé"}));
  EXPECT_EQ(matches("\\p{^L}", "a1"), (Found{"1"}));
  EXPECT_EQ(matches("[[:punct:]]", "a+b!"), (Found{"+", "!"}));
  EXPECT_EQ(matches("\\h+", "xyz12ff"), (Found{"12ff"}));  // hexadecimal digits, not spaces
  EXPECT_EQ(matches("[]a-]+", "a-]b"), (Found{"a-]"}));
  EXPECT_EQ(matches("\\x{1F642}|\\u00e9", "é🙂"), (Found{"é", "🙂"}));
}

TEST(Regex, ScriptsAndProperties) {
  const char* const text = "a中々ひカ한жλعבกनÀ🙂ª";
  const std::pair<const char*, Found> scripts[] = {
      {"Han", {"中々"}},    {"Hani", {"中々"}},    {"Hiragana", {"ひ"}},
      {"Katakana", {"カ"}}, {"Hangul", {"한"}},    {"Cyrillic", {"ж"}},
      {"Greek", {"λ"}},     {"Arabic", {"ع"}},     {"Hebrew", {"ב"}},
      {"Thai", {"ก"}},      {"Devanagari", {"न"}}, {"latin", {"a", "À", "ª"}},
      {"Common", {"🙂"}}, {"Old Italic", {}},    {"Emoji_Presentation", {"🙂"}}};
  for (const auto& [name, found] : scripts)
    EXPECT_EQ(matches("\\p{" + std::string(name) + "}+", text), found) << name;
  EXPECT_EQ(matches("[\\p{L}&&[^\\p{Han}]]+", "ab中文cd"), (Found{"ab", "cd"}));
  EXPECT_EQ(matches("\\P{Alphabetic}+", "aⅧ2🅰̀"), (Found{"2", "\u0300"}));
}

TEST(Regex, PosixClasses) {
  const char* const text = "aZ中2²_! \t\u00A0Ⅷⓐ\u0301";
  EXPECT_EQ(matches("[[:alpha:]]+", text), (Found{"aZ中", "Ⅷⓐ"}));
  EXPECT_EQ(matches("[[:alnum:]]+", text), (Found{"aZ中2", "Ⅷⓐ"}));
  EXPECT_EQ(matches("[[:lower:]]", text), (Found{"a", "ⓐ"}));
  EXPECT_EQ(matches("[[:upper:]]", text), (Found{"Z", "Ⅷ"}));
  EXPECT_EQ(matches("[[:digit:]]", text), (Found{"2"}));
  EXPECT_EQ(matches("[[:space:]]+", text), (Found{" \t\u00A0"}));
  EXPECT_EQ(matches("[[:punct:]]+", text), (Found{"_!", "ⓐ"}));  // symbols too
  EXPECT_EQ(matches("[[:word:]]+", text), (Found{"aZ中2", "_", "Ⅷⓐ\u0301"}));
  EXPECT_EQ(matches("[^[:^alpha:]z]+", "az!b"), (Found{"a", "b"}));
  EXPECT_EQ(matches("[[:a1:]]+", "a:1b"), (Found{"a:1"}));  // not a POSIX class: a nested class
}

// Oniguruma uses a separate Latin-1 table for \w outside of a class.
TEST(Regex, WordOutsideAndInsideAClass) {
  EXPECT_EQ(matches("\\w+", "a²½b"), (Found{"a²½b"}));
  EXPECT_EQ(matches("[\\w]+", "a²½b"), (Found{"a", "b"}));
  EXPECT_EQ(matches("\\W", "²!"), (Found{"!"}));
  EXPECT_EQ(matches("\\b.", "a² b"), (Found{"a", " ", "b"}));
  EXPECT_EQ(matches("(?i:\\p{Lu}[\\p{Lu}])", "aa Aa"), (Found{"Aa"}));
}

TEST(Regex, CaseIsIgnoredByFolding) {
  EXPECT_EQ(matches("(?i:'s|'t)", "'S 'ſ 't"), (Found{"'S", "'ſ", "'t"}));
  EXPECT_EQ(matches("a(?i)b|c", "aB C ac"), (Found{"aB", "ac"}));
}

TEST(Regex, EmptyMatchesDoNotRepeat) {
  EXPECT_EQ(matches("x*", "axb"), (Found{"", "x", ""}));
  EXPECT_EQ(matches("", "ab").size(), 3u);
  EXPECT_EQ(matches("(a*)*", "aab"), (Found{"aa", ""}));
}

TEST(Regex, OptionsOfGroups) {
  EXPECT_EQ(matches("(?i)a(?-i:b)", "Ab AB"), (Found{"Ab"}));
  EXPECT_EQ(matches("(?m-m:a.)", "a\nab"), (Found{"ab"}));
  EXPECT_EQ(matches("(?x) a\tb # a comment\n\r c", "a b abc"), (Found{"abc"}));
  EXPECT_EQ(matches("(?x:a b)c#", "abc#"), (Found{"abc#"})) << "the rest is as before";
  EXPECT_EQ(matches("(?x)ab# to the end", "ab"), (Found{"ab"}));
  EXPECT_EQ(matches("a(?#note)b", "ab"), (Found{"ab"}));
  EXPECT_EQ(matches("(?<name>a)b", "ab"), (Found{"ab"}));
}

TEST(Regex, EscapesOfEveryKind) {
  EXPECT_EQ(matches("\\t\\f\\v\\a\\e\\r\\n", "\t\f\v\a\x1b\r\n"), (Found{"\t\f\v\a\x1b\r\n"}));
  EXPECT_EQ(matches("\\x41\\x{e9}\\u00E9\\060\\cA", "A\u00e9\u00e90\x01"),
            (Found{"A\u00e9\u00e90\x01"}));
  EXPECT_EQ(matches("\\x4", "\x04"), (Found{"\x04"}));
  EXPECT_EQ(matches("a\\Z", "a\n"), (Found{"a"}));
  EXPECT_EQ(matches("\\Bb", "ab b"), (Found{"b"}));
  EXPECT_EQ(matches("\\N+", "a\nb"), (Found{"a", "b"}));
  EXPECT_EQ(matches("\\O+", "a\nb"), (Found{"a\nb"}));
  EXPECT_EQ(matches("\\R", "a\r\nb\nc"), (Found{"\r\n", "\n"}));
  EXPECT_EQ(matches("\\D+", "12ab"), (Found{"ab"}));
  EXPECT_EQ(matches("\\H+", "fag"), (Found{"g"}));
  EXPECT_EQ(matches("\\p{Word}+", "a_1 b"), (Found{"a_1", "b"}));
}

TEST(Regex, IntervalsAndClassesInTheirCorners) {
  EXPECT_EQ(matches("a{2,}b", "aaab ab"), (Found{"aaab"}));
  EXPECT_EQ(matches("a{,}", "a{,}"), (Found{"a{,}"}));
  EXPECT_EQ(matches("[a-]+", "b-a"), (Found{"-a"}));
  EXPECT_EQ(matches("[\\d-]+", "a1-2"), (Found{"1-2"}));
  EXPECT_EQ(matches("[a-[b]]+", "ab-c"), (Found{"ab-"}));
  EXPECT_EQ(matches("[a-\\x63]+", "abcd"), (Found{"abc"}));
  EXPECT_EQ(matches("[\\101]", "BA"), (Found{"A"}));
  EXPECT_EQ(matches("[\\b]", "a\bc"), (Found{"\b"}));
  EXPECT_EQ(matches("[[:a1:]]+", "a:1b"), (Found{"a:1"})) << "not the name of a class";
  EXPECT_EQ(matches("[[:{:]]+", "a:{"), (Found{":{"}));
}

TEST(Regex, RejectsUnsupportedSyntax) {
  for (const char* pattern : {"(",
                              ")",
                              "[a",
                              "*a",
                              "a|*",
                              "[z-a]",
                              "\\p{Klingon}",
                              "\\p{L",
                              "(a)\\1",
                              "(?<n>a)\\k<n>",
                              "\\X",
                              "(?u)a",
                              "[[:foo:]]",
                              "[[:Alpha:]]",
                              "[[:han:]]",
                              "a{9999}",
                              "(?=a)*",
                              "\\x{110000}",
                              "a{3,2}",
                              "[]",
                              "+a",
                              "?a",
                              "a\\",
                              "\\G",
                              "\\Ka",
                              "(a)\\g<1>",
                              "\\y",
                              "\\Y",
                              "\\x{41",
                              "\\x{",
                              "\\xz",
                              "\\x/",
                              "\\x:",
                              "\\u00e",
                              "\\uD800",
                              "[\\d-a]",
                              "[a-\\d]",
                              "[[:alpha",
                              "(?x",
                              "(?#",
                              "(?<n",
                              "\\pL"})
    EXPECT_THROW(Regex{pattern}, RegexProblem) << pattern;
  EXPECT_THROW(Regex{std::string(5000, '(') + std::string(5000, ')')}, RegexProblem);
  EXPECT_THROW(Regex{std::string(5000, '[') + "a" + std::string(5000, ']')}, RegexProblem);
  EXPECT_THROW(Regex{"a" + std::string(5000, '*')}, RegexProblem);
  EXPECT_THROW(Regex{"(((a{1000}){1000}){1000})"}, RegexProblem);
}

TEST(Regex, HostilePatternsStayNearLinear) {
  const std::string run(100'000, 'a');
  EXPECT_EQ(matches("(a+)+$|b", run + "!").size(), 0u);
  EXPECT_EQ(matches("(a|aa)+c", run).size(), 0u);
  EXPECT_EQ(matches("\\s+$", std::string(200'000, ' ') + "x").size(), 0u);
  EXPECT_EQ(matches("(a*)*(a*)*c", run).size(), 0u);
}

const char* const kScanned[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

TEST(PieceScanner, EqualsItsRegexOnRandomTexts) {
  const std::vector<std::string> alphabet = {
      "a",    "Z",  "é",      "中",     "1",      "½",    " ",  "  ",    "\n",
      "\r\n", "\t", "\u00A0", "\u3000", "\u0085", "'",    "'s", "'LL",   "'ſ",
      "'r",   "e",  ".",      "!",      "\u0301", "🙂", "_",  "\u200D"};
  std::mt19937 random(7);
  for (const char* pattern : kScanned) {
    const auto scanner = PieceScanner::for_pattern(pattern);
    ASSERT_TRUE(scanner) << pattern;
    const Regex regex(pattern);
    Regex::Scratch scratch;
    for (int i = 0; i < 5000; ++i) {
      std::string text;
      for (unsigned n = random() % 14; n > 0; --n) text += alphabet[random() % alphabet.size()];
      std::vector<TextSpan> pieces, matched;
      scanner->scan(text, 0, static_cast<std::uint32_t>(text.size()), pieces);
      regex.find_all(text, matched, scratch);
      ASSERT_EQ(pieces, matched) << pattern << "\n" << text;
    }
  }
  EXPECT_FALSE(PieceScanner::for_pattern("\\p{L}+"));
}

}  // namespace
}  // namespace counterbeam
