#include "eval/report.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"
#include "base/page.h"
#include "eval/report_data.h"

namespace counterbeam {

extern const std::string_view kReportPage;  // web/report/

namespace {

Json to_json(const PublishedTable& table) {
  Json rows = Json::array();
  for (const PublishedTable::Row& row : table.rows) {
    Json values = Json::array();
    for (const auto& value : row.values) values.push_back(value ? Json(*value) : Json(nullptr));
    rows.push_back({{"name", row.name}, {"method", row.method}, {"values", std::move(values)}});
  }
  return {{"columns", table.columns}, {"rows", std::move(rows)}, {"notes", table.notes}};
}

Json to_json(const std::vector<ReportFigure>& figures) {
  Json json = Json::array();
  for (const ReportFigure& figure : figures)
    json.push_back({{"name", figure.name}, {"title", figure.title}, {"svg", figure.svg}});
  return json;
}

PublishedTable published_beside(const EvalSummary& summary, const ReportOrigin& origin) {
  std::vector<std::string> tasks, methods;
  for (const TaskSummary& task : summary.tasks) {
    tasks.push_back(task.task);
    for (const MethodSummary& method : task.methods) methods.push_back(method.method);
  }
  return published_figures(origin.experiment, origin.model, tasks, methods);
}

}  // namespace

std::string report_page(const EvalSummary& summary, const std::vector<Sample>& samples,
                        const std::vector<ProblemText>& problems, const ReportOrigin& origin) {
  const ReportData answers = report_data(samples, problems);
  const Json data = {{"experiment", origin.experiment},
                     {"model", origin.model},
                     {"run", origin.run.empty() ? Json() : parse_json(origin.run, "run.json")},
                     {"summary", to_json(summary)},
                     {"published", to_json(published_beside(summary, origin))},
                     {"figures", to_json(origin.figures)},
                     {"methods", answers.methods},
                     {"questions_per_piece", kQuestionsPerPiece}};
  std::string pieces;
  for (std::size_t i = 0; i < answers.pieces.size(); ++i)
    pieces += fmt::format("<script type=\"application/json\" id=\"answers-{}\">{}</script>\n", i,
                          answers.pieces[i]);
  // From the last place to the first, so that text of a model that reads like a place is not one.
  std::string page = page_with_text(kReportPage, "<!--ANSWERS-->\n", pieces);
  page = page_with_text(page, "/*QUESTIONS*/", answers.questions);
  return page_with_data(page, "/*DATA*/", data);
}

EvalSummary write_reports(const std::filesystem::path& out, ReportOrigin origin) {
  const std::vector<Sample> samples = read_samples(out / "samples.jsonl");
  EvalSummary summary = summarise(samples);
  write_file(out / "summary.json", to_json(summary).dump(2) + "\n");
  if (origin.run.empty() && std::filesystem::exists(out / "run.json"))
    origin.run = read_file(out / "run.json");
  write_file(out / "report.html", report_page(summary, samples, read_problem_texts(out), origin));
  return summary;
}

}  // namespace counterbeam
