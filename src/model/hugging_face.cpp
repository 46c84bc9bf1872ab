#include "model/hugging_face.h"

#include "model/checkpoint_weights.h"
#include "model/hub.h"

namespace counterbeam {

std::string HuggingFaceFolder::name() const {
  return model_name(folder_);
}

bool HuggingFaceFolder::ships() const {
  return is_shipped_model(folder_);
}

ModelFingerprint HuggingFaceFolder::fingerprint() const {
  return fingerprint_of(folder_);
}

ModelFingerprint HuggingFaceFolder::text_fingerprint() const {
  return text_fingerprint_of(folder_);
}

ModelConfig HuggingFaceFolder::config() const {
  check_model_folder(folder_);
  return read_config(folder_);
}

std::vector<TokenId> HuggingFaceFolder::eos(const ModelConfig& config,
                                            std::optional<TokenId> tokenizer_eos) const {
  return eos_ids(folder_, config, tokenizer_eos);
}

bool HuggingFaceFolder::has_tokenizer() const {
  std::error_code error;
  return std::filesystem::exists(folder_ / "tokenizer.json", error);
}

Tokenizer HuggingFaceFolder::tokenizer() const {
  return Tokenizer::load(folder_);
}

ChatTemplate HuggingFaceFolder::chat_template() const {
  return ChatTemplate::load(folder_);
}

std::unique_ptr<StoredWeights> HuggingFaceFolder::weights(const ModelConfig& config,
                                                          LoadProgress progress) const {
  return std::make_unique<CheckpointWeights>(Checkpoint::open(folder_), config,
                                             std::move(progress));
}

}  // namespace counterbeam
