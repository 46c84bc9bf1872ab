#include "tensor/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>

#include "base/json_cursor.h"
#include "base/quote.h"

namespace counterbeam {
namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;
// Far above any real checkpoint. These limits bound what a hostile header can make us allocate.
constexpr std::size_t kMaxTensors = 1 << 18, kMaxMetadata = 1 << 16;

constexpr std::string_view kAdvice =
    "the file is damaged or not safetensors: download or convert it again";

template <typename... Args>
[[noreturn]] void damaged(std::string_view file, fmt::format_string<Args...> format,
                          Args&&... args) {
  bad_input("{}: {}; {}", file, fmt::format(format, std::forward<Args>(args)...), kAdvice);
}

// The header's entry for one tensor.
struct HeaderEntry {
  std::optional<DType> dtype;
  std::optional<Shape> shape;
  std::optional<std::array<std::uint64_t, 2>> offsets;
};

// Recognises other formats by their first bytes; empty if the format is unknown.
std::string_view other_format(std::string_view start) {
  constexpr std::pair<std::string_view, std::string_view> kStarts[] = {
      {"version https://git-lfs", "is a Git LFS pointer: run git lfs pull to get the file itself"},
      {"PK\x03\x04", "is a zip file, such as a pickled PyTorch checkpoint"},
      {"\x80\x02", "is a Python pickle"},
      {"GGUF", "is a GGUF file"},
      {"<", "is a web page or XML"},
  };
  for (const auto& [bytes, format] : kStarts)
    if (start.starts_with(bytes)) return format;
  return {};
}

class HeaderReader {
 public:
  HeaderReader(std::string_view file, std::string_view header, std::span<const std::byte> data)
      : file_(file),
        where_(fmt::format("{}: header", file)),
        cursor_(header, where_, kAdvice),
        data_(data) {}

  SafetensorsContent read() {
    cursor_.object("the header", [&](std::string key) {
      if (key == "__metadata__")
        read_metadata();
      else
        read_tensor(std::move(key));
    });
    cursor_.end();
    check_cover();
    sort_by_name();
    return std::move(content_);
  }

 private:
  template <typename... Args>
  [[noreturn]] void wrong(std::string_view tensor, fmt::format_string<Args...> format,
                          Args&&... args) const {
    damaged(file_, "tensor {}: {}", in_quotes(tensor),
            fmt::format(format, std::forward<Args>(args)...));
  }

  void read_metadata() {
    if (has_metadata_) damaged(file_, "key \"__metadata__\" occurs twice");
    has_metadata_ = true;
    auto& metadata = content_.metadata;
    cursor_.object("__metadata__", [&](std::string key) {
      if (metadata.size() == kMaxMetadata)
        damaged(file_, "__metadata__ has more than {} entries", kMaxMetadata);
      cursor_.set_place(key);
      std::string value = cursor_.string("a value of __metadata__");
      cursor_.set_place({});
      metadata.emplace_back(std::move(key), std::move(value));
    });
    std::sort(metadata.begin(), metadata.end());
    for (std::size_t i = 1; i < metadata.size(); ++i)
      if (metadata[i].first == metadata[i - 1].first)
        damaged(file_, "__metadata__ key {} occurs twice", in_quotes(metadata[i].first));
  }

  void read_tensor(std::string name) {
    if (content_.tensors.size() == kMaxTensors)
      damaged(file_, "the header names more than {} tensors", kMaxTensors);
    HeaderEntry entry;
    cursor_.set_place(name);
    cursor_.object("the tensor", [&](const std::string& key) {
      if ((key == "dtype" && entry.dtype) || (key == "shape" && entry.shape) ||
          (key == "data_offsets" && entry.offsets))
        wrong(name, "key {} occurs twice", in_quotes(key));
      if (key == "dtype")
        entry.dtype = read_dtype(name);
      else if (key == "shape")
        entry.shape = read_shape(name);
      else if (key == "data_offsets")
        entry.offsets = read_offsets(name);
      else
        wrong(name, "unknown key {} (known: dtype, shape, data_offsets)", in_quotes(key));
    });
    if (!entry.dtype) wrong(name, "has no dtype");
    if (!entry.shape) wrong(name, "has no shape");
    if (!entry.offsets) wrong(name, "has no data_offsets");
    cursor_.set_place({});
    const std::byte* data = check_extent(name, entry);
    content_.tensors.push_back({std::move(name), {*entry.dtype, *entry.shape, data}});
  }

  DType read_dtype(std::string_view name) {
    const std::string dtype = cursor_.string("dtype");
    const std::optional<DType> known = dtype_named(dtype);
    if (!known)
      bad_input("{}: tensor {}: dtype {} is not known (known: {})", file_, in_quotes(name),
                in_quotes(dtype), all_dtype_names());
    return *known;
  }

