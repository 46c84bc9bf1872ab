#include "eval/comparison_report.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/make_folder.h"
#include "base/output_file.h"
#include "base/page.h"
#include "base/regular_file.h"
#include "eval/comparison_tables.h"

namespace counterbeam {

extern const std::string_view kComparisonPage;  // web/report/

namespace {

namespace fs = std::filesystem;

template <typename Visit>
void for_each_figure(const Comparison& comparison, const Visit& visit) {
  for (const Figure& figure : comparison.figures) visit(figure);
  for (const ComparedExperiment& one : comparison.experiments)
    for (const Figure& figure : one.figures) visit(figure);
}

// The page of a run, as a link from `root`; empty if it has none.
std::string page_of(const std::string& folder, const fs::path& root) {
  const fs::path page = fs::path(folder) / "report.html";
  if (!fs::exists(page)) return "";
  return fs::relative(fs::canonical(page), fs::weakly_canonical(root)).generic_string();
}

// The files of an earlier report in this folder. Only names that a report gives count, whatever the
// list says.
std::vector<std::string> earlier_files(const fs::path& out) {
  std::vector<std::string> files;
  const fs::path path = out / "report.json";
  if (!fs::exists(path)) return files;
  try {
    const Json report = read_json_file(path);
    for (const Json& file : report.at("files")) {
      const fs::path name = file.get<std::string>();
      const std::string folder = name.parent_path().string();
      if ((folder == "tables" || folder == "figures") && name.has_filename())
        files.push_back(name.string());
    }
  } catch (const std::exception&) {
    bad_input("{}: is not of an earlier report; move it away, or name another folder with --out",
              path.string());
  }
  return files;
}

}  // namespace

std::string comparison_page(const Comparison& comparison, const fs::path& root) {
  Json data = to_json(comparison);
  for (Json& run : data["runs"]) run["page"] = page_of(run["folder"].get<std::string>(), root);
  Json drawings = Json::object();
  for_each_figure(comparison, [&](const Figure& figure) { drawings[figure.name] = figure.svg; });
  data["drawings"] = std::move(drawings);
  return page_with_data(kComparisonPage, "/*DATA*/", data);
}

Json write_comparison(const Comparison& comparison, const fs::path& out) {
  if (fs::exists(out) && !fs::is_directory(out))
    bad_input("{}: is a file; name a folder with --out", out.string());
  if (fs::exists(out / "samples.jsonl"))
    bad_input("{}: is the folder of a run; name another with --out", out.string());
  for (const char* name : {"index.html", "report.json"}) refuse_irregular(out / name);
  for (const std::string& file : earlier_files(out)) fs::remove(out / file);
  make_folder(out / "tables");
  make_folder(out / "figures");
  for (const fs::path& folder : {out, out / "tables", out / "figures"})
    remove_partial_files(folder);
  std::vector<std::string> files = {"index.html"};
  const auto write = [&](const std::string& name, const std::string& content) {
    write_file(out / name, content);
    files.push_back(name);
  };
  const std::vector<ResultTable> tables = result_tables(comparison);
  for (const ResultTable& table : tables) {
    write("tables/" + table.name + ".csv", csv_text(table.csv));
    write("tables/" + table.name + ".tex", latex_text(table));
  }
  write("tables/all.tex", latex_document(tables));
  for_each_figure(comparison, [&](const Figure& figure) {
    write("figures/" + figure.name + ".svg", figure.svg);
  });
  write_file(out / "index.html", comparison_page(comparison, out));
  Json json = to_json(comparison);
  json["files"] = std::move(files);
  write_json_file(out / "report.json", json);
  return json;
}

}  // namespace counterbeam
