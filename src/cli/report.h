// What `report` and `reproduce all` print about a comparison of runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "cli/globals.h"
#include "eval/comparison.h"

namespace counterbeam::cli {

// The runs in these folders and below, compared.
Comparison read_comparison(const std::vector<std::string>& folders, bool quiet);

// The tables, and where the files are; not with --json.
void print_comparison(const Comparison& comparison, const std::filesystem::path& out,
                      const Globals& globals);

}  // namespace counterbeam::cli
