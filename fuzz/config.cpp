// Reads any bytes as a config.json: rejected, or read into a config whose invariants hold.
#include "model/config.h"

#include <cmath>
#include <cstdint>

#include "base/error.h"
#include "model/dry_load.h"

using namespace counterbeam;

namespace {

void check(const ModelConfig& config) {
  CB_CHECK(config.hidden > 0 && config.intermediate > 0 && config.vocab > 0);
  CB_CHECK(config.layer_count() > 0 && config.heads % config.kv_heads == 0);
  CB_CHECK(config.rope.width >= 2 && config.rope.width % 2 == 0);
  CB_CHECK(config.rope.width <= config.head_dim);
  for (const float frequency : inverse_frequencies(config.rope)) CB_CHECK(!std::isnan(frequency));
  CB_CHECK(config.kv_bytes_per_token(DType::F32) >= 0);
  CB_CHECK(config.state_bytes_per_sequence(DType::F32) >= 0);
  CB_CHECK(parameter_count(config) > 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    check(parse_config(parse_json(text, "fuzz"), "fuzz"));
  } catch (const Error&) {
  }
  return 0;
}
