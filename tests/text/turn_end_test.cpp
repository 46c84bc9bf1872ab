// The end of a turn as templates of every kind write it.
#include "text/turn_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "base/file.h"
#include "support/shared_folder.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::shared_folder;

// Plain letters, and these added tokens from id 1000 on.
Tokenizer tokenizer_with(const std::set<std::string>& added) {
  Json vocab = Json::object();
  TokenId id = 0;
  for (const char* letter : {"Ġ", "Ċ", ".", ":", ",", "#", "[", "]", "/", "<", ">", "|", "-", "_"})
    vocab[letter] = id++;
  for (char c = '0'; c <= 'z'; ++c)
    if (std::isalnum(static_cast<unsigned char>(c))) vocab[std::string(1, c)] = id++;
  Json tokens = Json::array();
  id = 1000;
  for (const std::string& content : added)
    tokens.push_back({{"id", id++}, {"content", content}, {"special", true}});
  const Json json = {{"added_tokens", tokens},
                     {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
                     {"decoder", {{"type", "ByteLevel"}}},
                     {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}}}};
  return Tokenizer::parse(json.dump(), "tokenizer.json", "", "");
}

struct Case {
  const char* name;
  const char* source;
  const char* end;   // empty: none
  const char* note;  // part of it, where there is none
};

class TurnEndCases : public ::testing::TestWithParam<Case> {};

