// The element types of GGUF tensors. Quantised types store a row as blocks of a fixed number of
// elements, each with its own scales. Every type that has a place in the format is listed, so that
// a file can be checked; block_matrix.h says which of them can be decoded.
#pragma once

#include <cstdint>
#include <string_view>

namespace counterbeam {

// Values are those of the file.
enum class GgmlType : std::uint8_t {
  F32 = 0,
  F16 = 1,
  Q4_0 = 2,
  Q4_1 = 3,
  Q5_0 = 6,
  Q5_1 = 7,
  Q8_0 = 8,
  Q2_K = 10,
  Q3_K = 11,
  Q4_K = 12,
  Q5_K = 13,
  Q6_K = 14,
  IQ4_NL = 20,
  IQ4_XS = 23,
  BF16 = 30,
  // The others of the table have no name here: nothing refers to them.
};

struct GgmlTypeInfo {
  GgmlType type;
  std::string_view name;          // "Q4_K"
  std::uint32_t elements, bytes;  // of a block; a plain number is a block of one
};

// Null for a number that is no type, or one of a type that was withdrawn from the format.
const GgmlTypeInfo* find_ggml_type(std::uint32_t number);

// REQUIRES: a type of a file that was read
const GgmlTypeInfo& info_of(GgmlType type);
inline std::string_view name_of(GgmlType type) {
  return info_of(type).name;
}

}  // namespace counterbeam
