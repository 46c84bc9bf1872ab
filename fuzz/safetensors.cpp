// Reads any bytes as a safetensors file: rejected, or read into tensors that lie inside the file,
// cover it, and can be converted; and exactly as a second, independent reader does.
#include "tensor/safetensors.h"

#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "strict_safetensors.h"
#include "tensor/shard_index.h"

using namespace counterbeam;

namespace {

void check_inside(std::span<const std::byte> bytes, const std::vector<NamedTensor>& tensors) {
  std::size_t covered = 0;
  for (const NamedTensor& tensor : tensors) {
    CB_CHECK(tensor.view.data >= bytes.data());
    CB_CHECK(tensor.view.data + tensor.view.bytes() <= bytes.data() + bytes.size());
    covered += tensor.view.bytes();
    if (converts_to_f32(tensor.view.dtype)) to_f32(tensor.view);
  }
  CB_CHECK(covered <= bytes.size());
}

void check_same(std::span<const std::byte> data, const std::vector<NamedTensor>& tensors,
                const StrictTensors& strict) {
  CB_CHECK(tensors.size() == strict.size());
  for (const NamedTensor& tensor : tensors) {
    const StrictTensor& other = strict.at(tensor.name);
    CB_CHECK(name_of(tensor.view.dtype) == other.dtype);
    CB_CHECK(tensor.view.shape.extents().size() == other.shape.size());
    for (std::size_t i = 0; i < other.shape.size(); ++i)
      CB_CHECK(static_cast<std::uint64_t>(tensor.view.shape.extents()[i]) == other.shape[i]);
    CB_CHECK(tensor.view.data == data.data() + other.begin);
    CB_CHECK(tensor.view.bytes() == other.end - other.begin);
  }
}

void read(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto strict = strict_safetensors(text);
  SafetensorsContent content;
  try {
    content = read_safetensors(bytes, "fuzz");
  } catch (const Error&) {
    CB_CHECK(!strict);
    return;
  }
  CB_CHECK(strict);
  check_inside(bytes, content.tensors);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  check_same(bytes.subspan(8 + length), content.tensors, *strict);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read(std::as_bytes(std::span(data, size)));
  try {
    ShardIndex(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  } catch (const Error&) {
  }
  return 0;
}
