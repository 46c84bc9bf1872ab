#include "tensor/gguf_checkpoint.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "base/quote.h"
#include "tensor/safetensors.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostParts = 1024;

// What the split.* keys of a part say.
struct SplitPlace {
  std::int64_t part = 0, parts = 1;  // parts are counted from 0
  std::int64_t tensors = -1;         // of all parts; -1: not said
};

std::int64_t split_number(const GgufContent& content, const std::string& file, std::string_view key,
                          std::int64_t otherwise) {
  const GgufValue* value = content.find(key);
  if (value == nullptr) return otherwise;
  const auto number = value->array ? std::nullopt : value->integer();
  if (!number || *number < 0)
    bad_input("{}: {} is not a number of at least 0; split the model again", file, key);
  return *number;
}

SplitPlace split_of(const GgufContent& content, const std::string& file) {
  SplitPlace place;
  place.parts = std::max<std::int64_t>(1, split_number(content, file, "split.count", 1));
  place.part = split_number(content, file, "split.no", 0);
  place.tensors = split_number(content, file, "split.tensors.count", -1);
  if (place.parts > kMostParts)
    bad_input("{}: split.count {} is above the limit of {}", file, place.parts, kMostParts);
  if (place.part >= place.parts)
    bad_input("{}: split.no {} is not below split.count {}; split the model again", file,
              place.part, place.parts);
  return place;
}

std::string part_ending(std::int64_t part, std::int64_t parts) {
  return fmt::format("-{:05}-of-{:05}.gguf", part + 1, parts);
}

}  // namespace

GgufCheckpoint GgufCheckpoint::open(const fs::path& file) {
  GgufCheckpoint checkpoint;
  checkpoint.add(file);
  checkpoint.add_parts();
  checkpoint.sort_tensors();
  return checkpoint;
}

void GgufCheckpoint::add(const fs::path& file) {
  MappedFile mapped(file);
  GgufContent content = read_gguf(mapped.bytes(), file.string());
  mapped.check(file);
  for (const GgufTensor& tensor : content.tensors) tensors_.push_back({tensor, files_.size()});
  files_.push_back(file);
  mapped_.push_back(std::move(mapped));
  contents_.push_back(std::move(content));
}

void GgufCheckpoint::add_parts() {
  const fs::path first = files_[0];
  const SplitPlace place = split_of(contents_[0], name());
  if (place.parts > 1) {
    const std::string file = first.filename().string();
    const std::string ending = part_ending(place.part, place.parts);
    if (!file.ends_with(ending))
      bad_input("{}: is part {} of {} of a split model, so its name must end in {}; rename it back",
                name(), place.part + 1, place.parts, ending);
    const std::string stem = file.substr(0, file.size() - ending.size());
    const auto part_path = [&](std::int64_t part) {
      return first.parent_path() / (stem + part_ending(part, place.parts));
    };
    if (place.part != 0)
      bad_input("{}: is part {} of {} of a split model; give the first, {}", name(), place.part + 1,
                place.parts, printable(part_path(0).filename().string()));
    std::size_t keys = contents_[0].keys.size();
    for (std::int64_t part = 1; part < place.parts; ++part) {
      const fs::path path = part_path(part);
      std::error_code error;
      if (!fs::exists(path, error))
        bad_input("{}: part {} of {}, {}, is not there; download it too", name(), part + 1,
                  place.parts, printable(path.filename().string()));
      add(path);
      keys += contents_.back().keys.size();
      if (keys > kMostGgufKeys || tensors_.size() > kMostGgufTensors)
        bad_input(
            "{}: the parts of the model up to this one have {} metadata keys and {} tensors; the "
            "limits are {} and {}; split the model again",
            path.string(), keys, tensors_.size(), kMostGgufKeys, kMostGgufTensors);
      const SplitPlace own = split_of(contents_.back(), path.string());
      if (own.part != part || own.parts != place.parts)
        bad_input(
            "{}: says that it is part {} of {}, but its name says part {} of {}; download it "
            "again",
            path.string(), own.part + 1, own.parts, part + 1, place.parts);
    }
  }
  if (place.tensors >= 0 && std::cmp_not_equal(place.tensors, tensors_.size()))
    bad_input(
        "{}: split.tensors.count is {}, but the {} files have {} tensors; download them again",
        name(), place.tensors, files_.size(), tensors_.size());
}

void GgufCheckpoint::sort_tensors() {
  std::sort(tensors_.begin(), tensors_.end(), [](const Placed& a, const Placed& b) {
    return std::tie(a.name, a.file) < std::tie(b.name, b.file);
  });
  for (std::size_t i = 1; i < tensors_.size(); ++i)
    if (tensors_[i].name == tensors_[i - 1].name)
      bad_input("{}: tensor {} is both in {} and in {}; download the model again", name(),
                in_quotes(tensors_[i].name), files_[tensors_[i - 1].file].filename().string(),
                files_[tensors_[i].file].filename().string());
}

std::size_t GgufCheckpoint::bytes() const {
  std::size_t sum = 0;
  for (const Placed& tensor : tensors_) sum += tensor.data.size();
  return sum;
}

const GgufTensor* GgufCheckpoint::find(std::string_view tensor) const {
  return find_named(tensors(), tensor);
}

void GgufCheckpoint::check(std::string_view tensor) const {
  if (const Placed* placed = find_named(tensors(), tensor))
    mapped_[placed->file].check(files_[placed->file]);
}

void GgufCheckpoint::check_metadata() const {
  mapped_[0].check(files_[0]);
}

void GgufCheckpoint::check_files() const {
  for (std::size_t i = 0; i < mapped_.size(); ++i) mapped_[i].check(files_[i]);
}

void GgufCheckpoint::advise(std::string_view tensor, Advice advice) const {
  const Placed* placed = find_named(tensors(), tensor);
  if (!placed) return;
  const MappedFile& file = mapped_[placed->file];
  const auto first = static_cast<std::size_t>(placed->data.data() - file.bytes().data());
  (file.*advice)(first, placed->data.size());
}

void GgufCheckpoint::will_need(std::string_view tensor) const {
  advise(tensor, &MappedFile::will_need);
}

void GgufCheckpoint::done_with(std::string_view tensor) const {
  advise(tensor, &MappedFile::done_with);
}

}  // namespace counterbeam
