#include "tensor/gguf.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "tensor/safetensors.h"

namespace counterbeam {
namespace {

// Far above any real file. The limits bound what a hostile file can make us allocate.
constexpr std::uint64_t kMostAlignment = 1 << 20;
constexpr std::size_t kMostNameBytes = 63, kMostKeyBytes = 65535;
constexpr std::uint32_t kMostDimensions = 4;

template <typename... Args>
[[noreturn]] void bad_gguf(std::string_view file, fmt::format_string<Args...> format,
                           Args&&... args) {
  bad_input("{}: {}; the file is damaged or not GGUF: download or convert it again", file,
            fmt::format(format, std::forward<Args>(args)...));
}

struct KindEntry {
  std::string_view name, plural;
  std::size_t bytes;  // 0: strings and arrays have no fixed size
};
constexpr std::array kKinds{
    KindEntry{"u8", "u8", 1},          KindEntry{"i8", "i8", 1},
    KindEntry{"u16", "u16", 2},        KindEntry{"i16", "i16", 2},
    KindEntry{"u32", "u32", 4},        KindEntry{"i32", "i32", 4},
    KindEntry{"f32", "f32", 4},        KindEntry{"bool", "bool", 1},
    KindEntry{"string", "strings", 0}, KindEntry{"array", "arrays", 0},
    KindEntry{"u64", "u64", 8},        KindEntry{"i64", "i64", 8},
    KindEntry{"f64", "f64", 8},
};

const KindEntry& kind_entry(GgufKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

class GgufParser {
 public:
  GgufParser(std::span<const std::byte> bytes, std::string_view file)
      : bytes_(bytes), file_(file) {}

  GgufContent read() {
    read_start();
    const std::uint64_t tensors = read_count("tensors", kMostGgufTensors, 24);
    const std::uint64_t keys = read_count("metadata keys", kMostGgufKeys, 13);
    content_.keys.reserve(keys);
    for (std::uint64_t i = 0; i < keys; ++i) read_key(i);
    sort_unique(content_.keys, "metadata key");
    const std::uint64_t alignment = read_alignment();
    content_.tensors.reserve(tensors);
    std::vector<std::uint64_t> offsets(tensors);
    for (std::uint64_t i = 0; i < tensors; ++i) offsets[i] = read_tensor(i);
    place_tensors(offsets, alignment);
    sort_unique(content_.tensors, "tensor");
    return std::move(content_);
  }

 private:
  std::uint64_t left() const { return bytes_.size() - at_; }

  template <typename T>
  T take(std::string_view what) {
    if (sizeof(T) > left()) bad_gguf(file_, "ends at byte {}, inside {}", bytes_.size(), what);
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  std::string_view take_string(std::string_view what) {
    const auto length = take<std::uint64_t>(what);
    if (length > left())
      bad_gguf(file_, "{} has a length of {} bytes, but {} bytes are left", what, length, left());
    const char* first = reinterpret_cast<const char*>(bytes_.data()) + at_;
    at_ += length;
    return {first, length};
  }

  void read_start() {
    const std::string_view start(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
    if (start.starts_with("version https://git-lfs"))
      bad_gguf(file_, "is a Git LFS pointer: run git lfs pull to get the file itself");
    if (!start.starts_with("GGUF"))
      bad_gguf(file_, "does not start with \"GGUF\" but with {}", in_quotes(start.substr(0, 4)));
    at_ = 4;
    content_.version = take<std::uint32_t>("the version");
    if (content_.version == 1)
      bad_input(
          "{}: is GGUF version 1, which is not supported (supported: 2, 3); convert the "
          "model again",
          file_);
    if ((content_.version & 0xffff) == 0 && content_.version != 0)
      bad_input(
          "{}: is a big-endian GGUF file (version {:#x}), which is not supported; convert "
          "the model again for a little-endian machine",
          file_, content_.version);
    if (content_.version != 2 && content_.version != 3)
      bad_input("{}: is GGUF version {}, which is not supported (supported: 2, 3)", file_,
                content_.version);
  }

  // `least`: bytes that one of them takes at least.
  std::uint64_t read_count(std::string_view what, std::uint64_t most, std::uint64_t least) {
    const auto count = take<std::uint64_t>(fmt::format("the number of {}", what));
    if (count > left() / least)
      bad_gguf(file_, "has {} {}, which do not fit into the {} bytes that are left", count, what,
               left());
    if (count > most) bad_gguf(file_, "has {} {}, more than the limit of {}", count, what, most);
    return count;
  }

  void read_key(std::uint64_t index) {
    const std::string_view name = take_string(fmt::format("metadata key {}", index));
    if (name.empty()) bad_gguf(file_, "metadata key {} is empty", index);
    if (name.size() > kMostKeyBytes)
      bad_gguf(file_, "metadata key {} has {} bytes, more than the limit of {}", index, name.size(),
               kMostKeyBytes);
    if (!is_valid_utf8(name)) bad_gguf(file_, "metadata key {} is not UTF-8", index);
    const std::string where = fmt::format("metadata {}", in_quotes(name));
    GgufValue value;
    value.kind = take_kind(where);
    if (value.kind == GgufKind::Array) {
      value.array = true;
      value.kind = take_kind(where);
      if (value.kind == GgufKind::Array)
        bad_gguf(file_, "{} is an array of arrays, which the format does not have", where);
      value.count = take<std::uint64_t>(where);
    }
    const std::size_t first = at_;
    skip_elements(value, where);
    value.bytes = bytes_.subspan(first, at_ - first);
    content_.keys.push_back({name, value});
  }

  GgufKind take_kind(const std::string& where) {
    const auto number = take<std::uint32_t>(where);
    if (number >= kKinds.size())
      bad_gguf(file_, "{} has type {}, which is not known (known: 0 to 12)", where, number);
    return static_cast<GgufKind>(number);
  }

  void skip_elements(const GgufValue& value, const std::string& where) {
    const bool strings = value.kind == GgufKind::String;
    const std::uint64_t least = strings ? 8 : kind_entry(value.kind).bytes;
    if (value.count > left() / least)
      bad_gguf(file_, "{} has {} elements of type {}, but {} bytes are left", where, value.count,
               kind_entry(value.kind).name, left());
    if (strings) {
      const std::string what = "a string of " + where;
      for (std::uint64_t i = 0; i < value.count; ++i) take_string(what);
      return;
    }
    if (value.kind == GgufKind::Bool)
      for (std::uint64_t i = 0; i < value.count; ++i)
        if (const auto byte = std::to_integer<int>(bytes_[at_ + i]); byte > 1)
          bad_gguf(file_, "{} holds the bool {}, which is neither 0 nor 1", where, byte);
    at_ += value.count * least;
  }

  std::uint64_t read_alignment() const {
    const GgufValue* value = content_.find("general.alignment");
    if (value == nullptr) return 32;
    if (value->array || value->kind != GgufKind::U32)
      bad_gguf(file_, "general.alignment is of type {}, not u32", value->type_name());
    const auto alignment = static_cast<std::uint64_t>(*value->integer());
    if (alignment == 0 || (alignment & (alignment - 1)) != 0)
      bad_gguf(file_, "general.alignment {} is not a power of two", alignment);
    if (alignment > kMostAlignment)
      bad_gguf(file_, "general.alignment {} is above the limit of {}", alignment, kMostAlignment);
    return alignment;
  }

  // Returns the offset that the file gives.
  std::uint64_t read_tensor(std::uint64_t index) {
    GgufTensor tensor;
    tensor.name = take_string(fmt::format("the name of tensor {}", index));
    if (tensor.name.empty()) bad_gguf(file_, "tensor {} has no name", index);
    if (tensor.name.size() > kMostNameBytes)
      bad_gguf(file_, "the name of tensor {} has {} bytes, more than the limit of {}", index,
               tensor.name.size(), kMostNameBytes);
    if (!is_valid_utf8(tensor.name)) bad_gguf(file_, "the name of tensor {} is not UTF-8", index);
    const std::string where = fmt::format("tensor {}", in_quotes(tensor.name));
    tensor.shape = read_shape(where);
    const auto number = take<std::uint32_t>(where);
    const GgmlTypeInfo* info = find_ggml_type(number);
    if (info == nullptr) bad_gguf(file_, "{} has type {}, which is not known", where, number);
    tensor.type = info->type;
    const int rank = tensor.shape.rank();
    const std::int64_t row = rank == 0 ? 1 : tensor.shape[rank - 1];
    if (row % info->elements != 0)
      bad_gguf(file_, "{} has rows of {} elements, but blocks of {} hold {}", where, row,
               info->name, info->elements);
    content_.tensors.push_back(tensor);
    return take<std::uint64_t>(where);
  }

  Shape read_shape(const std::string& where) {
    const auto rank = take<std::uint32_t>(where);
    if (rank > kMostDimensions)
      bad_gguf(file_, "{} has {} dimensions, more than the limit of {}", where, rank,
               kMostDimensions);
    std::array<std::int64_t, kMostDimensions> extents{};
    for (std::uint32_t i = 0; i < rank; ++i) {
      const auto extent = take<std::int64_t>(where);
      if (extent < 0 || extent > Shape::kMaxElements)
        bad_gguf(file_, "{} has the extent {}, which no tensor can have", where, extent);
      extents[rank - 1 - i] = extent;
    }
    const auto shape = Shape::checked(std::span<const std::int64_t>(extents).first(rank));
    if (!shape) bad_gguf(file_, "{} has more than 2^56 elements", where);
    return *shape;
  }

  // Every tensor begins at the first multiple of the alignment after the one before it.
  void place_tensors(const std::vector<std::uint64_t>& offsets, std::uint64_t alignment) {
    const auto aligned = [&](std::uint64_t place) {
      return (place + alignment - 1) / alignment * alignment;
    };
    const std::uint64_t start = aligned(at_);
    if (!offsets.empty() && start > bytes_.size())
      bad_gguf(file_, "ends at byte {}, before the data of its tensors", bytes_.size());
    std::uint64_t expected = 0;  // at most the size of the file, padded: never wraps
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      GgufTensor& tensor = content_.tensors[i];
      const std::string where = fmt::format("tensor {}", in_quotes(tensor.name));
      const GgmlTypeInfo& info = info_of(tensor.type);
      const auto size =
          static_cast<std::uint64_t>(tensor.shape.elements()) / info.elements * info.bytes;
      if (offsets[i] != expected)
        bad_gguf(file_, "{} has the offset {}, but the one before it ends at {}", where, offsets[i],
                 expected);
      const std::uint64_t data = bytes_.size() - start;
      if (expected > data || size > data - expected)
        bad_gguf(file_, "{} {} of {} needs {} bytes from byte {} of the data, which has {}", where,
                 tensor.shape.to_string(), info.name, size, expected, data);
      tensor.data = bytes_.subspan(start + expected, size);
      expected += aligned(size);
    }
    // More data than that is of a tensor that the list lost: the output layer, say, without which
    // the model would still load, and answer from the embedding table.
    if (bytes_.size() > start && bytes_.size() - start > expected)
      bad_gguf(file_, "has {} bytes after the data of its {} tensors",
               bytes_.size() - start - expected, offsets.size());
  }

  template <typename Named>
  void sort_unique(std::vector<Named>& list, std::string_view what) const {
    std::sort(list.begin(), list.end(),
              [](const Named& a, const Named& b) { return a.name < b.name; });
    for (std::size_t i = 1; i < list.size(); ++i)
      if (list[i].name == list[i - 1].name)
        bad_gguf(file_, "{} {} occurs twice", what, in_quotes(list[i].name));
  }

  std::span<const std::byte> bytes_;
  std::string_view file_;
  std::size_t at_ = 0;
  GgufContent content_;
};

template <typename T>
T element(const GgufValue& value, std::uint64_t index) {
  T result;
  std::memcpy(&result, value.bytes.data() + index * sizeof(T), sizeof(T));
  return result;
}

}  // namespace

std::string GgufValue::type_name() const {
  return array ? fmt::format("array of {}", kind_entry(kind).plural)
               : std::string(kind_entry(kind).name);
}

std::optional<std::int64_t> GgufValue::integer(std::uint64_t index) const {
  if (index >= count) return std::nullopt;
  switch (kind) {
    case GgufKind::U8:
      return element<std::uint8_t>(*this, index);
    case GgufKind::I8:
      return element<std::int8_t>(*this, index);
    case GgufKind::U16:
      return element<std::uint16_t>(*this, index);
    case GgufKind::I16:
      return element<std::int16_t>(*this, index);
    case GgufKind::U32:
      return element<std::uint32_t>(*this, index);
    case GgufKind::I32:
      return element<std::int32_t>(*this, index);
    case GgufKind::I64:
      return element<std::int64_t>(*this, index);
    case GgufKind::U64: {
      const auto wide = element<std::uint64_t>(*this, index);
      if (wide > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return std::nullopt;
      return static_cast<std::int64_t>(wide);
    }
    default:
      return std::nullopt;
  }
}

std::optional<double> GgufValue::number(std::uint64_t index) const {
  if (index >= count) return std::nullopt;
  if (kind == GgufKind::F32) return element<float>(*this, index);
  if (kind == GgufKind::F64) return element<double>(*this, index);
  if (const auto whole = integer(index)) return static_cast<double>(*whole);
  return std::nullopt;
}

std::optional<bool> GgufValue::boolean(std::uint64_t index) const {
  if (kind != GgufKind::Bool || index >= count) return std::nullopt;
  return element<std::uint8_t>(*this, index) != 0;
}

std::optional<std::string_view> GgufValue::string() const {
  if (kind != GgufKind::String || array) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(bytes.data()) + 8, bytes.size() - 8);
}

const GgufValue* GgufContent::find(std::string_view key) const {
  const GgufKey* found = find_named(std::span(keys), key);
  return found ? &found->value : nullptr;
}

const GgufTensor* GgufContent::find_tensor(std::string_view name) const {
  return find_named(std::span(tensors), name);
}

GgufContent read_gguf(std::span<const std::byte> bytes, std::string_view name) {
  return GgufParser(bytes, name).read();
}

}  // namespace counterbeam
