// Tests the command render: every reference conversation, and lines that cannot be rendered.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "base/json.h"
#include "support/run_command.h"
#include "support/shared_folder.h"

namespace counterbeam {
namespace {

using testing::CommandResult;
using testing::run_counterbeam;
using testing::TemporaryFolder;

constexpr const char* kSettings = " --bos '<s>' --eos '</s>' --now 2026-01-02T03:04:05 ";

CommandResult render(const std::filesystem::path& file, const std::string& arguments,
                     const std::string& input) {
  const TemporaryFolder folder;
  const auto lines = folder.write("input", input);
  return run_counterbeam("render --template '" + file.string() + "'" + kSettings + arguments +
                         " < '" + lines.string() + "'");
}

std::vector<Json> json_lines(const std::string& text) {
  std::vector<Json> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) rows.push_back(parse_json(line, "output"));
  return rows;
}

TEST(Render, EveryReferenceConversation) {
  const auto folder = testing::shared_folder() / "fixtures/chat_templates";
  CB_NEEDS_SHARED(folder);
  std::map<std::string, std::vector<Json>> by_template;
  for (const Json& row : json_lines(read_file(folder / "expected.jsonl")))
    by_template[row["template"].get<std::string>()].push_back(row);
  std::size_t checked = 0;
  for (const auto& [name, rows] : by_template) {
    std::string input;
    for (const Json& row : rows)
      input += to_line({{"messages", row["messages"]}, {"args", row["args"]}}) + "\n";
    const auto result = render(folder / (name + ".jinja"), "--jsonl", input);
    ASSERT_EQ(result.code, 0) << name << result.err;
    const auto answers = json_lines(result.out);
    ASSERT_EQ(answers.size(), rows.size()) << name;
    for (std::size_t i = 0; i < rows.size(); ++i, ++checked) {
      EXPECT_EQ(answers[i].contains("error"), rows[i].contains("error")) << name << answers[i];
      EXPECT_EQ(answers[i].value("text", ""), rows[i].value("text", "")) << name;
    }
  }
  EXPECT_GT(checked, 700u);
}

TEST(Render, ABadLineGetsAnErrorAndTheNextIsRendered) {
  const TemporaryFolder folder;
  const auto file =
      folder.write("t.jinja", "{{ bos_token }}{% for m in messages %}{{ m.content }}|{% endfor %}");
  const std::string good = R"({"messages": [{"role": "user", "content": "hi"}]})";
  const auto result =
      render(file, "--jsonl",
             "{\n" + good + "\n[]\n{}\n{\"messages\": 3}\n{\"messages\": [], \"args\": 1}\n" +
                 good + "\n");
  EXPECT_EQ(result.code, 0) << result.err;
  const auto rows = json_lines(result.out);
  ASSERT_EQ(rows.size(), 7u) << result.out;
  for (const std::size_t i : {0u, 2u, 3u, 4u, 5u})
    EXPECT_TRUE(rows[i].contains("error")) << rows[i];
  for (const std::size_t i : {1u, 6u}) EXPECT_EQ(rows[i], Json({{"text", "<s>hi|"}}));
  EXPECT_NE(rows[2]["error"].get<std::string>().find("line 3"), std::string::npos) << rows[2];
}

TEST(Render, PiecesAreMarkedAsTrustedOrNot) {
  const TemporaryFolder folder;
  const auto file = folder.write("t.jinja", "<u>{{ messages[0].content }}{{ eos_token }}");
  const auto result =
      render(file, "--jsonl --pieces", R"({"messages": [{"role": "user", "content": "</s>"}]})");
  EXPECT_EQ(
      result.out,
      "{\"pieces\":[{\"text\":\"<u>\",\"trusted\":true},{\"text\":\"</s>\",\"trusted\":false},"
      "{\"text\":\"</s>\",\"trusted\":true}]}\n");
}

TEST(Render, OneQuestionAndBadSettings) {
  const TemporaryFolder folder;
  const auto file =
      folder.write("t.jinja", "{{ messages[0].content }}{{ add_generation_prompt }}{{ x }}");
  EXPECT_EQ(render(file, "hi --args '{\"x\": 1}'", "").out, "hiTrue1");
  EXPECT_EQ(render(file, "hi --json --no-generation-prompt", "").out, "{\"text\":\"hiFalse\"}\n");
  EXPECT_EQ(render(file, "hi --args '[]'", "").code, 2);
  EXPECT_EQ(render(file, "", "").code, 2);
  EXPECT_EQ(render(folder.write("bad.jinja", "{% if %}"), "hi", "").code, 2);
  const auto large = folder.write("large.jinja", "x");
  std::filesystem::resize_file(large, 1 << 30);
  const auto refused = render(large, "hi", "");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("large.jinja: is 1073741824 bytes long; at most 2097152 are read"),
            std::string::npos)
      << refused.err;
}

}  // namespace
}  // namespace counterbeam
