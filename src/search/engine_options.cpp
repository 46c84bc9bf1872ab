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

CacheType cache_type_named(const std::string& dtype) {
  if (dtype == "auto") return CacheType::Plain;
  if (dtype == "fp8") return CacheType::Fp8;
  if (dtype == "int8") return CacheType::Int8;
  bad_input("cache dtype {} is not known (known: auto, fp8, int8)", in_quotes(dtype));
}

Activations activations_named(const std::string& name) {
  if (name == "auto") return Activations::Float;
  if (name == "int8") return Activations::Int8;
  bad_input("activations {} are not known (known: auto, int8)", in_quotes(name));
}

}  // namespace

LocalOptions engine_options(const LoadOptions& options) {
  if (!options.engine.empty())
    bad_input("--engine: this needs the weights of the model in this process; leave it out");
  LocalOptions local;
  local.device = options.device;
  local.precision = precision_named(options.dtype);
  local.activations = activations_named(options.activations);
  local.threads = options.threads;
  local.cache_bytes = options.cache_bytes;
  local.cache_type = cache_type_named(options.cache_dtype);
  local.show_progress = options.progress;
  return local;
}

}  // namespace counterbeam
