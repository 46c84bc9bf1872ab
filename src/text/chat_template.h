// A model's chat template: a conversation in, the prompt's text out, exactly as transformers
// renders it. Parsed once; every const call may run on many threads at once.
//
// A prompt can be had in pieces that say who wrote them: the template (trusted) or the
// conversation. The tokenizer turns control tokens of trusted pieces into control ids and leaves a
// user's
// "<|im_end|>" as the characters it is. docs/chat_templates.md tells what counts as trusted.
#pragma once

#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "text/jinja/budget.h"

namespace counterbeam {

namespace jinja {
struct Program;
class Text;
}  // namespace jinja

// What a template may print as its own: bos_token, eos_token and the like, by name.
using SpecialTokens = std::vector<std::pair<std::string, std::string>>;

struct PromptPiece {
  std::string text;
  bool trusted;
};

class ChatTemplate {
 public:
  // From a model's folder: chat_template.jinja, else chat_template of tokenizer_config.json; the
  // special tokens from the latter. Throws Error that says what to do when there is none.
  static ChatTemplate load(const std::filesystem::path& folder);
  // From the text of a template; `name` opens the messages.
  static ChatTemplate parse(std::string_view source, std::string name, SpecialTokens tokens = {},
                            const jinja::Limits& limits = {});

  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // `messages`: an array of objects. `args`: an object of what else the template sees: tools,
  // documents, add_generation_prompt, enable_thinking, ... (the first three are always defined).
  std::string render(const Json& messages, const Json& args = Json::object()) const;
  // The same text in pieces of alternating trust.
  std::vector<PromptPiece> render_pieces(const Json& messages,
                                         const Json& args = Json::object()) const;

  // The time strftime_now shows; without it, the clock.
  void set_now(const std::tm& now) { now_ = now; }
  const std::string& name() const;
  const SpecialTokens& special_tokens() const { return tokens_; }

 private:
  ChatTemplate(std::unique_ptr<const jinja::Program> program, SpecialTokens tokens,
               const jinja::Limits& limits);
  jinja::Text run(const Json& messages, const Json& args) const;

  std::unique_ptr<const jinja::Program> program_;
  SpecialTokens tokens_;
  jinja::Limits limits_;
  std::optional<std::tm> now_;
};

// "2026-01-02T03:04:05" or with a space, or the date alone. Throws Error for anything else.
std::tm parse_time(std::string_view iso);

}  // namespace counterbeam
