#include <algorithm>
#include <cstring>
#include <set>

#include "base/json.h"
#include "base/output_file.h"
#include "tensor/safetensors.h"

namespace counterbeam {
namespace {

std::string header_of(std::span<const NamedTensor* const> tensors,
                      std::span<const std::pair<std::string, std::string>> metadata) {
  std::string header = "{";
  const auto member = [&](const std::string& key, const Json& value) {
    if (header.size() > 1) header += ',';
    header += to_line(key) + ':' + to_line(value);
  };
  if (!metadata.empty()) {
    Json entries = Json::object();
    for (const auto& [key, value] : metadata) entries[key] = value;
    member("__metadata__", entries);
  }
  std::size_t at = 0;
  for (const NamedTensor* tensor : tensors) {
    const std::size_t end = at + tensor->view.bytes();
    member(tensor->name, {{"dtype", name_of(tensor->view.dtype)},
                          {"shape", tensor->view.shape.extents()},
                          {"data_offsets", {at, end}}});
    at = end;
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');
  return header;
}

// By descending size of their elements, so that every tensor is aligned.
std::vector<const NamedTensor*> in_order(std::span<const NamedTensor> tensors) {
  std::vector<const NamedTensor*> order;
  std::set<std::string_view> names;
  for (const NamedTensor& tensor : tensors) {
    CB_CHECK(names.insert(tensor.name).second && tensor.name != "__metadata__");
    order.push_back(&tensor);
  }
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return bits_of(a->view.dtype) > bits_of(b->view.dtype);
  });
  return order;
}

// The length of the header, and the header.
std::string head_of(std::span<const NamedTensor* const> order,
                    std::span<const std::pair<std::string, std::string>> metadata) {
  const std::string header = header_of(order, metadata);
  const std::uint64_t length = header.size();
  std::string head(sizeof length, '\0');
  std::memcpy(head.data(), &length, sizeof length);
  return head + header;
}

}  // namespace

SafetensorsLayout lay_out_safetensors(
    std::span<const NamedTensor> tensors,
    std::span<const std::pair<std::string, std::string>> metadata) {
  const std::vector<const NamedTensor*> order = in_order(tensors);
  SafetensorsLayout layout{head_of(order, metadata), std::vector<std::size_t>(tensors.size())};
  layout.bytes = layout.head.size();
  for (const NamedTensor* tensor : order) {
    layout.offsets[static_cast<std::size_t>(tensor - tensors.data())] = layout.bytes;
    layout.bytes += tensor->view.bytes();
  }
  return layout;
}

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       std::span<const std::pair<std::string, std::string>> metadata) {
  const std::vector<const NamedTensor*> order = in_order(tensors);
  const std::string head = head_of(order, metadata);
  OutputFile file(path);
  file.write(head.data(), head.size());
  for (const NamedTensor* tensor : order) file.write(tensor->view.data, tensor->view.bytes());
  file.finish();
}

}  // namespace counterbeam
