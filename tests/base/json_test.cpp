#include "base/json.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json_cursor.h"
#include "base/json_fields.h"

namespace counterbeam {
namespace {

std::string message_of(auto work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Json, KeepsOrderAndRejectsDuplicates) {
  EXPECT_EQ(to_line(parse_json(R"({"b": 1, "a": [true, null]})", "x")),
            R"({"b":1,"a":[true,null]})");
  EXPECT_EQ(message_of([] { parse_json(R"({"a": {"b": 1, "b": 2}})", "x"); }),
            "x: key \"b\" occurs twice");
  EXPECT_NO_THROW(parse_json(R"([{"a": 1}, {"a": 1}])", "x"));
  EXPECT_EQ(message_of([] { parse_json(std::string(300, '['), "x"); }),
            "x: nested deeper than 256 levels");
  EXPECT_NO_THROW(parse_json(std::string(256, '[') + std::string(256, ']'), "x"));
  EXPECT_EQ(to_line("a\xff"), "\"a\xef\xbf\xbd\"");
}

// Found by comparison with the pull parser: the rest used to be ignored.
TEST(Json, AZeroByteIsNotTheEnd) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {"{}\0"sv, "{}\0 more"sv, "\0{}"sv, "[1,\0 2]"sv})
    EXPECT_NE(message_of([&] { parse_json(text, "x"); }).find("x: not valid JSON: byte "),
              std::string::npos);
}

