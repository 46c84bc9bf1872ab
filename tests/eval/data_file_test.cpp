// Data files in all accepted formats, and damaged ones: the error names file, row and field.
#include "eval/data_file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "base/error.h"
#include "eval/tasks.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

using testing::TemporaryFolder;

std::string gzipped(const std::string& text) {
  std::string packed(compressBound(text.size()) + 64, '\0');
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

// The error message of loading the file; empty if there is no error.
std::string refusal(const std::string& task, const std::string& name, const std::string& content) {
  const TemporaryFolder folder;
  const auto path = folder.write(name, content);
  try {
    load_task(task, path, 0);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::BadInput);
    const std::string message = error.what();
    EXPECT_NE(message.find(name), std::string::npos) << message;
    return message;
  }
  return "";
}

const std::string kGood = R"({"problem": "1+1?", "answer": "2", "unique_id": "a"})";

TEST(DataFile, ByteOrderMarkCrlfBlankLinesAndGzipAreAccepted) {
  const TemporaryFolder folder;
  const std::string rows = "\xEF\xBB\xBF" + kGood + "\r\n\r\n" +
                           R"({"problem": "2+2?", "answer": "4", "unique_id": "b"})";
  for (const std::string& content :
       {rows, gzipped(rows), gzipped(rows.substr(0, 40)) + gzipped(rows.substr(40))}) {
    const TaskData task = load_task("math500", folder.write("test.jsonl", content), 0);
    ASSERT_EQ(task.problems.size(), 2u);
    EXPECT_EQ(task.problems[0].gold, "2");
    EXPECT_EQ(task.problems[1].question.text, "2+2?");
  }
}

