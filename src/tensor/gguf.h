// The GGUF format, versions 2 and 3: typed metadata, a list of tensors, then their data
// (docs/formats.md). Reading checks every rule of the format: counts and lengths lie inside the
// file, keys and names are unique, and every tensor has exactly the bytes that its type and shape
// need, at the place where the one before it ends. Values and tensors point into the file; their
// data is not read.
#pragma once

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/ggml_type.h"
#include "tensor/shape.h"

namespace counterbeam {

// Types of metadata, with the numbers of the file.
enum class GgufKind : std::uint8_t {
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  F32,
  Bool,
  String,
  Array,
  U64,
  I64,
  F64,
};

// A value of the metadata: one, or the elements of an array.
struct GgufValue {
  GgufKind kind = GgufKind::U8;  // of the value or of each element, never Array
  bool array = false;
  std::uint64_t count = 1;
  std::span<const std::byte> bytes;  // strings: each with its length before it

  std::string type_name() const;  // "u32", "array of strings", for messages

  // Element `index`, converted; none if the kind is another, or the number does not fit. Strings
  // have no index: each_string().
  std::optional<std::int64_t> integer(std::uint64_t index = 0) const;
  std::optional<double> number(std::uint64_t index = 0) const;  // integers too
  std::optional<bool> boolean(std::uint64_t index = 0) const;
  std::optional<std::string_view> string() const;  // none for an array

  // Calls use(view) for every string. REQUIRES kind String
  template <typename Use>
  void each_string(Use use) const {
    std::size_t at = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t length;
      std::memcpy(&length, bytes.data() + at, 8);
      use(std::string_view(reinterpret_cast<const char*>(bytes.data()) + at + 8, length));
      at += 8 + length;
    }
  }
};

// Of a model, in one file or in parts. They bound what hostile files can make us allocate.
inline constexpr std::uint64_t kMostGgufKeys = 1 << 16, kMostGgufTensors = 1 << 16;

struct GgufKey {
  std::string_view name;
  GgufValue value;
};

struct GgufTensor {
  std::string_view name;
  GgmlType type = GgmlType::F32;
  Shape shape;  // row-major, as everywhere else: the reverse of the order in the file
  std::span<const std::byte> data;
};

struct GgufContent {
  std::uint32_t version = 0;
  std::vector<GgufKey> keys;        // by name, ascending
  std::vector<GgufTensor> tensors;  // by name, ascending

  const GgufValue* find(std::string_view key) const;           // null if absent
  const GgufTensor* find_tensor(std::string_view name) const;  // null if absent
};

// Reads a file that is in memory, to which the result points. Messages start with `name`.
GgufContent read_gguf(std::span<const std::byte> bytes, std::string_view name);

}  // namespace counterbeam