TEST_P(TurnEndCases, FindsTheTokenOrSaysWhyNot) {
  const Tokenizer tokenizer = tokenizer_with(
      {"<|start|>", "<|end|>", "<|user|>", "<|assistant|>", "<s>", "</s>", "<think>", "</think>"});
  const ChatTemplate chat =
      ChatTemplate::parse(GetParam().source, "t", {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
  const TurnEnd end = find_turn_end(chat, tokenizer);
  EXPECT_EQ(end.text, GetParam().end) << end.note;
  EXPECT_EQ(end.token, tokenizer.find(GetParam().end));
  EXPECT_EQ(end.note.empty(), end.token.has_value());
  EXPECT_THAT(end.note, HasSubstr(GetParam().note));
}

#define EACH(body) "{% for m in messages %}" body "{% endfor %}"
#define ASK(text) "{% if add_generation_prompt %}" text "{% endif %}"

INSTANTIATE_TEST_SUITE_P(
    All, TurnEndCases,
    ::testing::Values(
        Case{"chatml",
             EACH("<|start|>{{ m.role }}\n{{ m.content }}<|end|>\n") ASK("<|start|>assistant\n"),
             "<|end|>", ""},
        Case{"strips_the_content", EACH("<|start|>{{ m.role }}\n{{ m.content | trim }}<|end|>"),
             "<|end|>", ""},
        Case{"white_space_first", EACH("<|start|>{{ m.role }}\n{{ m.content }} \n<|end|>"),
             "<|end|>", ""},
        Case{"instructions",
             "{{ bos_token }}" EACH("{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
                                    "{% else %} {{ m.content }} {{ eos_token }}{% endif %}"),
             "</s>", ""},
        Case{"begin_again_before_every_question",
             EACH("{% if m.role == 'user' %}{{ bos_token }}[INST] {{ m.content }} [/INST]"
                  "{% else %} {{ m.content }} {{ eos_token }}{% endif %}"),
             "</s>", ""},
        Case{"plain_headers_after_the_end",
             EACH("### {{ m.role }}: {{ m.content }}{{ eos_token }}") ASK("### assistant: "),
             "</s>", ""},
        Case{"fixed_system_message",
             "<|start|>system\nBe brief.<|end|>\n" EACH(
                 "{% if m.role != 'system' %}<|start|>{{ m.role }}\n{{ m.content }}<|end|>\n"
                 "{% endif %}") ASK("<|start|>assistant\n"),
             "<|end|>", ""},
        Case{"alternating_roles_only",
             EACH("{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
                  "{{ raise_exception('roles must alternate') }}{% endif %}"
                  "<|start|>{{ m.content }}<|end|>"),
             "<|end|>", ""},
        Case{"empty_thoughts",
             EACH("<|start|>{{ m.role }}\n{% if m.role == 'assistant' %}<think>\n\n</think>\n\n"
                  "{% endif %}{{ m.content.split('</think>')[-1] }}<|end|>\n")
                 ASK("<|start|>assistant\n<think>\n"),
             "<|end|>", ""},
        Case{"always_asks_for_an_answer",
             EACH("<|start|>{{ m.role }}\n{{ m.content }}<|end|>\n") "<|start|>assistant\n",
             "<|end|>", ""},
        Case{"nothing_follows", EACH("<|{{ m.role }}|>{{ m.content }}"), "",
             "writes nothing after"},
        Case{"a_line_follows", EACH("{{ m.role }}: {{ m.content }}\n\n"), "",
             "writes nothing after"},
        Case{"words_follow", EACH("{{ m.role }}: {{ m.content }} and so on."), "",
             "writes \" and so on.\" after an assistant's message"},
        Case{"refuses", "{{ raise_exception('only one message') }}", "", "only one message"},
        Case{"drops_the_answer", EACH("{% if m.role == 'user' %}{{ m.content }}{% endif %}<|end|>"),
             "", "drops or changes"},
        Case{"starts_the_next_turn_always",
             EACH("<|start|>{{ m.role }}\n{{ m.content }}") "<|start|>", "", "turns start with it"},
        Case{"starts_an_answer_always", EACH("<|{{ m.role }}|>{{ m.content }}") "<|assistant|>", "",
             "turns start with it"},
        Case{"closes_thoughts_too",
             EACH("<|start|>{{ m.role }}\n{% if m.thinking %}{{ m.thinking }}<|end|>{% endif %}"
                  "{{ m.content }}<|end|>"),
             "", "after its thoughts"},
        Case{
            "ends_all_but_the_last",
            EACH(
                "<|start|>{{ m.role }}\n{{ m.content }}{% if not loop.last %}<|end|>\n{% endif %}"),
            "<|end|>", ""},
        Case{"nothing_between_but_the_next_turn",
             "<s>Be brief." EACH("<|{{ m.role }}|>\n{{ m.content }}"), "", "writes nothing after"},
        Case{"separates_turns_by_lines_alone",
             EACH("{{ m.role }}: {{ m.content }}{% if not loop.last %}\n\n{% endif %}"), "",
             "writes nothing after"},
        Case{"the_token_comes_from_the_messages", EACH("{{ m.role }}{{ m.content }}{{ m.end }}"),
             "", "writes nothing after"}),
    [](const auto& each) { return std::string(each.param.name); });

// A content that looks like the end is not the end.
TEST(TurnEnd, OnlyTextOfTheTemplateCounts) {
  const Tokenizer tokenizer = tokenizer_with({"user"});
  const ChatTemplate chat = ChatTemplate::parse(
      "{% for m in messages %}{{ m.content }}{{ messages[0].role }}{% endfor %}", "t");
  EXPECT_FALSE(find_turn_end(chat, tokenizer).token);
}

TEST(TurnEnd, QwenEndsTurnsWithoutItsEndToken) {
  const fs::path fixtures = shared_folder() / "fixtures";
  CB_NEEDS_SHARED(fixtures / "tokenizers/qwen2/tokenizer.json");
  const Tokenizer tokenizer = Tokenizer::load(fixtures / "tokenizers/qwen2");
  for (const char* name : {"Qwen-Qwen2.5-7B-Instruct", "Qwen-QwQ-32B", "Qwen-Qwen3-0.6B"}) {
    const fs::path path = fixtures / "chat_templates" / (std::string(name) + ".jinja");
    const TurnEnd end = find_turn_end(ChatTemplate::parse(read_file(path), name), tokenizer);
    EXPECT_EQ(end.token, 151645) << name << ": " << end.note;
    EXPECT_EQ(end.text, "<|im_end|>");
  }
}

// Templates of many models, with everything in them that looks like a control token.
TEST(TurnEnd, PublicTemplates) {
  const fs::path folder = shared_folder() / "fixtures/chat_templates";
  CB_NEEDS_SHARED(folder);
  const std::string deepseek = "<｜end▁of▁sentence｜>";
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"Apriel-1.6-15b-Thinker-fixed", "<|end|>"},  // not after the last message
      {"Bielik-11B-v3.0-Instruct", "<|im_end|>"},
      {"ByteDance-Seed-OSS", "<seed:eos>"},
      {"CohereForAI-c4ai-command-r-plus-tool_use", ""},  // refuses a conversation without tools
      {"CohereForAI-c4ai-command-r7b-12-2024-tool_use", "<|END_RESPONSE|>"},
      {"GLM-4.6", ""},  // writes nothing but the start of the next turn
      {"GigaChat3.1-10B-A1.8B", "<|message_sep|>"},
      {"HuggingFaceTB-SmolLM3-3B", "<|im_end|>"},
      {"Kimi-K2-Instruct", "<|im_end|>"},
      {"Kimi-K3", ""},  // closes thoughts and answers with one token
      {"MiniMax-M1", "<end_of_sentence>"},
      {"MiniMax-M2", "[e~["},
      {"MiniMax-M3", "[e~["},
      {"Mistral-Small-3.2-24B-Instruct-2506", "</s>"},
      {"NVIDIA-Nemotron-Nano-v2", "<SPECIAL_12>"},
      {"Qwen-QwQ-32B", "<|im_end|>"},
      {"Qwen-Qwen2.5-7B-Instruct", "<|im_end|>"},
      {"Qwen-Qwen3-0.6B", "<|im_end|>"},
      {"Qwen3.5-4B", "<|im_end|>"},
      {"Reka-Edge", "<sep>"},
      {"StepFun3.5-Flash", "<|im_end|>"},
      {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B", deepseek},
      {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", deepseek},
      {"deepseek-ai-DeepSeek-V3.2", deepseek},
      {"deepseek-ai-DeepSeek-V4-Flash-0731", deepseek},
      {"deepseek-ai-DeepSeek-V4", deepseek},
      {"google-gemma-4-31B-it", "<turn|>"},
      {"ibm-granite-granite-4.0", "<|end_of_text|>"},
      {"llama-cpp-deepseek-r1", deepseek},
      {"meetkai-functionary-medium-v3.2", "<|eot_id|>"},
      {"meta-llama-Llama-3.1-8B-Instruct", "<|eot_id|>"},
      {"mistralai-Ministral-3-14B-Reasoning-2512", "</s>"},
      {"mistralai-Mistral-Nemo-Instruct-2407", "</s>"},
      {"openbmb-MiniCPM5-1B", "<|im_end|>"},
      {"tencent-Hy3", "<｜hy_eos:opensource｜>"},  // not after the last message
      {"upstage-Solar-Open-100B", ""},             // closes thoughts and answers with one token
  };
  const std::regex control("<(\\||｜)?/?[A-Za-z_][^<>{}'\" ]*>|\\[/?[A-Z_]+\\]");
  for (const auto& [name, text] : expected) {
    const std::string source = read_file(folder / (name + ".jinja"));
    std::set<std::string> added = {"<s>",
                                   "</s>",
                                   "[e~[",
                                   "]~b]",
                                   "<｜hy_eos:opensource｜>",
                                   "<｜hy_User:opensource｜>",
                                   "<｜hy_Assistant:opensource｜>"};
    for (std::sregex_iterator i(source.begin(), source.end(), control), end; i != end; ++i)
      added.insert(i->str());
    const TurnEnd end = find_turn_end(
        ChatTemplate::parse(source, name, {{"bos_token", "<s>"}, {"eos_token", "</s>"}}),
        tokenizer_with(added));
    EXPECT_EQ(end.text, text) << name << ": " << end.note;
  }
}

}  // namespace
}  // namespace counterbeam
