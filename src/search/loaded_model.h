// A model ready to be asked: tokenizer, chat template and engine of one Hugging Face folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "counterbeam/counterbeam.h"
#include "engine/engine.h"
#include "search/prompts.h"
#include "text/tokenizer.h"

namespace counterbeam {

class LoadedModel {
 public:
  // A folder or ORG/NAME; empty: the shipped model.
  static LoadedModel load(const std::string& name, const LoadOptions& options);
  ~LoadedModel();
  LoadedModel(LoadedModel&&) noexcept;
  LoadedModel& operator=(LoadedModel&&) noexcept;

  Engine& engine() const { return *engine_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  const std::string& name() const { return name_; }

  bool has_chat_template() const { return chat_ != nullptr; }

  // The prompts of a question under the contexts that a search with these settings uses.
  Prompts prompts(const Question& question, const Settings& settings) const;
  // The same under a given pair; without one only the base prompt.
  Prompts prompts(const Question& question, const std::optional<ContextPair>& pair,
                  std::string_view joiner) const;

  // The text of an answer: control tokens left out.
  std::string text(std::span<const TokenId> tokens) const;
  // One token for people to look at, control tokens spelled out.
  std::string token_text(TokenId token) const;

 private:
  LoadedModel(std::string name, Tokenizer tokenizer, std::unique_ptr<ChatTemplate> chat,
              std::string chat_error, std::unique_ptr<Engine> engine);

  std::string name_;
  Tokenizer tokenizer_;
  std::unique_ptr<ChatTemplate> chat_;
  std::string chat_error_;  // why there is no chat template
  std::unique_ptr<Engine> engine_;
};

}  // namespace counterbeam
