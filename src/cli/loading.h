// The global options as what loading a model takes.
#pragma once

#include "cli/globals.h"
#include "counterbeam/counterbeam.h"

namespace counterbeam::cli {

inline LoadOptions load_options(const Globals& globals) {
  return {globals.device, globals.dtype, globals.threads, !globals.quiet && !globals.json,
          globals.cache_bytes};
}

}  // namespace counterbeam::cli