TEST(DataFile, BadRowsNameRowAndField) {
  struct Case {
    std::string task, content;
    std::vector<std::string> parts;
  };
  const std::vector<Case> cases = {
      {"math500", kGood + "\n" + R"({"problem": "x"})", {"row 2", "\"answer\"", "missing"}},
      {"math500", R"({"problem": 7, "answer": "2"})", {"row 1", "\"problem\"", "7", "text"}},
      {"math500", R"({"problem": "x", "answer": 2})", {"row 1", "\"answer\"", "text"}},
      {"math500", R"({"problem": "x", "answer": null})", {"row 1", "\"answer\"", "null"}},
      {"math500", R"({"problem": "x", "answer": ["2"]})", {"row 1", "\"answer\""}},
      {"math500", R"({"problem": " \n", "answer": "2"})", {"row 1", "\"problem\"", "empty"}},
      {"math500", kGood + "\n\n" + kGood, {"row 3", "\"unique_id\"", "\"a\"", "twice", "row 1"}},
      {"math500",
       R"({"problem": "x", "answer": "2", "unique_id": {"a": 1}})",
       {"row 1", "\"unique_id\"", "text"}},
      {"math500",
       R"({"problem": "x", "answer": "2", "unique_id": ""})",
       {"row 1", "\"unique_id\""}},
      {"math500", kGood + "\n[1]", {"row 2", "object"}},
      {"math500", "[" + kGood + "]", {"row 1", "object", "each line"}},
      {"math500", kGood + "\n" + kGood.substr(0, 20), {"row 2", "one line"}},
      {"math500",
       kGood + "\n" + kGood.substr(0, 20) + "\n" + kGood.substr(20),
       {"row 2", "one line"}},
      {"math500", kGood + "\n{'problem': 'x', 'answer': '1'}", {"row 2", "column 2"}},
      {"math500", kGood + "\n{\"problem\": \"\xff\", \"answer\": \"1\"}", {"row 2", "UTF-8"}},
      {"math500", std::string("\xff\xfe{\0", 4), {"UTF-16", "UTF-8"}},
      {"math500", std::string(1 << 24, 'x'), {"row 1", "not valid JSON"}},
      {"math500", std::string(1 << 20, '['), {"row 1", "nested"}},
      {"math500", kGood + "\n" + std::string(8, '\0'), {"row 2", "not valid JSON"}},
      {"math500", R"({"problem": "x", "problem": "y", "answer": "1"})", {"row 1", "twice"}},
      {"math500", "", {"no rows"}},
      {"math500", "\r\n \n", {"no rows"}},
      {"gsm8k", R"({"question": "q", "answer": "5"})", {"row 1", "\"answer\"", "####"}},
      {"gsm8k", R"({"question": "q", "answer": "so ####"})", {"row 1", "\"answer\""}},
      {"gsm8k", R"({"question": "q"})", {"row 1", "\"answer\"", "missing"}},
      {"humaneval",
       R"({"task_id": "a", "prompt": "p", "test": "t"})",
       {"row 1", "\"entry_point\""}},
      {"humaneval",
       R"({"task_id": 1, "prompt": "p", "test": "t", "entry_point": "f"})",
       {"row 1", "\"task_id\"", "text"}},
      {"tiny-choice",
       R"({"id": "a", "question": "q", "choices": "abcd", "answer": 1})",
       {"row 1", "\"choices\""}},
      {"tiny-choice",
       R"({"id": "a", "question": "q", "choices": ["a", 2, "c", "d"], "answer": 1})",
       {"row 1", "\"choices\""}},
      {"tiny-choice",
       R"({"id": "a", "question": "q", "choices": ["a"], "answer": 0})",
       {"row 1", "\"choices\"", "2 to 10"}},
      {"tiny-choice",
       R"({"id": "a", "question": "q", "choices": ["a","b","c","d"], "answer": 4})",
       {"row 1", "\"answer\"", "0 to 3"}},
  };
  for (const Case& bad : cases) {
    const std::string message = refusal(bad.task, "rows.jsonl", bad.content);
    EXPECT_FALSE(message.empty()) << bad.content;
    for (const std::string& part : bad.parts)
      EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  }
}

TEST(DataFile, AnArchiveCutAtAnyByteIsAnError) {
  const std::string packed = gzipped(kGood + "\n");
  for (std::size_t size = 2; size < packed.size(); ++size)
    EXPECT_NE(refusal("math500", "rows.jsonl.gz", packed.substr(0, size)).find("truncated"),
              std::string::npos)
        << size;
  std::string damaged = packed;
  damaged[packed.size() / 2] = static_cast<char>(damaged[packed.size() / 2] ^ 0x55);
  EXPECT_FALSE(refusal("math500", "rows.jsonl.gz", damaged).empty());
}

TEST(DataFile, AnArchiveThatGrowsTooMuchStopsAtTheLimit) {
  const std::string member = gzipped(std::string(std::size_t{32} << 20, ' '));
  std::string bomb;
  for (int i = 0; i < 33; ++i) bomb += member;
  EXPECT_LT(bomb.size(), std::size_t{2} << 20);
  EXPECT_NE(refusal("math500", "rows.jsonl.gz", bomb).find("decompresses to more than 1073741824"),
            std::string::npos);
}

// What a few bytes of gzip may unpack to: rows, columns and fields far beyond any task.
TEST(DataFile, MoreRowsColumnsOrFieldsThanTheLimitAreRefused) {
  const DataLimits limits = {.rows = 3, .columns = 4, .values = 8, .row_bytes = 40};
  const TemporaryFolder folder;
  const auto message = [&](const char* name, const std::string& content) -> std::string {
    const auto path = folder.write(name, gzipped(content));
    try {
      path.extension() == ".csv" ? read_csv(path, limits) : read_json_lines(path, limits);
    } catch (const BadInput& error) {
      EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos);
      return error.what();
    }
    return "";
  };
  const auto times = [](int count, const std::string& line) {
    std::string text;
    for (int i = 0; i < count; ++i) text += line;
    return text;
  };
  const std::string two = "{\"a\":1,\"b\":2}\n", four = "{\"a\":1,\"b\":2,\"c\":3,\"d\":4}\n";
  EXPECT_EQ(message("x.jsonl", times(3, two) + "\n\n"), "");
  EXPECT_NE(message("x.jsonl", times(4, two)).find("more than 3 rows"), std::string::npos);
  EXPECT_EQ(message("x.jsonl", times(2, four)), "");
  EXPECT_NE(message("x.jsonl", times(3, four)).find("more than 8 fields in all"),
            std::string::npos);
  EXPECT_NE(message("x.jsonl", "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5}")
                .find("row 1: has more than 4 fields"),
            std::string::npos);
  EXPECT_NE(message("x.jsonl", "{\"a\":[" + times(30, "0,") + "0]}").find("row 1: has 69 bytes"),
            std::string::npos);
  EXPECT_EQ(message("x.csv", "a,b\n" + times(3, "1,2\n") + "\n\n"), "");
  EXPECT_NE(message("x.csv", "a,b\n" + times(4, "1,2\n")).find("more than 3 rows"),
            std::string::npos);
  EXPECT_EQ(message("x.csv", "a,b,c,d\n" + times(2, ",,,\n")), "");
  EXPECT_NE(message("x.csv", "a,b,c,d\n" + times(3, ",,,\n")).find("more than 8 fields in all"),
            std::string::npos);
  EXPECT_NE(message("x.csv", times(100, ",")).find("row 1: has more than 4 fields"),
            std::string::npos);
  EXPECT_NE(message("x.csv", "a,b\n" + times(100, ",")).find("row 2: has more than 4 fields"),
            std::string::npos);
}