  Shape read_shape(std::string_view name) {
    std::array<std::int64_t, Shape::kMaxRank> extents{};
    std::size_t rank = 0;
    cursor_.array("shape", [&] {
      const std::uint64_t extent = cursor_.unsigned_integer("shape");
      if (rank == extents.size()) wrong(name, "shape has more than {} dimensions", Shape::kMaxRank);
      if (extent > static_cast<std::uint64_t>(Shape::kMaxElements))
        wrong(name, "shape holds the extent {}, more than any file can", extent);
      extents[rank++] = static_cast<std::int64_t>(extent);
    });
    const auto used = std::span<const std::int64_t>(extents).first(rank);
    const std::optional<Shape> shape = Shape::checked(used);
    if (!shape) wrong(name, "shape has more than 2^56 elements");
    return *shape;
  }

  std::array<std::uint64_t, 2> read_offsets(std::string_view name) {
    std::array<std::uint64_t, 2> offsets{};
    std::size_t count = 0;
    cursor_.array("data_offsets", [&] {
      const std::uint64_t offset = cursor_.unsigned_integer("data_offsets");
      if (count < 2) offsets[count] = offset;
      ++count;
    });
    if (count != 2) wrong(name, "data_offsets has {} numbers, not 2", count);
    return offsets;
  }

  // Checks the extent of one tensor and returns its first byte.
  const std::byte* check_extent(std::string_view name, const HeaderEntry& entry) const {
    const auto [begin, end] = *entry.offsets;
    if (end < begin) wrong(name, "data_offsets [{}, {}] end before they begin", begin, end);
    if (end > data_.size())
      wrong(name, "data_offsets [{}, {}] reach beyond the {} bytes of data", begin, end,
            data_.size());
    const auto bits = static_cast<std::uint64_t>(entry.shape->elements()) *
                      static_cast<std::uint64_t>(bits_of(*entry.dtype));
    if (bits % 8 != 0)
      wrong(name, "shape {} of {} is not a whole number of bytes", entry.shape->to_string(),
            name_of(*entry.dtype));
    if (bits / 8 != end - begin)
      wrong(name, "shape {} of {} needs {} bytes, data_offsets [{}, {}] hold {}",
            entry.shape->to_string(), name_of(*entry.dtype), bits / 8, begin, end, end - begin);
    return data_.data() + begin;
  }

  // Checks that the tensors, ordered by offset, cover the data without gaps or overlap.
  void check_cover() const {
    const auto& tensors = content_.tensors;
    std::vector<std::uint32_t> order(tensors.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto place = [&](std::uint32_t i) {
      return std::pair(tensors[i].view.data, tensors[i].view.bytes());
    };
    if (!std::is_sorted(order.begin(), order.end(),
                        [&](auto a, auto b) { return place(a) < place(b); }))
      std::sort(order.begin(), order.end(), [&](auto a, auto b) { return place(a) < place(b); });
    std::size_t reached = 0;
    for (const std::uint32_t i : order) {
      const auto begin = static_cast<std::size_t>(tensors[i].view.data - data_.data());
      if (begin > reached)
        wrong(tensors[i].name, "begins at byte {} of the data, {} bytes after the one before",
              begin, begin - reached);
      if (begin < reached)
        wrong(tensors[i].name, "begins at byte {} of the data, inside the tensor before it", begin);
      reached += tensors[i].view.bytes();
    }
    if (reached != data_.size())
      damaged(file_, "the tensors cover {} bytes of data, the file holds {}", reached,
              data_.size());
  }

  void sort_by_name() {
    auto& tensors = content_.tensors;
    const auto before = [](const NamedTensor& a, const NamedTensor& b) { return a.name < b.name; };
    std::sort(tensors.begin(), tensors.end(), before);
    for (std::size_t i = 1; i < tensors.size(); ++i)
      if (tensors[i].name == tensors[i - 1].name)
        damaged(file_, "tensor {} occurs twice", in_quotes(tensors[i].name));
  }

  std::string_view file_;
  std::string where_;
  JsonCursor cursor_;
  std::span<const std::byte> data_;
  SafetensorsContent content_;
  bool has_metadata_ = false;
};

}  // namespace

SafetensorsContent read_safetensors(std::span<const std::byte> bytes, std::string_view name) {
  if (bytes.size() < 8)
    damaged(name, "is {} bytes long, a safetensors file has at least 8", bytes.size());
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (const std::string_view format = other_format(text); length > kMaxHeader && !format.empty())
    damaged(name, "{}", format);
  if (length > kMaxHeader)
    damaged(name, "header length {} is above the limit of {}", length, kMaxHeader);
  if (length > bytes.size() - 8)
    damaged(name, "header length {} reaches beyond the file of {} bytes", length, bytes.size());
  const std::string_view header = text.substr(8, length);
  if (header.empty() || header[0] != '{') damaged(name, "the header does not start with '{{'");
  return HeaderReader(name, header, bytes.subspan(8 + length)).read();
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : file_(path), content_(read_safetensors(file_.bytes(), path.string())) {}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  const NamedTensor* found = find_named(tensors(), name);
  return found ? &found->view : nullptr;
}

}  // namespace counterbeam
