// Named context pairs of a user: files, names, and what becomes of them in settings.
#include "search/context_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "search/method_strings.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

using ::testing::HasSubstr;

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const BadInput& error) {
    return error.what();
  }
  return "accepted";
}

ContextBook book_with(const char* content) {
  const testing::TemporaryFolder folder;
  ContextBook book;
  book.add_file(folder.write("pairs.json", content));
  return book;
}

constexpr const char* kTwo =
    R"({"mine": {"positive": "Good, step by step:", "negative": "Bad:"},
        "other": {"negative": "Lazy:", "positive": "Careful:"}})";

TEST(ContextBook, MethodsUseItsNames) {
  const ContextBook book = book_with(kTwo);
  ASSERT_EQ(book.added().size(), 2u);
  const Settings settings = parse_method("cbs:contexts=mine:steer=0.7", book);
  EXPECT_EQ(settings.contexts, "mine");
  EXPECT_EQ(settings.positive, "Good, step by step:");
  EXPECT_EQ(settings.negative, "Bad:");
  EXPECT_EQ(chosen_contexts(settings)->name, "mine");
  EXPECT_EQ(parse_methods("beam,cbs:contexts=other", book)[1].settings.negative, "Lazy:");
  EXPECT_THAT(error_of([&] { parse_method("cbs:contexts=mime", book); }),
              HasSubstr("\"mime\" is not known; allowed: mine, other, reasoning"));
  EXPECT_THAT(error_of([&] { parse_method("cbs:contexts=mime", book); }),
              HasSubstr("did you mean mine?"));
  EXPECT_THAT(error_of([] { parse_method("cbs:contexts=mine"); }), HasSubstr("is not known"));
}

TEST(ContextBook, ResolvedSettingsShowTheTexts) {
  const Json named = to_json(parse_method("cbs:contexts=detail"));
  EXPECT_EQ(named["contexts"], "detail");
  EXPECT_EQ(named["negative"],
            "This is an example for a response that overlooks important details:");
  const Json own = to_json(parse_method("cbs:positive=\"Good:\":negative=\"Bad:\""));
  EXPECT_EQ(own["contexts"], "own");
  EXPECT_EQ(own["positive"], "Good:");
  const Json none = to_json(parse_method("cbs:contexts=none"));
  EXPECT_EQ(none["positive"], "");
}

TEST(ContextBook, ANameBesideTextsMustAgreeWithThem) {
  EXPECT_EQ(parse_method("cbs:contexts=label:positive=a:negative=b").contexts, "label");
  EXPECT_THAT(error_of([] { parse_method("cbs:contexts=detail:positive=a:negative=b"); }),
              HasSubstr("--contexts: detail is given beside --positive and --negative"));
  EXPECT_THAT(error_of([] { parse_method("cbs:contexts=none:positive=a:negative=b"); }),
              HasSubstr("give a named pair or your own, not both"));
}

TEST(ContextBook, TextsThatCannotContrastAreRefused) {
  EXPECT_THAT(error_of([] { parse_method("cbs:positive=a:negative=a"); }),
              HasSubstr("both contexts have the same text"));
  EXPECT_THAT(error_of([] { parse_method("cbs:positive=a:negative=\" \""); }),
              HasSubstr("the negative context is empty"));
  EXPECT_THAT(error_of([] { parse_method("cbs:positive=:negative="); }),
              HasSubstr("cbs:positive: the context is empty"));
}

TEST(ContextBook, BadFilesNameFilePairAndRemedy) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "pairs.json"},
      {"[]", "pairs.json: holds no context pairs; write {\"NAME\""},
      {"{}", "pairs.json: holds no context pairs"},
      {R"({"a": 1})", "pairs.json: \"a\": is 1; give an object"},
      {R"({"a": {"positive": "x"}})", "pairs.json: \"a\": \"negative\" is missing"},
      {R"({"a": {"positive": "x", "negative": 2}})",
       "\"a\": \"negative\" is 2; give it as a string"},
      {R"({"a": {"positive": "x", "negative": "y", "neutral": "z"}})",
       "\"a\": key \"neutral\" is not known"},
      {R"({"a": {"positive": "", "negative": "y"}})", "\"a\": the positive context is empty"},
      {R"({"a": {"positive": "x", "negative": "x"}})", "\"a\": both contexts have the same text"},
      {R"({"detail": {"positive": "x", "negative": "y"}})",
       "\"detail\": detail is a pair that ships with the program; choose another name"},
      {R"({"none": {"positive": "x", "negative": "y"}})", "the name none is reserved"},
      {R"({"own": {"positive": "x", "negative": "y"}})", "the name own is reserved"},
      {R"({"a:b": {"positive": "x", "negative": "y"}})",
       "\"a:b\" cannot be the name of a pair; use letters"},
      {R"({"a": {"positive": "x", "negative": "y"}, "a": {"positive": "x", "negative": "y"}})",
       "pairs.json"},
  };
  for (const auto& [content, message] : cases)
    EXPECT_THAT(error_of([&given = content] { book_with(given); }), HasSubstr(message)) << content;
  EXPECT_THAT(error_of([] { ContextBook().add_file("no-such.json"); }), HasSubstr("no-such.json"));
}

TEST(ContextBook, TwoFilesMayNotShareAName) {
  const testing::TemporaryFolder folder;
  ContextBook book;
  book.add_file(folder.write("one.json", kTwo));
  EXPECT_THAT(error_of([&] { book.add_file(folder.write("two.json", kTwo)); }),
              HasSubstr("two.json: \"mine\": a pair mine was given before"));
}

}  // namespace
}  // namespace counterbeam
