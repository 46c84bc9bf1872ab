#include <algorithm>
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

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       std::span<const std::pair<std::string, std::string>> metadata) {
  std::vector<const NamedTensor*> order;
  std::set<std::string_view> names;
  for (const NamedTensor& tensor : tensors) {
    CB_CHECK(names.insert(tensor.name).second && tensor.name != "__metadata__");
    order.push_back(&tensor);
  }
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return bits_of(a->view.dtype) > bits_of(b->view.dtype);
  });
  const std::string header = header_of(order, metadata);
  const std::uint64_t length = header.size();
  OutputFile file(path);
  file.write(&length, sizeof length);
  file.write(header.data(), header.size());
  for (const NamedTensor* tensor : order) file.write(tensor->view.data, tensor->view.bytes());
  file.finish();
}

}  // namespace counterbeam
