// The options of the public interface as those of a local engine: the one place that maps them.
#pragma once

#include "counterbeam/counterbeam.h"
#include "engine/local_engine.h"

namespace counterbeam {

// An Error for a dtype, of the weights or of the cache, or activations that are not known.
LocalOptions engine_options(const LoadOptions& options);

}  // namespace counterbeam
