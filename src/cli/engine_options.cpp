#include "cli/engine_options.h"

#include "base/error.h"

namespace counterbeam::cli {

LocalOptions engine_options(const Globals& globals) {
  if (globals.device == "cuda") {
    bad_input("--device cuda: this build computes on the CPU only; use --device cpu or auto");
  }
  LocalOptions options;
  if (globals.dtype == "f32") options.precision = Precision::F32;
  if (globals.dtype == "bf16") options.precision = Precision::Bf16;
  options.threads = globals.threads;
  options.show_progress = !globals.quiet && !globals.json;
  return options;
}

}  // namespace counterbeam::cli
