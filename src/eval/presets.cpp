#include "eval/presets.h"

#include <fmt/ranges.h>

#include "base/closest.h"
#include "base/error.h"
#include "search/contexts.h"

namespace counterbeam {
namespace {

std::vector<std::string> reranking_by_pairs() {
  std::vector<std::string> methods = {"best-of-n"};
  for (const ContextPair& pair : named_contexts()) {
    if (pair.name == "neutral") continue;
    for (const char* steer : {"0.25", "0.7"})
      methods.push_back(fmt::format("best-of-n:steer={}:contexts={}", steer, pair.name));
  }
  return methods;
}

}  // namespace

std::span<const Preset> presets() {
  static const std::vector<Preset> kPresets = {
      {"table1",
       "sampling, low temperature, beam search, power sampling and CBS",
       {"sample", "low-temperature", "beam", "power:temperature=0.25", "power:temperature=1",
        "cbs:steer=0.25", "cbs:steer=0.7"},
       1,
       {"sample", "low-temperature", "beam",
        "power:temperature=0.25:draws=8:candidates=8:rollouts=4",
        "power:temperature=1:draws=8:candidates=8:rollouts=4", "cbs:steer=0.25", "cbs:steer=0.7"},
       40},
      {"contexts",
       "no contexts, neutral ones, contrastive ones",
       {"cbs:contexts=none", "cbs:steer=0.25:contexts=neutral", "cbs:steer=0.25"},
       1,
       {}},
      {"pairs",
       "ten context pairs as rerankers of 16 samples, at 1/alpha 0.25 and 0.7",
       reranking_by_pairs(),
       1,
       {}},
      {"population",
       "beam search with 16 and 24 beams against CBS",
       {"beam", "beam:beams=24", "cbs:steer=0.25", "cbs:steer=0.7"},
       1,
       {}},
      {"block-size",
       "CBS with blocks of 8 to 128 tokens",
       {"cbs:block=8", "cbs:block=16", "cbs:block=32", "cbs:block=64", "cbs:block=128"},
       1,
       {}},
      {"pass-at-k",
       "four samples of power sampling and CBS: pass@1 to pass@4",
       {"power:temperature=0.25", "cbs:steer=0.25", "cbs:steer=0.7"},
       4,
       {"power:temperature=0.25:draws=8:candidates=8:rollouts=4", "cbs:steer=0.25",
        "cbs:steer=0.7"},
       12},
      {"efficiency",
       "seconds and tokens per prompt, one search at a time",
       {"sample", "beam", "cbs:steer=0.25"},
       1,
       {},
       24,
       1},
  };
  return kPresets;
}

const Preset& preset_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Preset& preset : presets()) {
    if (preset.name == name) return preset;
    names.push_back(preset.name);
  }
  bad_input("experiment \"{}\" is not known; known: {}{}", name, fmt::join(names, ", "),
            did_you_mean(name, names));
}

}  // namespace counterbeam
