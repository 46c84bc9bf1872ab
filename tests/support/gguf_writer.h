// Writes GGUF files for tests, good ones and, piece by piece, bad ones.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/ggml_type.h"
#include "tensor/gguf.h"

namespace counterbeam::testing {

template <typename T>
std::string raw(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

inline std::string gguf_string(std::string_view text) {
  return raw<std::uint64_t>(text.size()) + std::string(text);
}

inline std::string gguf_kind(GgufKind kind) {
  return raw(static_cast<std::uint32_t>(kind));
}

// A key with its value.
inline std::string key_of(std::string_view name, GgufKind kind, const std::string& value) {
  return gguf_string(name) + gguf_kind(kind) + value;
}
inline std::string u32_key(std::string_view name, std::uint32_t value) {
  return key_of(name, GgufKind::U32, raw(value));
}
inline std::string f32_key(std::string_view name, float value) {
  return key_of(name, GgufKind::F32, raw(value));
}
inline std::string bool_key(std::string_view name, bool value) {
  return key_of(name, GgufKind::Bool, raw(value));
}
inline std::string string_key(std::string_view name, std::string_view value) {
  return key_of(name, GgufKind::String, gguf_string(value));
}
inline std::string array_key(std::string_view name, GgufKind kind, std::uint64_t count,
                             const std::string& elements) {
  return key_of(name, GgufKind::Array, gguf_kind(kind) + raw(count) + elements);
}
inline std::string strings_key(std::string_view name, const std::vector<std::string>& values) {
  std::string all;
  for (const std::string& value : values) all += gguf_string(value);
  return array_key(name, GgufKind::String, values.size(), all);
}
template <typename T>
std::string numbers_key(std::string_view name, GgufKind kind, const std::vector<T>& values) {
  std::string all;
  for (const T value : values) all += raw(value);
  return array_key(name, kind, values.size(), all);
}

// The entry of a tensor; `extents` in the order of the file.
inline std::string tensor_entry(std::string_view name, const std::vector<std::int64_t>& extents,
                                std::uint32_t type, std::uint64_t offset) {
  std::string entry = gguf_string(name) + raw(static_cast<std::uint32_t>(extents.size()));
  for (const std::int64_t extent : extents) entry += raw(extent);
  return entry + raw(type) + raw(offset);
}

inline std::string padded(std::string bytes, std::size_t alignment) {
  bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
  return bytes;
}

// A file of these entries; counts as given, so that they may be wrong.
inline std::string gguf_bytes(const std::vector<std::string>& keys,
                              const std::vector<std::string>& tensors, const std::string& data,
                              std::uint32_t version = 3, std::size_t alignment = 32) {
  std::string bytes =
      "GGUF" + raw(version) + raw<std::uint64_t>(tensors.size()) + raw<std::uint64_t>(keys.size());
  for (const std::string& key : keys) bytes += key;
  for (const std::string& tensor : tensors) bytes += tensor;
  return padded(std::move(bytes), alignment) + data;
}

// A whole file, written tensor by tensor.
class GgufWriter {
 public:
  explicit GgufWriter(std::size_t alignment = 32) : alignment_(alignment) {
    if (alignment != 32)
      keys.push_back(u32_key("general.alignment", static_cast<std::uint32_t>(alignment)));
  }

  // `shape` is row-major.
  void add(std::string_view name, GgmlType type, std::vector<std::int64_t> shape,
           const std::string& data) {
    entries_.push_back(tensor_entry(name, {shape.rbegin(), shape.rend()},
                                    static_cast<std::uint32_t>(type), data_.size()));
    data_ = padded(data_ + data, alignment_);
  }
  void add_f32(std::string_view name, std::vector<std::int64_t> shape,
               const std::vector<float>& values) {
    std::string data;
    for (const float value : values) data += raw(value);
    add(name, GgmlType::F32, std::move(shape), data);
  }

  std::string bytes(std::uint32_t version = 3) const {
    return gguf_bytes(keys, entries_, data_, version, alignment_);
  }

  std::vector<std::string> keys;

 private:
  std::size_t alignment_;
  std::vector<std::string> entries_;
  std::string data_;
};

}  // namespace counterbeam::testing
