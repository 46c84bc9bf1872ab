// Prompts: where user text lies in them, and what becomes of a system message that the chat
// template does not take.
#include "search/prompts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace counterbeam {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kChat =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content | trim }}<|im_end|>\n{% endfor "
    "%}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
constexpr const char* kRefusesSystem =
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system role') }}"
    "{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}";
constexpr const char* kDropsSystem =
    "{% for m in messages %}{% if m.role != 'system' %}[{{ m.role }}]{{ m.content }}{% endif %}"
    "{% endfor %}";

const ContextPair kPair{"own", "Good:", "Bad:"};

const Tokenizer& tokenizer() {
  static const Tokenizer kTokenizer =
      Tokenizer::load(std::string(COUNTERBEAM_SOURCE_DIR) + "/models/tiny-dense");
  return kTokenizer;
}

struct Texts {
  std::string base, positive, negative;
};

Texts rendered(const char* source, const Question& question,
               const std::optional<ContextPair>& pair = kPair) {
  const ChatTemplate chat = ChatTemplate::parse(source, "t");
  const Prompts prompts = build_prompts(question, pair, " ", &chat, tokenizer());
  return {tokenizer().decode(prompts.base), tokenizer().decode(prompts.positive),
          tokenizer().decode(prompts.negative)};
}

