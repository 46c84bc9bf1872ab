// A second reader of safetensors, written from the format's description and on nlohmann's parser,
// for comparison: slow, and as strict as the format is. Shares no code with src/tensor but the
// limits on rank and elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/shape.h"

namespace counterbeam {

struct StrictTensor {
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;
};
using StrictTensors = std::map<std::string, StrictTensor>;

// The header as JSON; nothing if it is not JSON, or a key occurs twice in an object.
inline std::optional<nlohmann::json> strict_header(std::string_view text) {
  if (!text.starts_with('{') || text.find('\0') != text.npos) return std::nullopt;
  std::vector<std::set<std::string>> keys;
  bool twice = false;
  using Event = nlohmann::json::parse_event_t;
  const auto watch = [&](int, Event event, nlohmann::json& value) {
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key) twice |= !keys.back().insert(value.get<std::string>()).second;
    return true;
  };
  auto json = nlohmann::json::parse(text, watch, false);
  if (json.is_discarded() || twice) return std::nullopt;
  return json;
}

inline std::uint64_t strict_bits(const std::string& dtype) {
  static const std::map<std::string, std::uint64_t> kBits = {
      {"BOOL", 8},        {"U8", 8},         {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8},
      {"F8_E8M0", 8},     {"U16", 16},       {"I16", 16}, {"F16", 16},    {"BF16", 16},
      {"U32", 32},        {"I32", 32},       {"F32", 32}, {"U64", 64},    {"I64", 64},
      {"F64", 64},        {"C64", 64},       {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6},
      {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}};
  const auto found = kBits.find(dtype);
  return found == kBits.end() ? 0 : found->second;
}

// One entry of the header; nothing if it is wrong in itself.
inline std::optional<StrictTensor> strict_tensor(const nlohmann::json& entry) {
  if (!entry.is_object() || entry.size() != 3) return std::nullopt;
  if (!entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets"))
    return std::nullopt;
  const auto numbers = [](const nlohmann::json& list) -> std::optional<std::vector<std::uint64_t>> {
    if (!list.is_array()) return std::nullopt;
    for (const auto& value : list)
      if (!value.is_number_unsigned()) return std::nullopt;
    return list.get<std::vector<std::uint64_t>>();
  };
  const auto shape = numbers(entry["shape"]), offsets = numbers(entry["data_offsets"]);
  if (!entry["dtype"].is_string() || !shape || !offsets || offsets->size() != 2)
    return std::nullopt;
  StrictTensor tensor{entry["dtype"], *shape, (*offsets)[0], (*offsets)[1]};
  if (shape->size() > Shape::kMaxRank || tensor.end < tensor.begin) return std::nullopt;
  __extension__ using Wide = unsigned __int128;  // no product wraps
  Wide elements = 1;
  for (const std::uint64_t extent : *shape) {
    elements *= extent;
    if (extent > Shape::kMaxElements || elements > Shape::kMaxElements) return std::nullopt;
  }
  const std::uint64_t bits = strict_bits(tensor.dtype);
  if (bits == 0 || elements * bits != static_cast<Wide>(tensor.end - tensor.begin) * 8)
    return std::nullopt;
  return tensor;
}

// The tensors of a file; nothing if it breaks a rule of the format.
inline std::optional<StrictTensors> strict_safetensors(std::string_view file) {
  std::uint64_t length = 0;
  if (file.size() < 8) return std::nullopt;
  std::memcpy(&length, file.data(), 8);
  if (length > 100'000'000 || length > file.size() - 8) return std::nullopt;
  const auto header = strict_header(file.substr(8, length));
  if (!header) return std::nullopt;
  StrictTensors tensors;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> extents;
  for (const auto& [name, entry] : header->items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) return std::nullopt;
      for (const auto& value : entry)
        if (!value.is_string()) return std::nullopt;
      continue;
    }
    const auto tensor = strict_tensor(entry);
    if (!tensor) return std::nullopt;
    tensors.emplace(name, *tensor);
    extents.emplace_back(tensor->begin, tensor->end);
  }
  std::sort(extents.begin(), extents.end());
  std::uint64_t reached = 0;
  for (const auto& [begin, end] : extents) {
    if (begin != reached) return std::nullopt;
    reached = end;
  }
  if (reached != file.size() - 8 - length) return std::nullopt;
  return tensors;
}

}  // namespace counterbeam
