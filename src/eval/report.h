// report.html: the results of an evaluation as one self-contained page.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "eval/problem_texts.h"
#include "eval/published.h"
#include "eval/summary.h"

namespace counterbeam {

// Where the samples come from: the title, the paper's figures beside ours, and the header of the
// report. Everything may be empty.
struct ReportOrigin {
  std::string experiment;  // a name of presets()
  std::string model;
  std::string run{};                              // the content of run.json
  std::map<std::string, std::string> settings{};  // of methods, as in RunFacts
};

// Long texts are shortened to their head and tail, more so in a report that would be very large.
std::string report_page(const EvalSummary& summary, const std::vector<Sample>& samples,
                        const std::vector<ProblemText>& problems, const ReportOrigin& origin = {});

// Summarises OUT/samples.jsonl into OUT/summary.json and OUT/report.html, with the questions of
// OUT/problems.jsonl and the provenance of OUT/run.json.
EvalSummary write_reports(const std::filesystem::path& out, ReportOrigin origin = {});

}  // namespace counterbeam
