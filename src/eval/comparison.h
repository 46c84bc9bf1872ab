// Several runs in one comparison: methods within a model, and models on the same problems.
//
// Runs of the same model with the same weights, precision, device and seed belong together; what
// else differs (settings, problems, prompts) gets a row or column of its own and is never mixed.
// A method that several runs have is shown from one of them, so that every figure is also found in
// the summary of a run. All statistics are those of summarise().
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "eval/figures.h"
#include "eval/published.h"
#include "eval/reported_run.h"
#include "eval/summary.h"

namespace counterbeam {

// A run in the list of runs.
struct ComparedRun {
  std::string folder, experiment, model;  // model: the label of its ComparedModel
  std::string dtype, device, seed, version;
  std::vector<std::string> tasks;
  std::size_t methods = 0, samples = 0, failed = 0, missing = 0;
};

// A model as it ran.
struct ComparedModel {
  std::string label;  // its name, and what tells it from others of the same name
  std::string name;   // as run.json has it; may be empty
  std::string dtype, device, seed;
  EvalSummary summary;       // over all its runs; a task that was asked in two ways is there twice
  PublishedTable published;  // the paper's main table
  std::map<std::pair<std::string, std::string>, std::string> sources;  // task, method: the folder
};

// An experiment of the paper on one model, or the other runs of that model (name empty).
struct ComparedExperiment {
  std::string experiment, model;
  std::vector<std::string> folders;
  EvalSummary summary;
  PublishedTable published;
  std::vector<Figure> figures;
};

// One method, the models in place of the methods: `pairs` of a task are between models.
struct ComparedMethod {
  std::string method;
  EvalSummary by_model;
};

struct Comparison {
  std::vector<ComparedRun> runs;
  std::vector<ComparedModel> models;
  std::vector<ComparedExperiment> experiments;
  std::vector<ComparedMethod> methods;  // those that at least two models ran on the same problems
  std::vector<Figure> figures;          // accuracy per task, all models
  std::vector<std::string> notes;       // what is partial, what is not compared and why
};

// Throws an Error if no run has a sample.
Comparison compare_runs(std::vector<ReportedRun> runs);

Json to_json(const Comparison& comparison);

// For the terminal: the table of every model with the paper's figures, the models against each
// other, and the notes.
std::string to_table(const Comparison& comparison);

}  // namespace counterbeam
