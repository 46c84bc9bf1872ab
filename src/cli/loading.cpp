#include "cli/loading.h"

#include <cstdlib>

#include "base/log.h"
#include "base/output.h"

namespace counterbeam::cli {

LoadOptions load_options(const Globals& globals) {
  const char* key = std::getenv("COUNTERBEAM_ENGINE_KEY");
  return {.device = globals.device,
          .dtype = globals.dtype,
          .activations = globals.activations,
          .threads = globals.threads,
          .progress = !globals.quiet && !globals.json,
          .cache_bytes = globals.cache_bytes,
          .cache_dtype = globals.cache_dtype,
          .engine = globals.engine,
          .engine_key = globals.engine_key.empty() && key ? key : globals.engine_key,
          .engine_model = globals.engine_model};
}

LoadedModel load_model(const Globals& globals, const std::string& stop_at) {
  LoadOptions options = load_options(globals);
  options.stop_at = stop_at;
  LoadedModel model = LoadedModel::load(globals.model, options);
  if (model.ships()) announce_toy(model.name(), globals);
  Log log(globals.quiet);
  for (const std::string& warning : model.warnings()) log.warning("{}", warning);
  return model;
}

void announce_toy(const std::string& model, const Globals& globals) {
  if (globals.quiet || globals.json) return;
  print_message(
      "[{} is a toy of 5 M parameters that ships with Counterbeam and knows little but small "
      "arithmetic; --model takes your own]\n",
      model);
}

}  // namespace counterbeam::cli
