// Reads any bytes as a safetensors file: rejected, or read into tensors that lie inside the file,
// cover it, and can be converted.
#include "tensor/safetensors.h"

#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "tensor/shard_index.h"

using namespace counterbeam;

namespace {

void read(std::span<const std::byte> bytes) {
  std::size_t covered = 0;
  for (const NamedTensor& tensor : read_safetensors(bytes, "fuzz").tensors) {
    CB_CHECK(tensor.view.data >= bytes.data());
    CB_CHECK(tensor.view.data + tensor.view.bytes() <= bytes.data() + bytes.size());
    covered += tensor.view.bytes();
    if (converts_to_f32(tensor.view.dtype)) to_f32(tensor.view);
  }
  CB_CHECK(covered <= bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    read(std::as_bytes(std::span(data, size)));
  } catch (const Error&) {
  }
  try {
    ShardIndex(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  } catch (const Error&) {
  }
  return 0;
}