TEST(DataFile, ATableOfCommasIsRefusedAtItsHeader) {
  EXPECT_NE(refusal("gpqa", "g.csv.gz", gzipped(std::string(std::size_t{1} << 24, ',')))
                .find("row 1: has more than 1024 fields"),
            std::string::npos);
}

TEST(DataFile, CsvQuotesLineEndsAndCommas) {
  const TemporaryFolder folder;
  const auto path =
      folder.write("x.csv",
                   "\xEF\xBB\xBF"
                   "a,b,c\r\n\"two\r\nlines, \"\"quoted\"\"\",5\" nails,\r\n,,\"\"\n\nx,y,z");
  const std::vector<DataRow> rows = read_csv(path);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].text("a"), "two\r\nlines, \"quoted\"");
  EXPECT_EQ(rows[0].text("b"), "5\" nails");
  EXPECT_EQ(rows[0].text("c"), "");
  EXPECT_EQ(rows[2].text("c"), "z");
}

TEST(DataFile, ACsvMayBeCompressed) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "g.csv.gz",
      gzipped("Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3\n"
              "q,a,b,c,d\n"));
  EXPECT_EQ(load_task("gpqa", path, 0).problems.size(), 1u);
}

TEST(DataFile, EveryErrorSaysWhatToDo) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"problem": "x"})", "the row has problem"},
      {R"({"problem": 7, "answer": "2"})", "as a JSON string"},
      {R"({"problem": " ", "answer": "2"})", "fill it in, or remove the row"},
      {kGood + "\n" + kGood, "remove one of the rows"},
      {"", "Download it again"},
      {"{", "one JSON object on one line"}};
  for (const auto& [content, remedy] : cases) {
    const std::string message = refusal("math500", "rows.jsonl", content);
    EXPECT_NE(message.find(remedy), std::string::npos) << message;
  }
}

TEST(DataFile, BadCsvNamesTheRow) {
  const std::string header =
      "Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3\n";
  EXPECT_NE(refusal("gpqa", "g.csv", header + "q,a,b,c,d\nq,\"a,b,c,d").find("row 3"),
            std::string::npos);
  EXPECT_NE(refusal("gpqa", "g.csv", header + "q,a,b,c").find("row 2: 4 fields"),
            std::string::npos);
  EXPECT_NE(refusal("gpqa", "g.csv", header + "q, ,b,c,d").find("\"Correct Answer\" is empty"),
            std::string::npos);
  EXPECT_NE(refusal("gpqa", "g.csv", header + "q,a,b,c,\xff").find("\"Incorrect Answer 3\""),
            std::string::npos);
  EXPECT_NE(refusal("gpqa", "g.csv", "Question,Answer\nq,a").find("\"Correct Answer\" is missing"),
            std::string::npos);
  EXPECT_NE(refusal("gpqa", "g.csv", header + "q,\"a\"x,b,c,d").find("row 2: field 2"),
            std::string::npos);
  EXPECT_NE(refusal("gpqa", "g.csv", "Question,Question\nq,a").find("\"Question\" is named twice"),
            std::string::npos);
  EXPECT_NE(refusal("gpqa", "g.csv", std::string("\xff\xfeQ\0", 4)).find("UTF-16"),
            std::string::npos);
  const std::string with_id = "Record ID," + header, row = "r,q,a,b,c,d\n";
  const std::string twice = refusal("gpqa", "g.csv", with_id + row + row);
  for (const char* part : {"row 3", "\"Record ID\"", "\"r\" occurs twice", "row 2"})
    EXPECT_NE(twice.find(part), std::string::npos) << twice;
  EXPECT_NE(refusal("gpqa", "g.csv", header).find("no rows"), std::string::npos);
  EXPECT_NE(refusal("gpqa", "g.csv", "").find("no rows"), std::string::npos);
}

TEST(DataFile, ErrorsOfMissingFilesSayWhereToDownloadTheData) {
  const TemporaryFolder folder;
  const auto message = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message([] { load_task("math500", "", 0); }).find("prm800k"), std::string::npos);
  EXPECT_NE(message([&] { load_task("gpqa", folder.path(), 0); }).find("gpqa_diamond.csv"),
            std::string::npos);
  EXPECT_NE(message([&] { load_task("gsm8k", folder.path() / "no.jsonl", 0); }).find("no.jsonl"),
            std::string::npos);
  EXPECT_NE(message([] { load_task("nonsense", "", 0); }).find("tiny-math"), std::string::npos);
}

}  // namespace
}  // namespace counterbeam
