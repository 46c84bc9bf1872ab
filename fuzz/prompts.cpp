// Makes prompts of any question, system message and context, separated by zero bytes, with the
// template of a shipped model. Whatever they hold, a prompt has the control tokens of a harmless
// question, no more and no fewer, and the three prompts differ.
#include "search/prompts.h"

#include <cstdint>

#include "scratch_file.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

using namespace counterbeam;

namespace {

constexpr const char* kFolder = COUNTERBEAM_SOURCE_DIR "/models/tiny-dense";

const Tokenizer& tokenizer() {
  static const Tokenizer kTokenizer = Tokenizer::load(kFolder);
  return kTokenizer;
}

std::vector<TokenId> control(const std::vector<TokenId>& ids) {
  std::vector<TokenId> special;
  for (const TokenId id : ids)
    if (tokenizer().is_special(id)) special.push_back(id);
  return special;
}

void check(Question question, const ContextPair& pair) {
  static const ChatTemplate kChat = ChatTemplate::load(kFolder);
  const Prompts prompts = build_prompts(question, pair, "\n", &kChat, tokenizer());
  question.text = "1 + 1?";
  if (!question.system.empty()) question.system = "Think.";
  const Prompts plain = build_prompts(question, std::nullopt, "\n", &kChat, tokenizer());
  for (const auto* ids : {&prompts.base, &prompts.positive, &prompts.negative})
    CB_CHECK(control(*ids) == control(plain.base));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  Question question{.text = std::string(next_part(rest))};
  question.system = next_part(rest);
  const std::string positive(next_part(rest));
  try {
    check(question, {"fuzz", positive, std::string(rest)});
  } catch (const Error&) {
  }
  return 0;
}
