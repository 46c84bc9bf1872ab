// Several experiments, or one on several models, one after the other.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/eval_options.h"

namespace counterbeam::cli {

// An experiment that is ready to run: its methods are resolved.
struct PreparedExperiment {
  std::string name;
  EvalCommand eval;
};

// The models of --model A,B; the name of an existing folder is one model, commas or not. Error for
// an empty or repeated item.
std::vector<std::string> models_named(const std::string& list);

// Runs every experiment on every model, each in a folder of its own under `out`: EXPERIMENT,
// MODEL, or MODEL/EXPERIMENT, as there are several of them. A model is loaded once. Then compares
// all of them in out/report. What fails is named, the others go on, and in the end it is a Failed
// error. Throws Cancelled after Ctrl-C; finished samples are kept.
void reproduce_several(std::vector<PreparedExperiment> experiments,
                       const std::vector<std::string>& models, const std::filesystem::path& out,
                       const Globals& globals);

}  // namespace counterbeam::cli
