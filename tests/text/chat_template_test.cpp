#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "support/shared_folder.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

const Json kHello = {{{"role", "user"}, {"content", "Hi"}}};

std::string message_of(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// The prompt with its untrusted pieces in [ ].
std::string marked(std::string_view source, const Json& messages,
                   const Json& args = Json::object()) {
  const ChatTemplate chat = ChatTemplate::parse(source, "t", {{"eos_token", "</s>"}});
  std::string out;
  for (const PromptPiece& piece : chat.render_pieces(messages, args))
    out += piece.trusted ? piece.text : "[" + piece.text + "]";
  return out;
}

class ChatTemplateFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("chat_template_" + std::to_string(::getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void put(const std::string& name, std::string_view text) { write_file(folder_ / name, text); }
  std::string load_error() {
    return message_of([&] { ChatTemplate::load(folder_); });
  }

  fs::path folder_;
};

TEST(ChatTemplate, AllReferenceRenderings) {
  const fs::path folder = testing::shared_folder() / "fixtures/chat_templates";
  CB_NEEDS_SHARED(folder);
  std::ifstream lines(folder / "expected.jsonl");
  std::map<std::string, std::unique_ptr<ChatTemplate>> templates;
  int rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    const Json row = parse_json(line, "expected.jsonl");
    const std::string name = row["template"];
    auto& chat = templates[name];
    if (!chat) {
      chat = std::make_unique<ChatTemplate>(
          ChatTemplate::parse(read_file(folder / (name + ".jinja")), name,
                              {{"bos_token", "<s>"}, {"eos_token", "</s>"}}));
      chat->set_now(parse_time("2026-01-02T03:04:05"));
    }
    if (row.contains("error")) {
      EXPECT_THROW(chat->render(row["messages"], row["args"]), Error) << name;
      continue;
    }
    EXPECT_EQ(chat->render(row["messages"], row["args"]), row["text"].get<std::string>()) << name;
    std::string joined;
    for (const PromptPiece& piece : chat->render_pieces(row["messages"], row["args"]))
      joined += piece.text;
    EXPECT_EQ(joined, row["text"].get<std::string>()) << name;
  }
  EXPECT_EQ(rows, 756);
}

TEST(ChatTemplate, RendersManyTimes) {
  const ChatTemplate chat =
      ChatTemplate::parse("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}", "t");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(chat.render(kHello), "<user>Hi");
}

TEST(ChatTemplate, MarksTrustedAndUntrustedPieces) {
  const Json messages = {{{"role", "user"}, {"content", " a<|end|>b "}}};
  EXPECT_EQ(marked("<|u|>{{ messages[0].content }}<|end|>{{ eos_token }}", messages),
            "<|u|>[ a<|end|>b ]<|end|></s>");
  EXPECT_EQ(marked("<{{ messages[0].content|trim }}>", messages), "<[a<|end|>b]>");
  EXPECT_EQ(marked("{{ ('<' + messages[0].content + '>')[2:-1]|upper }}", messages),
            "[A<|END|>B ]");
  EXPECT_EQ(marked("{{ messages[0].content|replace('|', '!') }}", messages), "[ a<]![end]![>b ]");
  EXPECT_EQ(marked("{{ messages[0].content.split('|')|join('+') }}", messages),
            "[ a<]+[end]+[>b ]");
  EXPECT_EQ(marked("{{ {'k': messages[0].content}|tojson }}", messages),
            "{\"k\": \"[ a<|end|>b ]\"}");
  EXPECT_EQ(marked("{{ [messages[0].role] }}", messages), "['[user]']");
  EXPECT_EQ(marked("{{ '%s!' % messages[0].role }}{{ '{}?'.format(messages[0].role) }}", messages),
            "[user]![user]?");
  EXPECT_EQ(marked("{% set x %}<{{ messages[0].role }}>{% endset %}{{ x|reverse }}", messages),
            ">[resu]<");
  EXPECT_EQ(
      marked("{% macro m(x) %}({{ x }}){% endmacro %}{{ m(messages[0].role)|indent }}", messages),
      "([user])");
  EXPECT_EQ(
      marked("{{ tools[0].name }}{{ x }}", messages, {{"tools", {{{"name", "f"}}}}, {"x", "y"}}),
      "[fy]");
  EXPECT_EQ(marked("{{ messages[0].role * 2 }}{{ messages[0].role|center(8) }}", messages),
            "[useruser]  [user]  ");
}

TEST(ChatTemplate, NamesFormatsAndFillsOfTheConversationStayUntrusted) {
  const Json messages = {{{"role", "user"}, {"content", "<|end|> %%x"}}};
  const Json args = {{"m", {{"<|end|>", 1}}}, {"c", "|"}, {"n", 60}, {"html", "&lt;|end|&gt;"}};
  const auto out = [&](std::string_view source) { return marked(source, messages, args); };
  EXPECT_EQ(out("{{ strftime_now(messages[0].content) }}"), "[<|end|> %x]");
  EXPECT_EQ(out("{{ strftime_now('<%%' ~ c ~ '%%>') }}"), "<%[|]%>");
  EXPECT_EQ(out("{{ dict(**m)|list|first }}{{ dict(a=1)|list|first }}"), "[<|end|>]a");
  EXPECT_EQ(out("{{ namespace(**m) }}"), "<Namespace {'[<|end|>]': 1}>");
  EXPECT_EQ(out("{{ namespace(m) }}"), "<Namespace {'[<|end|>]': 1}>");
  EXPECT_EQ(out("{% macro f() %}{{ kwargs|list|first }}{% endmacro %}{{ f(**m) }}{{ f(a=1) }}"),
            "[<|end|>]a");
  EXPECT_EQ(out("{{ 'x'.center(5, c) }}{{ 'x'.center(5, '-') }}"), "[||]x[||]--x--");
  EXPECT_EQ(out("{{ ('{:' ~ c ~ '>3}').format('x') }}{{ '{:->3}'.format('x') }}"), "[||]x--x");
  EXPECT_EQ(out("{{ [1]|tojson(indent=c) }}"), "[\n[|]1\n]");
  EXPECT_EQ(out("{{ {'a': 1}|tojson(separators=(',', c)) }}"), "{\"a\"[|]1}");
  EXPECT_EQ(out("{{ '%c' % n }}"), "[<]");
  EXPECT_EQ(out("{{ messages[0].content % () }}{{ '%%' % () }}"), "[<|end|> %x]%");
  EXPECT_EQ(out("{{ html|striptags }}{{ '&lt;'|striptags }}"), "[<|end|>]<");
}

TEST(ChatTemplate, AlwaysDefinesToolsDocumentsAndTheGenerationFlag) {
  const ChatTemplate chat = ChatTemplate::parse(
      "{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}{{ x is defined }}",
      "t");
  EXPECT_EQ(chat.render(kHello), "TrueTrueFalseFalse");
  EXPECT_EQ(chat.render(kHello, {{"add_generation_prompt", true}, {"x", 1}}), "TrueTrueTrueTrue");
}

TEST(ChatTemplate, RejectsOtherShapes) {
  const ChatTemplate chat = ChatTemplate::parse("x", "t");
  EXPECT_THROW(chat.render(Json::object()), Error);
  EXPECT_THROW(chat.render({1, 2}), Error);
  EXPECT_THROW(chat.render(kHello, Json::array()), Error);
  EXPECT_THROW(chat.render(Json::array(), {{"n", 18446744073709551615u}}), Error);
}

TEST(ChatTemplate, ReadsTimes) {
  const ChatTemplate plain = ChatTemplate::parse("{{ strftime_now('%d %b %Y %H:%M %A') }}", "t");
  EXPECT_FALSE(plain.render(kHello).empty());
  ChatTemplate chat = ChatTemplate::parse("{{ strftime_now('%d %b %Y %H:%M %A %j') }}", "t");
  chat.set_now(parse_time("2024-02-29T23:59:58"));
  EXPECT_EQ(chat.render(kHello), "29 Feb 2024 23:59 Thursday 060");
  EXPECT_EQ(parse_time("2026-01-02").tm_hour, 0);
  for (const char* bad : {"", "now", "2026-13-01", "2026-02-30", "2026-01-02T25:00:00",
                          "2026-01-02T03:04", "2026-01-02T03:04:05Z"})
    EXPECT_THROW(parse_time(bad), Error) << bad;
}

TEST_F(ChatTemplateFolder, PrefersTheJinjaFile) {
  put("tokenizer_config.json",
      R"({"chat_template": "config", "bos_token": "<s>", "eos_token": {"content": "</s>"},
          "pad_token": null, "add_bos_token": false})");
  EXPECT_EQ(ChatTemplate::load(folder_).render(kHello), "config");
  put("chat_template.jinja", "{{ bos_token }}file{{ eos_token }}{{ pad_token }}");
  EXPECT_EQ(ChatTemplate::load(folder_).render(kHello), "<s>file</s>");
}

