// report.html: an evaluation as one self-contained page.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "eval/problem_texts.h"
#include "eval/summary.h"

namespace counterbeam {

// Figures of the paper for the model and tasks at hand; rows in the paper's order.
struct PublishedTable {
  struct Row {
    std::string name;
    std::vector<std::optional<double>> values;
  };
  std::vector<std::string> columns;
  std::vector<Row> rows;
};

struct ReportExtras {
  std::string title;
  PublishedTable published;
};

// Long texts are clipped: head and tail stay.
std::string report_page(const EvalSummary& summary, const std::vector<Sample>& samples,
                        const std::vector<ProblemText>& problems, const ReportExtras& extras = {});

// Sums OUT/samples.jsonl up into OUT/summary.json and OUT/report.html, with what OUT/problems.jsonl
// says was asked.
EvalSummary write_reports(const std::filesystem::path& out, const ReportExtras& extras = {});

}  // namespace counterbeam
