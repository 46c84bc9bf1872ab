// How a chat template ends an answer. Some checkpoints, base models above all, end the turns of a
// chat with a control token that is not their end-of-sequence token. That token is found by
// rendering a conversation of markers and looking at what the template writes after the assistant's
// message.
#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace counterbeam {

struct TurnEnd {
  std::optional<TokenId> token;  // none: the template has no such token
  std::string text;              // the token as it is written
  std::string note;              // why there is none; empty where there is one
};

// The first thing that the template writes after an assistant's message (the last one or, if it
// writes nothing there, one that a question follows), if it is a control token: an added token, in
// text of the template itself. A token that also opens turns, or closes the thoughts before an
// answer, is not taken. Does not throw where the template refuses the conversation; see the note.
TurnEnd find_turn_end(const ChatTemplate& chat, const Tokenizer& tokenizer);

}  // namespace counterbeam
