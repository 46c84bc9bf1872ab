#include "model/gguf_model.h"

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "model/gguf_config.h"
#include "model/gguf_tokenizer.h"
#include "model/gguf_weights.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

// The keys that `wanted` accepts, with their types and values.
template <typename Wanted>
std::string hash_keys(const GgufContent& content, Wanted wanted) {
  Sha256 hash;
  for (const GgufKey& key : content.keys) {
    if (!wanted(key.name)) continue;
    hash.add_field(key.name);
    hash.add_field(key.value.type_name());
    hash.add_field({reinterpret_cast<const char*>(key.value.bytes.data()), key.value.bytes.size()});
  }
  return short_hash(hash);
}

std::string hash_tensors(const GgufCheckpoint& checkpoint) {
  Sha256 hash;
  for (const GgufTensor& tensor : checkpoint.tensors()) {
    hash.add_field(tensor.name);
    hash.add_field(fmt::format("{} {}", name_of(tensor.type), tensor.shape.to_string()));
    add_samples(hash, tensor.data);
    checkpoint.check(tensor.name);
  }
  return short_hash(hash);
}

}  // namespace

std::string GgufModel::name() const {
  try {
    const GgufCheckpoint checkpoint = open();
    const GgufValue* value = checkpoint.metadata().find("general.name");
    const auto given = value ? value->string() : std::nullopt;
    if (given && !given->empty() && is_valid_utf8(*given)) return std::string(*given);
  } catch (const Error&) {
    // Whoever reads a part gets the message.
  }
  return file_.stem().string();
}

ModelFingerprint GgufModel::fingerprint() const {
  const GgufCheckpoint checkpoint = open();
  ModelFingerprint fingerprint = text_fingerprint_of(checkpoint);
  fingerprint.weights = hash_tensors(checkpoint);
  return fingerprint;
}

ModelFingerprint GgufModel::text_fingerprint() const {
  return text_fingerprint_of(open());
}

ModelFingerprint GgufModel::text_fingerprint_of(const GgufCheckpoint& checkpoint) const {
  const GgufContent& content = checkpoint.metadata();
  const auto is_template = [](std::string_view key) {
    return key.starts_with("tokenizer.chat_template");
  };
  const auto is_tokenizer = [&](std::string_view key) {
    return key.starts_with("tokenizer.") && !is_template(key);
  };
  // How the tensors are divided into files does not matter.
  const auto is_config = [&](std::string_view key) {
    return !key.starts_with("tokenizer.") && !key.starts_with("split.");
  };
  return {.config = hash_keys(content, is_config),
          .tokenizer = hash_keys(content, is_tokenizer),
          .chat_template = hash_keys(content, is_template),
          .weights = "elsewhere"};
}

ModelConfig GgufModel::config() const {
  const GgufCheckpoint checkpoint = open();
  ModelConfig config = read_gguf_config(checkpoint);
  config.eos = gguf_end_tokens(checkpoint);
  return config;
}

std::vector<TokenId> GgufModel::eos(const ModelConfig& config,
                                    std::optional<TokenId> tokenizer_eos) const {
  std::vector<TokenId> ids = config.eos;
  if (tokenizer_eos) ids.push_back(*tokenizer_eos);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

bool GgufModel::has_tokenizer() const {
  const GgufCheckpoint checkpoint = open();
  const GgufValue* model = checkpoint.metadata().find("tokenizer.ggml.model");
  const auto name = model ? model->string() : std::nullopt;
  return model != nullptr && name != "none" && name != "no_vocab";
}

Tokenizer GgufModel::tokenizer() const {
  return read_gguf_tokenizer(open());
}

ChatTemplate GgufModel::chat_template() const {
  return read_gguf_template(open());
}

std::unique_ptr<StoredWeights> GgufModel::weights(const ModelConfig& config,
                                                  LoadProgress progress) const {
  return std::make_unique<GgufWeights>(open(), config, std::move(progress));
}

bool is_gguf_name(const std::string& name) {
  std::error_code error;
  if (name.empty() || fs::is_directory(name, error)) return false;
  if (name.ends_with(".gguf")) return true;
  if (!fs::is_regular_file(name, error)) return false;
  char start[4] = {};
  std::ifstream(name, std::ios::binary).read(start, sizeof start);
  return std::string_view(start, sizeof start) == "GGUF";
}

}  // namespace counterbeam
