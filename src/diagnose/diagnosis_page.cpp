#include "diagnose/diagnosis_page.h"

#include "base/json.h"
#include "base/page.h"

namespace counterbeam {

extern const std::string_view kDiagnosePage;  // web/diagnose/

std::string diagnosis_page(std::span<const TaskDiagnosis> tasks, const Json& run) {
  Json shown = Json::array();
  for (const TaskDiagnosis& task : tasks) {
    Json entry = to_json(task);
    entry["figures"] = Json::array();
    for (const Figure& figure : figures_of(task))
      entry["figures"].push_back(
          {{"name", figure.name}, {"title", figure.title}, {"svg", figure.svg}});
    shown.push_back(std::move(entry));
  }
  return page_with_data(kDiagnosePage, "/*DATA*/", {{"run", run}, {"tasks", std::move(shown)}});
}

}  // namespace counterbeam
