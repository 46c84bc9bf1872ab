// Loads the model that the global options name.
#pragma once

#include "cli/globals.h"
#include "search/loaded_model.h"

namespace counterbeam::cli {

LoadOptions load_options(const Globals& globals);

// `stop_at` as LoadOptions::stop_at.
LoadedModel load_model(const Globals& globals, const std::string& stop_at = "turn");

// Says that a model which ships is a toy, unless -q or --json is given.
void announce_toy(const std::string& model, const Globals& globals);

}  // namespace counterbeam::cli
