#include "search/engine_options.h"

#include "base/error.h"
#include "base/quote.h"

namespace counterbeam {
namespace {

std::optional<Precision> precision_named(const std::string& dtype) {
  if (dtype == "auto") return std::nullopt;
  if (dtype == "f32") return Precision::F32;
  if (dtype == "bf16") return Precision::Bf16;
  bad_input("dtype {} is not known (known: auto, f32, bf16)", in_quotes(dtype));
}

}  // namespace

LocalOptions engine_options(const LoadOptions& options) {
  if (!options.engine.empty())
    bad_input("--engine: this needs the weights of the model in this process; leave it out");
  LocalOptions local;
  local.device = options.device;
  local.precision = precision_named(options.dtype);
  local.threads = options.threads;
  local.cache_bytes = options.cache_bytes;
  local.show_progress = options.progress;
  return local;
}

}  // namespace counterbeam
