#include "eval/presets.h"

#include <fmt/ranges.h>

#include "base/closest.h"
#include "base/error.h"
#include "search/contexts.h"

namespace counterbeam {
namespace {

std::vector<std::string> reranking_by_pairs() {
  std::vector<std::string> methods = {"beam", "best-of-n"};
  for (const ContextPair& pair : named_contexts()) {
    if (pair.name == "neutral") continue;
    for (const char* steer : {"0.25", "0.7"})
      methods.push_back(fmt::format("best-of-n:steer={}:contexts={}", steer, pair.name));
  }
  return methods;
}

// Power sampling with a fraction of the paper's rollouts, for --quick.
std::string light_power(std::string_view temperature) {
  return fmt::format("power:temperature={}:draws=8:candidates=8:rollouts=4", temperature);
}

}  // namespace

std::span<const Preset> presets() {
  static const std::vector<Preset> kPresets = {
      {.name = "table1",
       .about = "sampling, low temperature, beam search, power sampling and CBS",
       .methods = {"sample", "low-temperature", "beam", "power:temperature=0.25",
                   "power:temperature=1", "cbs:steer=0.25", "cbs:steer=0.7"},
       .quick_methods = {"sample", "low-temperature", "beam", light_power("0.25"), light_power("1"),
                         "cbs:steer=0.25", "cbs:steer=0.7"},
       .quick_limit = 24},
      {.name = "contexts",
       .about = "no contexts, neutral ones and contrastive ones, at 1/alpha 0.25 and 0.7",
       .methods = {"cbs:contexts=none", "cbs:steer=0.25:contexts=neutral",
                   "cbs:steer=0.7:contexts=neutral", "cbs:steer=0.25", "cbs:steer=0.7"}},
      {.name = "pairs",
       .about = "ten context pairs as rerankers of 16 samples, at 1/alpha 0.25 and 0.7, and beam "
                "search",
       .methods = reranking_by_pairs()},
      {.name = "population",
       .about = "beam search with 16 and 24 beams against CBS",
       .methods = {"beam", "beam:beams=24", "cbs:steer=0.25", "cbs:steer=0.7"}},
      {.name = "block-size",
       .about = "CBS with blocks of 8 to 128 tokens",
       .methods = {"cbs:block=8", "cbs:block=16", "cbs:block=32", "cbs:block=64", "cbs:block=128"}},
      {.name = "pass-at-k",
       .about = "four samples of beam search, power sampling and CBS: pass@1 to pass@4",
       .methods = {"beam", "power:temperature=0.25", "cbs:steer=0.25", "cbs:steer=0.7"},
       .samples = 4,
       .quick_methods = {"beam", light_power("0.25"), "cbs:steer=0.25", "cbs:steer=0.7"},
       .quick_limit = 8},
      {.name = "efficiency",
       .about = "tokens and seconds per prompt, one search at a time",
       .methods = {"sample", "low-temperature", "beam", "beam:beams=24", "cbs:steer=0.25",
                   "cbs:steer=0.7"},
       .quick_limit = 12,
       .concurrency = 1},
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