std::string error_of(const char* source, const Question& question) {
  try {
    rendered(source, question);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "no error";
}

// The question is found by its place, not by its words.
TEST(Prompts, QuestionsThatOccurInTheTemplateAreAsked) {
  for (const char* text :
       {"a", "n", "user", "assistant", "system", "\n", "<|im_start|>", "Zqmarkerqz"}) {
    if (text == std::string("\n")) continue;
    for (const char* system : {"", "a", "user"}) {
      const Texts texts = rendered(kChat, {.text = text, .system = system});
      const std::string opening =
          (*system ? "<|im_start|>system\n" + std::string(system) + "<|im_end|>\n" : "") +
          "<|im_start|>user\n" + text;
      const std::string ending = "<|im_end|>\n<|im_start|>assistant\n";
      EXPECT_EQ(texts.base, opening + ending);
      EXPECT_EQ(texts.positive, opening + " Good:" + ending);
      EXPECT_EQ(texts.negative, opening + " Bad:" + ending);
    }
  }
}

TEST(Prompts, ARoleAfterTheContentIsNotTheQuestion) {
  const char* source =
      "{% for m in messages %}{{ m.role }}({{ m.content }}){{ m.role }}{% endfor %}";
  EXPECT_EQ(rendered(source, {.text = "user"}).positive, "user(user Good:)user");
}

TEST(Prompts, TemplatesMustKeepQuestionAndContext) {
  EXPECT_THAT(error_of("{{ messages[-1].content[:3] }}", {.text = "Why not?"}),
              HasSubstr("drops or changes the question"));
  EXPECT_THAT(error_of("{{ messages[-1].content[:8] }}", {.text = "Why not?"}),
              HasSubstr("drops or changes the context \"Good:\""));
  EXPECT_THAT(error_of("{{ messages[-1].content | length }}: {{ messages[-1].content }}",
                       {.text = "Why not?"}),
              HasSubstr("moves the context \"Good:\" away"));
}

// Templates trim as Python does: no-break, ideographic and other white space too.
TEST(Prompts, UnicodeWhiteSpaceAroundMessagesMayBeTrimmed) {
  const char* source = "{% for m in messages %}{{ m.role[0] }}:{{ m.content | trim }};{% endfor %}";
  for (const std::string space : {"\u00a0", "\u3000", "\u0085", "\x1c", " \u2003\n"}) {
    const Texts texts =
        rendered(source, {.text = space + "Why?" + space, .system = "Be brief." + space});
    EXPECT_EQ(texts.base, "s:Be brief.;u:Why?;");
    EXPECT_TRUE(texts.positive.ends_with("Good:;")) << texts.positive;
  }
  EXPECT_THAT(error_of(source, {.text = "\u00a0"}), HasSubstr("the question is empty"));
}

TEST(Prompts, ATemplateThatLooksAtTheQuestionIsFollowed) {
  const char* source =
      "{% if 'Why' in messages[-1].content %}Explain. {% endif %}{{ messages[-1].content }}!";
  const Texts texts = rendered(source, {.text = "Why not?"});
  EXPECT_EQ(texts.base, "Explain. Why not?!");
  EXPECT_EQ(texts.positive, "Explain. Why not? Good:!");
}

TEST(Prompts, ASystemMessageThatIsNotTakenIsAnErrorWithRemedies) {
  for (const char* system : {"Be brief.", "e"}) {  // "e" occurs in the rest of the prompt
    const Question question{.text = "Why?", .system = system};
    const auto remedies = AllOf(HasSubstr("--system-as-user"), HasSubstr("--system ''"));
    EXPECT_THAT(error_of(kRefusesSystem, question), AllOf(HasSubstr("refuses a system message"),
                                                          HasSubstr("no system role"), remedies));
    EXPECT_THAT(error_of(kDropsSystem, question),
                AllOf(HasSubstr("drops the system message"), remedies));
  }
  EXPECT_EQ(error_of(kRefusesSystem, {.text = "Why?"}), "no error");
}

TEST(Prompts, TheSystemMessageGoesToTheUserWhereAsked) {
  const Question question{.text = "Why?", .system = "Be brief.", .system_as_user = true};
  for (const char* source : {kRefusesSystem, kDropsSystem}) {
    const Texts texts = rendered(source, question);
    EXPECT_EQ(texts.base, "[user]Be brief.\n\nWhy?");
    EXPECT_EQ(texts.negative, "[user]Be brief.\n\nWhy? Bad:");
    Question later = question;
    later.history = {{"user", "Hello"}, {"assistant", "Yes?"}};
    EXPECT_EQ(rendered(source, later).positive,
              "[user]Be brief.\n\nHello[assistant]Yes?[user]Why? Good:");
  }
  // A template that takes system messages gets one.
  EXPECT_THAT(rendered(kChat, question).base, HasSubstr("system\nBe brief.<|im_end|>"));
}

TEST(Prompts, ATemplateThatFailsForAnotherReasonSaysSo) {
  const std::string error = error_of("{{ raise_exception('always') }}", {"Why?", "Be brief."});
  EXPECT_THAT(error, HasSubstr("always"));
  EXPECT_THAT(error, ::testing::Not(HasSubstr("--system")));
}

TEST(Prompts, RawQuestionsTakeASystemMessageWhereAsked) {
  Question question{.text = "Why?", .system = "Be brief.", .raw = true};
  EXPECT_THAT(error_of(kChat, question),
              AllOf(HasSubstr("--raw"), HasSubstr("--system-as-user"), HasSubstr("--system ''")));
  question.system_as_user = true;
  EXPECT_EQ(rendered(kChat, question).base, "Be brief.\n\nWhy?");
  EXPECT_EQ(rendered(kChat, question).positive, "Be brief.\n\nWhy? Good:");
  question.system = "";
  EXPECT_EQ(rendered(kChat, question).base, "Why?");
}

TEST(Prompts, LaterTurnsAndTheBeginningOfAnAnswer) {
  Question question = question_of({{"system", "Be brief."},
                                   {"user", "Hello"},
                                   {"assistant", "Yes?"},
                                   {"user", "Why?"},
                                   {"assistant", "Because of "}},
                                  true);
  EXPECT_EQ(question.text, "Why?");
  EXPECT_EQ(question.history.size(), 2u);
  ASSERT_EQ(question.later.size(), 1u);
  // As a turn of its own, which the template trims and closes.
  const Texts closed = rendered(kChat, question);
  EXPECT_THAT(closed.base,
              HasSubstr("Why?<|im_end|>\n<|im_start|>assistant\nBecause of<|im_end|>"));
  EXPECT_TRUE(closed.base.ends_with("<|im_start|>assistant\n"));
  // As the beginning of the answer: nothing follows it, and its last space is there.
  question.continue_last = true;
  const Texts open = rendered(kChat, question);
  EXPECT_TRUE(open.base.ends_with("<|im_start|>assistant\nBecause of ")) << open.base;
  EXPECT_THAT(open.positive, HasSubstr("Why? Good:<|im_end|>"));
  EXPECT_TRUE(open.positive.ends_with("assistant\nBecause of "));
  // White space alone, in a template that keeps it and in one that trims it.
  question.later.back().content = " ";
  Question blank{.text = "Why?", .later = {{"assistant", " "}}, .continue_last = true};
  EXPECT_EQ(rendered(kRefusesSystem, blank, std::nullopt).base, "[user]Why?[assistant] ");
  EXPECT_TRUE(rendered(kChat, question).base.ends_with("<|im_start|>assistant\n "));
  // As an earlier message reads, and as the template's own words do.
  question.later.back().content = "assistant";
  EXPECT_TRUE(rendered(kChat, question).base.ends_with("<|im_start|>assistant\nassistant"));
  question.later.back().content = "Why?";  // as the question reads
  EXPECT_THAT(rendered(kChat, question).negative, HasSubstr("user\nWhy? Bad:<|im_end|>"));
  EXPECT_THROW(question_of({{"user", "Why?"}, {"assistant", "Because"}}), BadInput);
  EXPECT_THROW(question_of({{"system", "a"}, {"assistant", "b"}}, true), BadInput);
}

TEST(Prompts, NamesReachTheTemplate) {
  constexpr const char* kNames =
      "{% for m in messages %}[{{ m.name or m.role }}]{{ m.content }}{% endfor %}";
  const Question question =
      question_of({{"user", "Hello", "Ada"}, {"assistant", "Yes?"}, {"user", "Why?", "Ada"}});
  EXPECT_EQ(rendered(kNames, question, std::nullopt).base, "[Ada]Hello[assistant]Yes?[Ada]Why?");
}

TEST(Prompts, IdsAreThePromptAsTheyAre) {
  Question question;
  question.raw = true;
  question.ids = {5, 6, 7};
  const Prompts prompts = build_prompts(question, kPair, " ", nullptr, tokenizer());
  EXPECT_EQ(prompts.base, question.ids);
  EXPECT_EQ(tokenizer().decode(std::span(prompts.positive).subspan(3)), " Good:");
  Question special{.text = "<|im_end|>"};
  special.raw = true;
  const std::size_t plain =
      build_prompts(special, std::nullopt, " ", nullptr, tokenizer()).base.size();
  special.special_in_text = true;
  EXPECT_LT(build_prompts(special, std::nullopt, " ", nullptr, tokenizer()).base.size(), plain);
}

}  // namespace
}  // namespace counterbeam
