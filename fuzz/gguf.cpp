// Reads any bytes as a GGUF model: rejected, or read into keys and tensors that lie inside the
// file. Blocks are decoded, and config, tokenizer and chat template are read where there are any.
#include "tensor/gguf.h"

#include <cstdint>
#include <string>

#include "base/error.h"
#include "model/dry_load.h"
#include "model/gguf_model.h"
#include "scratch_file.h"
#include "tensor/block_matrix.h"

using namespace counterbeam;

namespace {

bool is_inside(std::span<const std::byte> part, std::span<const std::byte> whole) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

void read_container(std::span<const std::byte> bytes) {
  const GgufContent content = read_gguf(bytes, "fuzz");
  for (const GgufKey& key : content.keys) {
    CB_CHECK(is_inside(key.value.bytes, bytes));
    key.value.integer();
    key.value.number();
    if (key.value.kind == GgufKind::String)
      key.value.each_string([&](std::string_view text) {
        CB_CHECK(is_inside(std::as_bytes(std::span(text)), bytes));
      });
  }
  for (const GgufTensor& tensor : content.tensors) {
    CB_CHECK(is_inside(tensor.data, bytes));
    if (!is_block_type(tensor.type) || tensor.data.empty() || tensor.shape.rank() == 0) continue;
    const int in = static_cast<int>(tensor.shape[tensor.shape.rank() - 1]);
    std::vector<float> row(static_cast<std::size_t>(in));
    BlockMatrix{1, in, tensor.type, tensor.data.data()}.read(0, 0, row);
  }
}

template <typename Part>
void try_part(Part part) {
  try {
    part();
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    read_container(bytes);
  } catch (const Error&) {
    return 0;
  }
  static const ScratchFolder folder;
  const auto path = folder.write("model", {reinterpret_cast<const char*>(data), size});
  const GgufModel model(path);
  model.name();
  try_part([&] {
    const ModelConfig config = model.config();
    if (config.layer_count() < 64) dry_load(config, *model.weights(config));
  });
  try_part([&] { model.tokenizer().encode("The quick brown fox, it's 2024!\n"); });
  try_part([&] { model.chat_template(); });
  return 0;
}
