#include "cli/engine_options.h"

namespace counterbeam::cli {

LocalOptions engine_options(const Globals& globals) {
  LocalOptions options;
  options.device = globals.device;
  if (globals.dtype == "f32") options.precision = Precision::F32;
  if (globals.dtype == "bf16") options.precision = Precision::Bf16;
  options.threads = globals.threads;
  options.cache_bytes = globals.cache_bytes;
  options.show_progress = !globals.quiet && !globals.json;
  return options;
}

}  // namespace counterbeam::cli
