#include "model/fingerprint.h"

#include <fmt/format.h>

#include <initializer_list>

#include "base/file.h"
#include "model/config.h"
#include "tensor/checkpoint.h"
#include "tensor/dtype.h"
#include "text/file_limits.h"

namespace counterbeam {
namespace {

constexpr std::size_t kSamples = 8, kSampleBytes = 4096;

struct HashedFile {
  const char* name;
  std::uint64_t most;  // bytes, the limit of the file's reader
};

std::string hash_files(const std::filesystem::path& folder,
                       std::initializer_list<HashedFile> files) {
  Sha256 hash;
  for (const auto& [name, most] : files) {
    std::error_code error;
    if (!std::filesystem::exists(folder / name, error)) continue;
    hash.add_field(name);
    hash.add_field(read_file(folder / name, most));
  }
  return short_hash(hash);
}

std::string hash_weights(const std::filesystem::path& folder) {
  const Checkpoint checkpoint = Checkpoint::open(folder);
  Sha256 hash;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    const TensorView& view = tensor.view;
    hash.add_field(tensor.name);
    hash.add_field(fmt::format("{} {}", name_of(view.dtype), view.shape.to_string()));
    add_samples(hash, {view.data, view.bytes()});
    checkpoint.check(tensor.name);
    checkpoint.done_with(tensor.name);  // the system maps more around every page that is read
  }
  return short_hash(hash);
}

}  // namespace

std::string short_hash(Sha256 hash) {
  return hash.hex().substr(0, 32);
}

// Samples are spread evenly, with the first and the last bytes among them.
void add_samples(Sha256& hash, std::span<const std::byte> data) {
  if (data.size() <= kSamples * kSampleBytes) return hash.add(data);
  const std::size_t apart = (data.size() - kSampleBytes) / (kSamples - 1);
  for (std::size_t i = 0; i + 1 < kSamples; ++i) hash.add(data.subspan(apart * i, kSampleBytes));
  hash.add(data.last(kSampleBytes));
}

ModelFingerprint text_fingerprint_of(const std::filesystem::path& folder) {
  return {.config = hash_files(folder, {{"config.json", kMaxConfigBytes},
                                        {"generation_config.json", kMaxConfigBytes}}),
          .tokenizer = hash_files(folder, {{"tokenizer.json", kMostTokenizerBytes},
                                           {"tokenizer_config.json", kMostTokenizerConfigBytes}}),
          .chat_template = hash_files(folder, {{"chat_template.jinja", kMostTemplateBytes}}),
          .weights = "elsewhere"};
}

ModelFingerprint fingerprint_of(const std::filesystem::path& folder) {
  ModelFingerprint fingerprint = text_fingerprint_of(folder);
  fingerprint.weights = hash_weights(folder);
  return fingerprint;
}

}  // namespace counterbeam
