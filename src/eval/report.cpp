#include "eval/report.h"

#include "base/file.h"
#include "base/json.h"
#include "base/page.h"

namespace counterbeam {

extern const std::string_view kReportPage;  // web/report.html

namespace {

Json to_json(const PublishedTable& table) {
  Json rows = Json::array();
  for (const PublishedTable::Row& row : table.rows) {
    Json values = Json::array();
    for (const auto& value : row.values) values.push_back(value ? Json(*value) : Json(nullptr));
    rows.push_back({{"name", row.name}, {"values", std::move(values)}});
  }
  return {{"columns", table.columns}, {"rows", std::move(rows)}};
}

Json to_json(const Sample& sample) {
  Json json = {{"task", sample.task},
               {"id", sample.id},
               {"method", sample.method},
               {"sample", sample.sample},
               {"answer", sample.answer},
               {"extracted", sample.extracted},
               {"correct", sample.correct},
               {"score", sample.score},
               {"generated_tokens", sample.generated_tokens},
               {"truncated", sample.truncated}};
  if (!sample.error.empty()) json["error"] = sample.error;
  if (!sample.state.empty()) json["state"] = sample.state;
  if (!sample.trace.empty()) json["trace"] = sample.trace;
  return json;
}

}  // namespace

std::string report_page(const EvalSummary& summary, const std::vector<Sample>& samples,
                        const ReportExtras& extras) {
  Json rows = Json::array();
  for (const Sample& sample : samples) rows.push_back(to_json(sample));
  const Json data = {{"title", extras.title},
                     {"summary", to_json(summary)},
                     {"published", to_json(extras.published)},
                     {"samples", std::move(rows)}};
  return page_with_data(kReportPage, "/*DATA*/", data);
}

EvalSummary write_reports(const std::filesystem::path& out, const ReportExtras& extras) {
  const std::vector<Sample> samples = read_samples(out / "samples.jsonl");
  EvalSummary summary = summarise(samples);
  write_file(out / "summary.json", to_json(summary).dump(2) + "\n");
  write_file(out / "report.html", report_page(summary, samples, extras));
  return summary;
}

}  // namespace counterbeam
