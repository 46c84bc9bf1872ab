// Identifies a model by its content, wherever it lies: two folders with the same fingerprint give
// the same answers. Cheap for checkpoints of any size, since weights are hashed by samples.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "base/sha256.h"

namespace counterbeam {

// Each is 32 hexadecimal digits of a SHA-256.
struct ModelFingerprint {
  std::string config;         // config.json and generation_config.json, or keys of a GGUF file
  std::string tokenizer;      // tokenizer.json and tokenizer_config.json, or keys
  std::string chat_template;  // chat_template.jinja, or keys
  // Every tensor's name, dtype and shape, and eight samples of 4 KiB of its data (all of it if it
  // is smaller). How tensors are divided into files does not matter.
  std::string weights;
};

// A file that is absent has a fingerprint of its own. Throws an Error if the weights cannot be
// opened.
ModelFingerprint fingerprint_of(const std::filesystem::path& folder);

// The same without the weights, whose part is "elsewhere".
ModelFingerprint text_fingerprint_of(const std::filesystem::path& folder);

// What fingerprints are made of: 32 digits of a hash, and samples of a tensor's data.
std::string short_hash(Sha256 hash);
void add_samples(Sha256& hash, std::span<const std::byte> data);

}  // namespace counterbeam
