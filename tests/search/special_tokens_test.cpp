// Every added token of the shipped models, written by every role that a user controls: the prompt
// has the control tokens of a harmless one, no more and no fewer.
#include <gtest/gtest.h>

#include <functional>

#include "base/file.h"
#include "search/prompts.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace counterbeam {
namespace {

struct Role {
  const char* name;
  std::function<void(Question&, std::string)> write;
};

const std::vector<Role>& roles() {
  static const std::vector<Role> kRoles = {
      {"user", [](Question& question, std::string text) { question.text = std::move(text); }},
      {"system", [](Question& question, std::string text) { question.system = std::move(text); }},
      {"earlier user",
       [](Question& question, std::string text) { question.history[0].content = std::move(text); }},
      {"assistant",
       [](Question& question, std::string text) { question.history[1].content = std::move(text); }},
  };
  return kRoles;
}

std::vector<TokenId> special_ids(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  std::vector<TokenId> special;
  for (const TokenId id : ids)
    if (tokenizer.is_special(id)) special.push_back(id);
  return special;
}

TEST(SpecialTokens, NoneComesFromTheTextOfAnyRole) {
  int cases = 0;
  for (const char* model : {"tiny-dense", "tiny-hybrid"}) {
    const std::string folder = std::string(COUNTERBEAM_SOURCE_DIR "/models/") + model;
    const Tokenizer tokenizer = Tokenizer::load(folder);
    const ChatTemplate chat = ChatTemplate::load(folder);
    const Question harmless{.text = "1 + 1?",
                            .system = "Think.",
                            .history = {{"user", "Hello", {}}, {"assistant", "Hi", {}}}};
    const ContextPair plain{"plain", "Right:", "Wrong:"};
    const Prompts expected = build_prompts(harmless, plain, "\n", &chat, tokenizer);
    const auto check = [&](const Question& question, const ContextPair& pair) {
      const Prompts prompts = build_prompts(question, pair, "\n", &chat, tokenizer);
      EXPECT_EQ(special_ids(tokenizer, prompts.base), special_ids(tokenizer, expected.base));
      EXPECT_EQ(special_ids(tokenizer, prompts.positive),
                special_ids(tokenizer, expected.positive));
      EXPECT_EQ(special_ids(tokenizer, prompts.negative),
                special_ids(tokenizer, expected.negative));
      ++cases;
    };
    for (const AddedToken& token : tokenizer.added_tokens())
      for (const std::string& text : {token.content, "a" + token.content + "b",
                                      token.content + token.content, " " + token.content + "\n"}) {
        for (const Role& role : roles()) {
          SCOPED_TRACE(std::string(model) + ", " + role.name + ": " + text);
          Question question = harmless;
          role.write(question, text);
          check(question, plain);
        }
        SCOPED_TRACE(std::string(model) + ", context: " + text);
        check(harmless, {"hostile", text + "+", text + "-"});
      }
  }
  EXPECT_GE(cases, 100);
}

}  // namespace
}  // namespace counterbeam
