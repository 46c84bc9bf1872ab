// A model ready to be asked: tokenizer, chat template and engine of one model source.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "counterbeam/counterbeam.h"
#include "engine/engine.h"
#include "model/model_source.h"
#include "search/prompts.h"

namespace counterbeam {

class LoadedModel {
 public:
  // `name` as open_model() takes it.
  static LoadedModel load(const std::string& name, const LoadOptions& options);
  ~LoadedModel();
  LoadedModel(LoadedModel&&) noexcept;
  LoadedModel& operator=(LoadedModel&&) noexcept;

  Engine& engine() const { return *engine_; }
  const Tokenizer& tokenizer() const { return *parts_.tokenizer; }
  const std::string& name() const { return name_; }
  const ModelSource& source() const { return *source_; }
  // Computed when it is first asked for. Not thread-safe.
  const ModelFingerprint& fingerprint() const;
  bool ships() const { return ships_; }  // one of the small models that ship with the program

  // How the chat template ends a turn. EngineInfo::eos holds that token unless the model was loaded
  // with LoadOptions::stop_at "eos".
  const TurnEnd& turn_end() const { return parts_.turn_end; }

  // What may be wrong with the model, one line each; it was loaded all the same.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // The first weight that is NaN or infinite, as "tensor NAME, element 7 of 4096, is nan"; empty:
  // none. One of the warnings says so too. Such a weight may change answers and leave them finite.
  const std::string& non_finite_weight() const { return non_finite_weight_; }

  bool has_chat_template() const { return parts_.chat_template.has_value(); }
  const ChatTemplate* chat_template() const {  // null: there is none
    return parts_.chat_template ? &*parts_.chat_template : nullptr;
  }
  const std::string& chat_error() const { return parts_.chat_error; }  // why there is none
  const ModelConfig& config() const { return parts_.config; }

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
  LoadedModel(std::unique_ptr<ModelSource> source, ModelParts parts,
              std::unique_ptr<Engine> engine);

  std::unique_ptr<ModelSource> source_;
  mutable std::optional<ModelFingerprint> fingerprint_;
  std::string name_;
  bool ships_;
  ModelParts parts_;  // always with a tokenizer
  std::vector<std::string> warnings_;
  std::string non_finite_weight_{};
  std::unique_ptr<Engine> engine_;
};

}  // namespace counterbeam