// A quadratic reader would take minutes.
TEST(Json, ReadsManySmallPartsInLinearTime) {
  const auto parts = [](int count) {
    std::string text = "{\"last\": 0";
    for (int i = 0; i < count; ++i) text += fmt::format(",\"{}\":{{\"\":[]}}", i);
    return text + "}";
  };
  const Json json = parse_json(parts(200'000), "x");
  EXPECT_EQ(json.size(), 200'001u);
  EXPECT_EQ(json.back(), Json::parse("{\"\":[]}"));
}

TEST(JsonFields, ReadsTypesAndRanges) {
  const Json json = parse_json(R"({"n": 7, "x": 0.5, "s": "t", "b": true, "o": {"k": 1}, "z": null,
                                   "a": [1]})",
                               "x");
  const JsonFields fields(json, "f.json");
  EXPECT_EQ(fields.integer("n", 0, 10), 7);
  EXPECT_EQ(fields.number("x", 0, 1), 0.5);
  EXPECT_EQ(fields.number("n", 0, 10), 7.0);
  EXPECT_EQ(fields.string("s"), "t");
  EXPECT_EQ(fields.boolean("b"), true);
  EXPECT_EQ(fields.object("o")->integer("k", 0, 1), 1);
  EXPECT_EQ(fields.integer("absent", 0, 1), std::nullopt);
  EXPECT_EQ(fields.integer("z", 0, 1), std::nullopt);
  EXPECT_TRUE(fields.mentions("z"));
  EXPECT_FALSE(fields.has("z"));
  EXPECT_EQ(fields.array("a")->size(), 1u);
  EXPECT_EQ(message_of([&] { fields.integer("n", 8, 9); }),
            "f.json: n 7 is not a whole number from 8 to 9");
  EXPECT_EQ(message_of([&] { fields.object("o")->string("k"); }), "f.json: o.k 1 is not a string");
  EXPECT_EQ(message_of([&] { fields.array("o"); }), "f.json: o {...} is not an array");
}

TEST(JsonFields, EveryWrongMemberIsNamed) {
  const Json json = parse_json(
      R"({"half": 1.5, "huge": 18446744073709551615, "low": -1, "text": "t", "list": [1], "flag": true})",
      "x");
  const JsonFields fields(json, "f.json", "part.");
  EXPECT_EQ(message_of([&] { fields.integer("half", 0, 9); }),
            "f.json: part.half 1.5 is not a whole number from 0 to 9");
  EXPECT_EQ(message_of([&] { fields.integer("huge", 0, 9); }),
            "f.json: part.huge 18446744073709551615 is not a whole number from 0 to 9");
  EXPECT_EQ(message_of([&] { fields.integer("text", 0, 9); }),
            "f.json: part.text \"t\" is not a whole number from 0 to 9");
  EXPECT_EQ(message_of([&] { fields.integer("low", -9, -2); }),
            "f.json: part.low -1 is not a whole number from -9 to -2");
  EXPECT_EQ(message_of([&] { fields.number("text", 0, 9); }),
            "f.json: part.text \"t\" is not a number above 0 and at most 9");
  EXPECT_EQ(message_of([&] { fields.number("low", 0, 9); }),
            "f.json: part.low -1 is not a number above 0 and at most 9");
  EXPECT_EQ(message_of([&] { fields.number("half", 0, 1); }),
            "f.json: part.half 1.5 is not a number above 0 and at most 1");
  EXPECT_EQ(message_of([&] { fields.boolean("text"); }),
            "f.json: part.text \"t\" is not true or false");
  EXPECT_EQ(message_of([&] { fields.string("list"); }), "f.json: part.list [...] is not a string");
  EXPECT_EQ(message_of([&] { fields.object("flag"); }), "f.json: part.flag true is not an object");
  EXPECT_EQ(message_of([&] { fields.wrong("absent", "is needed"); }),
            "f.json: part.absent null is needed");
  EXPECT_EQ(fields.number("absent", 0, 1), std::nullopt);
  EXPECT_EQ(fields.boolean("absent"), std::nullopt);
  EXPECT_EQ(fields.string("absent"), std::nullopt);
  EXPECT_EQ(fields.object("absent"), std::nullopt);
  EXPECT_EQ(fields.array("absent"), nullptr);
}

TEST(JsonCursor, WalksNestedValues) {
  JsonCursor cursor(
      R"( {"a": [1, 2, 3], "skip": [{"x": [-1.5e3, true, null, "\n"]}], "\u20ac\ud83d\ude00": "v"} )",
      "x", "mend it");
  std::vector<std::uint64_t> numbers;
  std::string last;
  cursor.object("x", [&](const std::string& key) {
    if (key == "a")
      cursor.array("a", [&] { numbers.push_back(cursor.unsigned_integer("n")); });
    else if (key == "skip")
      cursor.skip();
    else
      last = key + cursor.string("s");
  });
  cursor.end();
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(last, "\xe2\x82\xac\xf0\x9f\x98\x80v");
}

TEST(JsonCursor, ReadsTheWholeRangeOfNumbers) {
  EXPECT_EQ(JsonCursor("18446744073709551615", "x", "").unsigned_integer("n"), ~std::uint64_t{0});
  EXPECT_EQ(JsonCursor("0", "x", "").unsigned_integer("n"), 0u);
  EXPECT_EQ(
      message_of([] { JsonCursor("18446744073709551616", "x", "mend it").unsigned_integer("n"); }),
      "x: byte 0: n must be a whole number from 0 to 2^64 - 1, found \"18446744073709551616\"; "
      "mend it");
  EXPECT_THROW(JsonCursor("184467440737095516150", "x", "").unsigned_integer("n"), Error);
  EXPECT_THROW(JsonCursor("1844674407370955161500", "x", "").unsigned_integer("n"), Error);
}

TEST(JsonCursor, WhiteSpaceAndBrokenEscapes) {
  EXPECT_EQ(JsonCursor("\r\n\t 7", "x", "").unsigned_integer("n"), 7u);
  for (const char* text : {R"("\u12")", R"("\u12)", R"("\u12g4")", R"("\ud83d\u0041")",
                           R"("\ud83d\uffff")", R"("\ude00")", R"("\ud83d")", R"("\x")"})
    EXPECT_THROW(JsonCursor(text, "x", "").string("s"), Error) << text;
  EXPECT_EQ(JsonCursor(R"("\ue000")", "x", "").string("s"), "\xee\x80\x80");
}

}  // namespace
}  // namespace counterbeam
