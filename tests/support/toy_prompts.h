// The prompts of a search on the toy engine, as build_prompts() makes them from settings.
#pragma once

#include "search/settings.h"
#include "theory/toy_engine.h"

namespace counterbeam::testing {

inline Prompts toy_prompts(const ToyEngine& engine, const Settings& settings) {
  Prompts prompts = engine.prompts(uses_contexts(settings));
  if (prompts.contrast() && settings.contrast == "positive") prompts.negative = prompts.base;
  if (prompts.contrast() && settings.contrast == "negative") prompts.positive = prompts.base;
  return prompts;
}

}  // namespace counterbeam::testing
