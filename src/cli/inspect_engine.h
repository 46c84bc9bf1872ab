// inspect --engine: what probing found out about servers, and what a block of a search costs there.
#pragma once

#include "cli/globals.h"

namespace counterbeam::cli {

void inspect_engine(int beams, const Globals& globals);

}  // namespace counterbeam::cli
