// diagnose.html: the diagnosis as one self-contained page, and its charts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "diagnose/diagnosis.h"
#include "eval/figures.h"

namespace counterbeam {

std::vector<Figure> figures_of(const TaskDiagnosis& diagnosis);

// `run` says where the figures come from and is shown at the top of the page.
std::string diagnosis_page(std::span<const TaskDiagnosis> tasks, const Json& run);

}  // namespace counterbeam
