// The contexts that steer a search: ten named pairs, a neutral control, the user's own; and the
// three prompts (base, positive, negative) that a question becomes under a pair.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "search/settings.h"

namespace counterbeam {

class ChatTemplate;
class Tokenizer;

struct ContextPair {
  std::string_view name;
  std::string positive;
  std::string negative;
};

// The ten pairs of the paper and the neutral control, in its order.
std::span<const ContextPair> named_contexts();

// The pair the settings ask for; nothing for "none". Error lists the names.
std::optional<ContextPair> chosen_contexts(const Settings& settings);

// Token ids of the three prompts. Without contrast, positive and negative are empty.
struct Prompts {
  std::vector<TokenId> base, positive, negative;
  bool contrast() const { return !positive.empty(); }
};

struct Question {
  std::string text;
  std::string system;                     // empty: none
  bool raw = false;                       // no chat template: the text itself is continued
  std::string template_arguments = "{}";  // JSON; more that the template sees: enable_thinking, ...
};

// question + joiner + context; no joiner where the question ends in white space.
std::string with_context(std::string_view question, std::string_view joiner,
                         std::string_view context);

// Renders and encodes the prompts. User text never becomes control tokens. Error when the question
// is empty, or when the template drops, changes or moves what it was given. `chat` may be null for
// raw questions.
Prompts build_prompts(const Question& question, const Settings& settings, const ChatTemplate* chat,
                      const Tokenizer& tokenizer);

}  // namespace counterbeam
