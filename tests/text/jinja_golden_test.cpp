// Snippets of every feature with their rendering by Jinja2 (the file is written by
// tools/jinja_parity.py). COUNTERBEAM_JINJA_CASES names another file of the same format to run as
// well.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "text/chat_template.h"

namespace counterbeam {
namespace {

std::string render_case(const Json& row) {
  ChatTemplate chat = ChatTemplate::parse(row["template"].get<std::string>(), "case",
                                          {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
  chat.set_now(parse_time("2026-01-02T03:04:05"));
  const std::string text = chat.render(row["messages"], row["args"]);
  std::string joined;
  for (const PromptPiece& piece : chat.render_pieces(row["messages"], row["args"]))
    joined += piece.text;
  EXPECT_EQ(joined, text) << row["template"];
  return text;
}

std::size_t check_file(const std::filesystem::path& path) {
  std::istringstream lines(read_file(path));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const Json row = parse_json(line, path.string());
    if (row.contains("error")) {
      EXPECT_THROW(render_case(row), Error)
          << row["template"] << " was rendered; Jinja2 reports: " << row["error"];
      continue;
    }
    try {
      EXPECT_EQ(render_case(row), row["text"].get<std::string>()) << row["template"];
    } catch (const Error& error) {
      ADD_FAILURE() << row["template"] << ": " << error.what();
    }
  }
  return count;
}

TEST(JinjaGolden, EverySnippetRendersAsInJinja2) {
  const std::filesystem::path source = COUNTERBEAM_SOURCE_DIR;
  EXPECT_GT(check_file(source / "tests/text/golden/jinja_cases.jsonl"), 500u);
}

TEST(JinjaGolden, FileOfTheEnvironmentVariable) {
  const char* named = std::getenv("COUNTERBEAM_JINJA_CASES");
  if (!named) GTEST_SKIP() << "COUNTERBEAM_JINJA_CASES is not set";
  EXPECT_GT(check_file(named), 0u);
}

}  // namespace
}  // namespace counterbeam
