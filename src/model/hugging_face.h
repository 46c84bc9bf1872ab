// A model in a Hugging Face folder: config.json, generation_config.json, tokenizer.json,
// tokenizer_config.json, chat_template.jinja and safetensors files (docs/formats.md).
#pragma once

#include <filesystem>

#include "model/model_source.h"

namespace counterbeam {

class HuggingFaceFolder : public ModelSource {
 public:
  explicit HuggingFaceFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::string name() const override;
  std::string location() const override { return folder_.string(); }
  bool ships() const override;
  ModelFingerprint fingerprint() const override;
  ModelFingerprint text_fingerprint() const override;
  ModelConfig config() const override;
  std::vector<TokenId> eos(const ModelConfig& config,
                           std::optional<TokenId> tokenizer_eos) const override;
  bool has_tokenizer() const override;
  Tokenizer tokenizer() const override;
  ChatTemplate chat_template() const override;
  std::unique_ptr<StoredWeights> weights(const ModelConfig& config,
                                         LoadProgress progress = {}) const override;

 private:
  std::filesystem::path folder_;
};

}  // namespace counterbeam
