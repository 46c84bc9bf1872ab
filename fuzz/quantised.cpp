// Reads any bytes as quantization_config and as a checkpoint of one quantised module: rejected, or
// read into a matrix whose rows can be decoded, alone and stacked with a second module. The first
// four bytes say the sizes of the module, a line break ends the config, and the rest is a
// safetensors file.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

#include "backend/code_form.h"
#include "base/error.h"
#include "base/json.h"
#include "model/quant_tensors.h"

using namespace counterbeam;

namespace {

// One folder per process; the file is replaced for every input.
std::filesystem::path folder() {
  static const std::filesystem::path path = [] {
    std::string name =
        (std::filesystem::temp_directory_path() / "counterbeam-fuzz-quantised-XXXXXX").string();
    CB_CHECK(mkdtemp(name.data()) != nullptr);
    return std::filesystem::path(name);
  }();
  return path;
}

void decode(std::span<const StoredMatrix> parts) {
  const auto form = common_form(parts);
  std::vector<float> row(static_cast<std::size_t>(parts[0].in()));
  std::vector<std::uint8_t> codes(row.size());
  for (const StoredMatrix& matrix : parts)
    for (int i = 0; i < matrix.out(); ++i) {
      matrix.read_row(i, 0, row);
      if (!form) continue;
      std::vector<float> scales(static_cast<std::size_t>(form->groups)), offsets(scales.size());
      read_codes(*form, matrix, i, 0, codes);
      read_scales(*form, matrix, i, scales, offsets);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  const int out = 1 + (data[0] | (data[1] & 1) << 8), in = 1 + (data[2] | (data[3] & 1) << 8);
  const std::string_view rest(reinterpret_cast<const char*>(data) + 4, size - 4);
  const std::size_t line = std::min(rest.find('\n'), rest.size());
  try {
    const std::optional<QuantConfig> config =
        parse_quant_config(parse_json(rest.substr(0, line), "fuzz"), "fuzz", "q.");
    config->description();
    std::ofstream file(folder() / "model.safetensors", std::ios::binary);
    file << rest.substr(std::min(line + 1, rest.size()));
    file.close();
    const Checkpoint checkpoint = Checkpoint::open(folder());
    const QuantTensors tensors(checkpoint, config);
    std::vector<std::string> names;
    std::vector<StoredMatrix> parts;
    for (const char* module : {"m", "n"}) {
      if (!tensors.has(module)) continue;
      parts.push_back(tensors.read(module, out, in, names));
      decode(std::span(parts).last(1));
    }
    if (parts.size() == 2) decode(parts);
  } catch (const Error&) {
  }
  return 0;
}
