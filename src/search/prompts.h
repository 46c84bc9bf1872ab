// The three prompts (base, positive, negative) that a question becomes: rendered by the model's own
// chat template, and encoded so that what a user writes never becomes a control token.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "counterbeam/counterbeam.h"
#include "search/contexts.h"

namespace counterbeam {

class ChatTemplate;
class Tokenizer;

// Token ids of the three prompts. Without contrast, positive and negative are empty. In a one-sided
// contrast the side that is left out is the base prompt; nothing is computed for it.
struct Prompts {
  std::vector<TokenId> base, positive, negative;
  bool contrast() const { return !positive.empty(); }
};

struct Question {
  std::string text;                       // the user's message that is to be answered
  std::string system{};                   // empty: none
  bool raw = false;                       // no chat template: the text itself is continued
  std::string template_arguments = "{}";  // JSON; what else the template sees: enable_thinking, ...
  std::vector<Message> history{};         // earlier turns, between the system message and the text
  // Where the chat template refuses or drops a system message, and for raw questions: put it before
  // the first message of the user, as with_system() does.
  bool system_as_user = false;
  // Where its answers stop, besides the model's end tokens (search/stops.h).
  std::vector<std::string> stop{};
  std::vector<TokenId> stop_ids{};
  std::string name{};            // of the user, where the template shows it
  std::vector<Message> later{};  // turns after the text
  // The last of the later turns is the beginning of the answer, which is continued, white space at
  // its end included.
  bool continue_last = false;
  bool generation_prompt = true;  // the template opens the assistant's turn
  // Raw questions: the prompt as ids, in place of the text. Contexts are encoded by themselves and
  // appended.
  std::vector<TokenId> ids{};
  bool special_in_text = false;  // raw questions: control tokens spelled out in the text are read
};

// The system message, a blank line, the question.
std::string with_system(std::string_view system, std::string_view question);

// A conversation as a question: a leading system message, earlier turns, and the user's message at
// the end. Error where there is no message, the last is not the user's, or a role is not known.
// With `later_turns` the last message of the user is the text, and what follows are later turns.
Question question_of(const std::vector<Message>& messages, bool later_turns = false);

// Renders and encodes the prompts; without a pair only the base prompt, and for an empty context
// the base prompt again. Error when the question is empty, or when the template drops, changes or
// moves what it was given; where that is the system message, the error names the remedies. `chat`
// may be null for raw questions.
Prompts build_prompts(const Question& question, const std::optional<ContextPair>& pair,
                      std::string_view joiner, const ChatTemplate* chat,
                      const Tokenizer& tokenizer);

}  // namespace counterbeam
