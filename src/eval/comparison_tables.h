// The tables of a comparison, as `report` writes them.
#pragma once

#include <vector>

#include "eval/comparison.h"
#include "eval/result_table.h"

namespace counterbeam {

// accuracy: methods by model and task; paper-NAME: the same for each experiment of the paper;
// published: the paper's figures beside ours; costs; pass-at-k; differences: between methods;
// models: between models; runs. Tables without a row are left out.
std::vector<ResultTable> result_tables(const Comparison& comparison);

}  // namespace counterbeam
