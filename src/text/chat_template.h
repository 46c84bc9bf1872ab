// A model's chat template, which renders a conversation as the text of the prompt, exactly as
// transformers does. Parsed once; const calls are thread-safe.
//
// A prompt can be rendered in pieces that are marked as written by the template (trusted) or taken
// from the conversation (untrusted). The tokenizer recognises control tokens in trusted pieces
// only: a user's "<|im_end|>" stays plain text. docs/chat_templates.md defines what is trusted.
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

// Variables that count as the template's own text: bos_token, eos_token and so on.
using SpecialTokens = std::vector<std::pair<std::string, std::string>>;

struct PromptPiece {
  std::string text;
  bool trusted;
};

class ChatTemplate {
 public:
  // Loads chat_template.jinja, or else chat_template of tokenizer_config.json, which also gives the
  // special tokens. Throws an Error that says what to do if there is no template.
  static ChatTemplate load(const std::filesystem::path& folder);
  // Parses the text of a template. Messages start with `name`.
  static ChatTemplate parse(std::string_view source, std::string name, SpecialTokens tokens = {},
                            const jinja::Limits& limits = {});

  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // `messages` is an array of objects. `args` is an object of further variables: tools, documents,
  // add_generation_prompt, enable_thinking, ... (the first three are always defined).
  std::string render(const Json& messages, const Json& args = Json::object()) const;
  // The same text as alternating trusted and untrusted pieces.
  std::vector<PromptPiece> render_pieces(const Json& messages,
                                         const Json& args = Json::object()) const;

  // Sets the time that strftime_now uses instead of the clock.
  void set_now(const std::tm& now) { now_ = now; }
  const std::string& name() const;
  const std::string& source() const { return source_; }  // as it was parsed
  const SpecialTokens& special_tokens() const { return tokens_; }

 private:
  ChatTemplate(std::unique_ptr<const jinja::Program> program, SpecialTokens tokens,
               const jinja::Limits& limits);
  jinja::Text run(const Json& messages, const Json& args) const;

  std::unique_ptr<const jinja::Program> program_;
  std::string source_;
  SpecialTokens tokens_;
  jinja::Limits limits_;
  std::optional<std::tm> now_;
};

// Parses "2026-01-02T03:04:05", the same with a space instead of the T, or a date alone. Throws
// Error for anything else.
std::tm parse_time(std::string_view iso);

}  // namespace counterbeam
