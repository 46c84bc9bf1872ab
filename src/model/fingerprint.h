// Identifies a model by its content, wherever it lies: two folders with the same fingerprint give
// the same answers. Cheap for checkpoints of any size, since weights are hashed by samples.
#pragma once

#include <filesystem>
#include <string>

namespace counterbeam {

// Each is 32 hexadecimal digits of a SHA-256.
struct ModelFingerprint {
  std::string config;         // config.json and generation_config.json
  std::string tokenizer;      // tokenizer.json and tokenizer_config.json
  std::string chat_template;  // chat_template.jinja
  // Every tensor's name, dtype and shape, and eight samples of 4 KiB of its data (all of it if it
  // is smaller). How tensors are divided into files does not matter.
  std::string weights;
};

// A file that is absent has a fingerprint of its own. Throws an Error if the weights cannot be
// opened.
ModelFingerprint fingerprint_of(const std::filesystem::path& folder);

// The same without the weights, whose part is "elsewhere".
ModelFingerprint text_fingerprint_of(const std::filesystem::path& folder);

}  // namespace counterbeam
