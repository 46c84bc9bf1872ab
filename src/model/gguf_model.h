// A model in one GGUF file, or in the parts of a split one: --model FILE.gguf (docs/formats.md).
#pragma once

#include <filesystem>

#include "model/model_source.h"
#include "tensor/gguf_checkpoint.h"

namespace counterbeam {

class GgufModel : public ModelSource {
 public:
  explicit GgufModel(std::filesystem::path file) : file_(std::move(file)) {}

  // general.name, or the name of the file if it has none or cannot be read.
  std::string name() const override;
  std::string location() const override { return file_.string(); }
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
  ModelFingerprint text_fingerprint_of(const GgufCheckpoint& checkpoint) const;
  GgufCheckpoint open() const { return GgufCheckpoint::open(file_); }

  std::filesystem::path file_;
};

// Whether --model NAME means a GGUF file: by its name, or by its first bytes.
bool is_gguf_name(const std::string& name);

}  // namespace counterbeam
