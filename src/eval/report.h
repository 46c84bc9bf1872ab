// report.html: an evaluation as one self-contained page.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "eval/problem_texts.h"
#include "eval/published.h"
#include "eval/summary.h"

namespace counterbeam {

// What the samples belong to, for the title and the paper's figures; both may be empty.
struct ReportOrigin {
  std::string experiment;  // a name of presets()
  std::string model;
};

// Long texts are clipped: head and tail stay.
std::string report_page(const EvalSummary& summary, const std::vector<Sample>& samples,
                        const std::vector<ProblemText>& problems, const ReportOrigin& origin = {});

// Sums OUT/samples.jsonl up into OUT/summary.json and OUT/report.html, with what OUT/problems.jsonl
// says was asked.
EvalSummary write_reports(const std::filesystem::path& out, const ReportOrigin& origin = {});

}  // namespace counterbeam