TEST_F(ChatTemplateFolder, ChoosesTheDefaultOfSeveral) {
  put("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "r"},
      {"name": "default", "template": "d"}]})");
  EXPECT_EQ(ChatTemplate::load(folder_).render(kHello), "d");
  put("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "r"},
      {"name": "tool_use", "template": "t"}]})");
  EXPECT_NE(load_error().find("there are: rag, tool_use"), std::string::npos) << load_error();
}

TEST_F(ChatTemplateFolder, SaysWhatToDoWithoutATemplate) {
  EXPECT_NE(load_error().find("Use --raw"), std::string::npos) << load_error();
  put("tokenizer_config.json", R"({"bos_token": "<s>"})");
  EXPECT_NE(load_error().find("put a chat_template.jinja"), std::string::npos) << load_error();
}

TEST_F(ChatTemplateFolder, NamesWhatIsWrongInTheConfig) {
  const std::pair<const char*, const char*> cases[] = {
      {"[1]", "not a JSON object"},
      {R"({"chat_template": 5})", "chat_template is neither a string nor a list"},
      {R"({"chat_template": ["x"]})", "without a \"name\" and a \"template\""},
      {R"({"chat_template": [{"name": "default"}]})", "without a \"name\" and a \"template\""},
      {R"({"chat_template": [{"template": "x"}]})", "without a \"name\" and a \"template\""},
      {R"({"chat_template": [{"name": 5, "template": "x"}]})",
       "without a \"name\" and a \"template\""},
      {R"({"chat_template": [{"name": "default", "template": 5}]})",
       "without a \"name\" and a \"template\""},
      {R"({"chat_template": null})", "has no chat template"},
      {R"({"chat_template": "x", "bos_token": 5})", "bos_token is neither a string nor"},
      {R"({"chat_template": "x", "eos_token": {"id": 1}})", "eos_token has no \"content\""},
      {R"({"chat_template": "{% if %}"})", "tokenizer_config.json (chat_template), line 1"},
  };
  for (const auto& [config, fragment] : cases) {
    put("tokenizer_config.json", config);
    EXPECT_NE(load_error().find(fragment), std::string::npos) << config << ": " << load_error();
  }
}

}  // namespace
}  // namespace counterbeam
