// report.html: the results of an evaluation as one self-contained page.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "eval/problem_texts.h"
#include "eval/published.h"
#include "eval/summary.h"

namespace counterbeam {

// The experiment and model of the samples, for the title and the paper's figures. Both may be
// empty.
struct ReportOrigin {
  std::string experiment;  // a name of presets()
  std::string model;
};

// Long texts are shortened to their head and tail.
std::string report_page(const EvalSummary& summary, const std::vector<Sample>& samples,
                        const std::vector<ProblemText>& problems, const ReportOrigin& origin = {});

// Summarises OUT/samples.jsonl into OUT/summary.json and OUT/report.html, with the questions of
// OUT/problems.jsonl.
EvalSummary write_reports(const std::filesystem::path& out, const ReportOrigin& origin = {});

}  // namespace counterbeam
