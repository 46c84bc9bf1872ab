// The folders of finished and partial runs, as `report` reads them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "eval/run_facts.h"
#include "eval/samples.h"

namespace counterbeam {

struct ReportedRun {
  std::string folder;  // as the user names it
  RunFacts facts;
  std::vector<Sample> samples;
  std::size_t missing = 0;  // samples that it was asked for and that are not there yet
};

// The folders with a samples.jsonl: those given, and those found below the given ones, each once,
// by name. Throws an Error for a folder that does not exist and for one that holds no run.
std::vector<std::filesystem::path> find_runs(const std::vector<std::string>& given);

// Throws an Error that names the file and the line of a sample that cannot be read or that occurs
// twice. A last line without its end is not there yet.
ReportedRun read_reported_run(const std::filesystem::path& folder);

}  // namespace counterbeam
