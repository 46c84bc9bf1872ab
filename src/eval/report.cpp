#include "eval/report.h"

#include <fmt/format.h>

#include <set>

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
    rows.push_back({{"name", row.name}, {"method", row.method}, {"values", std::move(values)}});
  }
  return {{"columns", table.columns}, {"rows", std::move(rows)}, {"notes", table.notes}};
}

// The report keeps the head and the tail of a long text: its beginning, and its answer.
constexpr std::size_t kHead = 2000, kTail = 4000;

std::string clipped(const std::string& text) {
  if (text.size() <= kHead + kTail) return text;
  const auto boundary = [&](std::size_t at) {  // do not cut inside a character
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
    return at;
  };
  const std::size_t head = boundary(kHead), tail = boundary(text.size() - kTail);
  return fmt::format("{}\n[... {} bytes are left out here ...]\n{}", text.substr(0, head),
                     tail - head, text.substr(tail));
}

Json to_json(const Sample& sample) {
  Json json = {{"task", sample.task},
               {"id", sample.id},
               {"method", sample.method},
               {"sample", sample.sample},
               {"answer", clipped(sample.answer)},
               {"extracted", clipped(sample.extracted)},
               {"correct", sample.correct},
               {"score", sample.score},
               {"generated_tokens", sample.generated_tokens},
               {"truncated", sample.truncated}};
  if (!sample.error.empty()) json["error"] = sample.error;
  if (!sample.state.empty()) json["state"] = sample.state;
  if (!sample.trace.empty()) json["trace"] = sample.trace;
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

// task -> id -> question and gold, for the problems that have samples.
Json to_json(const std::vector<ProblemText>& problems, const std::vector<Sample>& samples) {
  std::set<std::pair<std::string, std::string>> answered;
  for (const Sample& sample : samples) answered.emplace(sample.task, sample.id);
  Json tasks = Json::object();
  for (const ProblemText& problem : problems)
    if (answered.contains({problem.task, problem.id}))
      tasks[problem.task][problem.id] = {{"question", clipped(problem.question)},
                                         {"gold", clipped(problem.gold)}};
  return tasks;
}

}  // namespace

std::string report_page(const EvalSummary& summary, const std::vector<Sample>& samples,
                        const std::vector<ProblemText>& problems, const ReportOrigin& origin) {
  Json rows = Json::array();
  for (const Sample& sample : samples) rows.push_back(to_json(sample));
  const std::string title = origin.experiment.empty() ? origin.model
                            : origin.model.empty()    ? origin.experiment
                                                      : origin.experiment + ", " + origin.model;
  const Json data = {{"title", title},
                     {"summary", to_json(summary)},
                     {"published", to_json(published_beside(summary, origin))},
                     {"problems", to_json(problems, samples)},
                     {"samples", std::move(rows)}};
  return page_with_data(kReportPage, "/*DATA*/", data);
}

EvalSummary write_reports(const std::filesystem::path& out, const ReportOrigin& origin) {
  const std::vector<Sample> samples = read_samples(out / "samples.jsonl");
  EvalSummary summary = summarise(samples);
  write_file(out / "summary.json", to_json(summary).dump(2) + "\n");
  write_file(out / "report.html", report_page(summary, samples, read_problem_texts(out), origin));
  return summary;
}

}  // namespace counterbeam
