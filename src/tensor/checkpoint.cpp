#include "tensor/checkpoint.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "base/file.h"
#include "base/list_folder.h"
#include "base/quote.h"
#include "tensor/shard_index.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

bool starts_with_any(const std::string& name, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

std::string weights_remedy(const fs::path& folder) {
  std::string remedy = "download the checkpoint's safetensors files";
  for (const fs::path& path : list_folder(folder)) {
    const std::string name = path.filename().string();
    const std::string shown = printable(name);
    if (name.ends_with(".bin") && starts_with_any(name, {"pytorch_model", "model"}))
      return fmt::format(
          "{} is a pickled PyTorch file, which is not read because it can run code: load it with "
          "transformers and save_pretrained(..., safe_serialization=True)",
          shown);
    if (name.ends_with(".gguf"))
      return fmt::format("{} is a GGUF file: give the file itself as --model", shown);
    if (name.starts_with("adapter_model."))
      return fmt::format("{} is an adapter: merge it into its base model and save that", shown);
    if (name == kSingle) return "download the checkpoint's other files too";
    if (name.ends_with(".safetensors"))
      remedy = fmt::format("{} is there but no {} names it: download that file too", shown, kIndex);
  }
  return remedy;
}

Checkpoint Checkpoint::open(const fs::path& folder) {
  Checkpoint checkpoint;
  checkpoint.folder_ = folder;
  std::error_code error;
  if (fs::exists(folder / kSingle, error)) {
    checkpoint.add(folder / kSingle);
    return checkpoint;
  }
  if (!fs::exists(folder / kIndex, error))
    bad_input("{}: has neither {} nor {}; {}", folder.string(), kSingle, kIndex,
              weights_remedy(folder));
  checkpoint.add_shards(folder / kIndex);
  return checkpoint;
}

void Checkpoint::add(const fs::path& file) {
  MappedFile mapped(file);
  SafetensorsContent content = read_safetensors(mapped.bytes(), file.string());
  mapped.check(file);
  for (NamedTensor& tensor : content.tensors)
    tensors_.push_back({std::move(tensor.name), tensor.view, files_.size()});
  files_.push_back(file);
  mapped_.push_back(std::move(mapped));
}

void Checkpoint::add_shards(const fs::path& index_path) {
  const std::string name = index_path.string();
  const ShardIndex index(read_file(index_path, kMostIndexBytes), name);
  for (const std::string& shard : index.files()) {
    std::error_code error;
    if (!fs::exists(folder_ / shard, error))
      bad_input("{}: names the file {}, which is not there; download it again", name,
                in_quotes(shard));
    add(folder_ / shard);
  }
  sort_by_name();
  for (const auto& [tensor, file] : index.entries()) {
    const CheckpointTensor* found = find_named(tensors(), tensor);
    if (!found || found->file != file)
      bad_input("{}: tensor {} is not in {}, where weight_map has it; download both files again",
                name, in_quotes(tensor), in_quotes(index.files()[file]));
  }
}

void Checkpoint::sort_by_name() {
  std::sort(tensors_.begin(), tensors_.end(),
            [](const CheckpointTensor& a, const CheckpointTensor& b) {
              return std::tie(a.name, a.file) < std::tie(b.name, b.file);
            });
  for (std::size_t i = 1; i < tensors_.size(); ++i)
    if (tensors_[i].name == tensors_[i - 1].name)
      bad_input("{}: tensor {} is both in {} and in {}; download the checkpoint again",
                folder_.string(), in_quotes(tensors_[i].name),
                files_[tensors_[i - 1].file].filename().string(),
                files_[tensors_[i].file].filename().string());
}

std::size_t Checkpoint::bytes() const {
  std::size_t sum = 0;
  for (const CheckpointTensor& tensor : tensors_) sum += tensor.view.bytes();
  return sum;
}

const TensorView* Checkpoint::find(std::string_view name) const {
  const CheckpointTensor* found = find_named(tensors(), name);
  return found ? &found->view : nullptr;
}

const TensorView& Checkpoint::at(std::string_view name) const {
  const TensorView* found = find(name);
  if (!found)
    bad_input("{}: has no tensor {}; the checkpoint is not complete, or not of this architecture",
              folder_.string(), in_quotes(name));
  return *found;
}

void Checkpoint::advise(std::string_view name, Advice advice) const {
  const CheckpointTensor* tensor = find_named(tensors(), name);
  if (!tensor) return;
  const MappedFile& file = mapped_[tensor->file];
  const auto first = static_cast<std::size_t>(tensor->view.data - file.bytes().data());
  (file.*advice)(first, tensor->view.bytes());
}

void Checkpoint::check(std::string_view name) const {
  if (const CheckpointTensor* tensor = find_named(tensors(), name))
    mapped_[tensor->file].check(files_[tensor->file]);
}

void Checkpoint::will_need(std::string_view name) const {
  advise(name, &MappedFile::will_need);
}

void Checkpoint::done_with(std::string_view name) const {
  advise(name, &MappedFile::done_with);
}

void Checkpoint::done_with(std::string_view name, std::size_t first, std::size_t count) const {
  const CheckpointTensor* tensor = find_named(tensors(), name);
  if (!tensor) return;
  const MappedFile& file = mapped_[tensor->file];
  file.done_with(static_cast<std::size_t>(tensor->view.data - file.bytes().data()) + first, count);
}

}  // namespace counterbeam
