// The global options as what a local engine takes, for commands that need no tokenizer.
#pragma once

#include "cli/command.h"
#include "engine/local_engine.h"

namespace counterbeam::cli {

LocalOptions engine_options(const Globals& globals);

}  // namespace counterbeam::cli
