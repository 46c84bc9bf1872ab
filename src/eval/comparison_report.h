// The folder that `report` writes: index.html, report.json, tables/ and figures/.
#pragma once

#include <filesystem>

#include "base/json_fwd.h"
#include "eval/comparison.h"

namespace counterbeam {

// The page of a comparison, self-contained. `root` is the folder that it will stand in: links to
// the pages of runs are relative to it.
std::string comparison_page(const Comparison& comparison, const std::filesystem::path& root);

// Writes index.html, tables/NAME.csv and NAME.tex, tables/all.tex, figures/NAME.svg, and
// report.json with the comparison and the list of "files", which is also returned. What an earlier
// report.json lists and this one does not is removed; nothing else is.
Json write_comparison(const Comparison& comparison, const std::filesystem::path& out);

}  // namespace counterbeam
