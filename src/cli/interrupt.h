// Ctrl-C for commands that run long.
#pragma once

#include "engine/engine.h"

namespace counterbeam::cli {

// Cancelled by the first Ctrl-C from now on; a second one ends the program at once.
const Cancellation& cancelled_by_ctrl_c();

}  // namespace counterbeam::cli
