#include "cli/loading.h"

namespace counterbeam::cli {

LoadOptions load_options(const Globals& globals) {
  return {.device = globals.device,
          .dtype = globals.dtype,
          .threads = globals.threads,
          .progress = !globals.quiet && !globals.json,
          .cache_bytes = globals.cache_bytes};
}

LoadedModel load_model(const Globals& globals) {
  return LoadedModel::load(globals.model, load_options(globals));
}

}  // namespace counterbeam::cli
