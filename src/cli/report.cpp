// `report`: several runs and models in one comparison, with files for papers.
#include "cli/report.h"

#include <memory>

#include "base/json.h"
#include "base/output.h"
#include "base/progress.h"
#include "cli/commands.h"
#include "eval/comparison_report.h"
#include "eval/reported_run.h"

namespace counterbeam::cli {

Comparison read_comparison(const std::vector<std::string>& folders, bool quiet) {
  const std::vector<std::filesystem::path> found = find_runs(folders);
  std::vector<ReportedRun> runs;
  Progress progress("reading runs", static_cast<std::int64_t>(found.size()), quiet);
  for (const std::filesystem::path& folder : found) {
    runs.push_back(read_reported_run(folder));
    progress.add();
  }
  return compare_runs(std::move(runs));
}

void print_comparison(const Comparison& comparison, const std::filesystem::path& out,
                      const Globals& globals) {
  print_result("{}", to_table(comparison));
  if (!globals.quiet)
    print_result("\nindex.html, report.json, tables/ and figures/ are in {}\n", out.string());
}

Command report_command(const Globals& globals) {
  struct Report {
    std::vector<std::string> folders;
    std::string out = "report";
  };
  const auto options = std::make_shared<Report>();
  return {
      .name = "report",
      .summary = "Compare runs and models in one page, with CSV, LaTeX and SVG files",
      .description =
          "Reads the folders of eval, reproduce and merge, finished or not; a folder that holds "
          "several of them is searched. Runs of one model are combined, methods are compared "
          "within a model, and models are compared on the same problems. Runs that cannot be "
          "compared are shown separately, with a note that says why.",
      .arguments = {{.name = "DIR",
                     .value = repeated(options->folders, "FOLDER"),
                     .help = "Folders of runs, or folders that contain such folders",
                     .required = true}},
      .options = {{.name = "--out",
                   .value = folder(options->out),
                   .help = "Folder for index.html, report.json, tables/*.csv and *.tex, and "
                           "figures/*.svg"}},
      .examples = {"counterbeam report runs/all", "counterbeam report runs/a runs/b --out compared",
                   "cd report/tables && pdflatex all.tex"},
      .run = [options, &globals] {
        const Comparison comparison =
            read_comparison(options->folders, globals.quiet || globals.json);
        const Json json = write_comparison(comparison, options->out);
        if (globals.json)
          print_result("{}\n", to_line(json));
        else
          print_comparison(comparison, options->out, globals);
      }};
}

}  // namespace counterbeam::cli
