#include "eval/report.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"
#include "base/page.h"
#include "eval/figures.h"
#include "eval/report_data.h"
#include "eval/run_facts.h"

namespace counterbeam {

extern const std::string_view kReportPage;  // web/report/

namespace {

Json to_json(const std::vector<Figure>& figures) {
  Json json = Json::array();
  for (const Figure& figure : figures)
    json.push_back({{"name", figure.name}, {"title", figure.title}, {"svg", figure.svg}});
  return json;
}

}  // namespace

std::string report_page(const EvalSummary& summary, const std::vector<Sample>& samples,
                        const std::vector<ProblemText>& problems, const ReportOrigin& origin) {
  const ReportData answers = report_data(samples, problems);
  const PublishedTable published =
      published_figures(published_query(summary, origin.experiment, origin.model, origin.settings));
  // The page itself draws what any evaluation has.
  const std::vector<Figure> figures = origin.experiment.empty()
                                          ? std::vector<Figure>()
                                          : figures_of(origin.experiment, summary, published);
  const Json data = {{"experiment", origin.experiment},
                     {"model", origin.model},
                     {"run", origin.run.empty() ? Json() : parse_json(origin.run, "run.json")},
                     {"summary", to_json(summary)},
                     {"published", to_json(published)},
                     {"figures", to_json(figures)},
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
  write_json_file(out / "summary.json", to_json(summary));
  if (origin.run.empty() && std::filesystem::exists(out / "run.json"))
    origin.run = to_line(read_json_file(out / "run.json"));
  const RunFacts facts = read_run_facts(out);
  if (origin.experiment.empty()) origin.experiment = facts.experiment;
  if (origin.model.empty()) origin.model = facts.model;
  if (origin.settings.empty()) origin.settings = facts.settings;
  write_file(out / "report.html", report_page(summary, samples, read_problem_texts(out), origin));
  return summary;
}

}  // namespace counterbeam
