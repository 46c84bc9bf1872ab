#include "eval/run_folder.h"

#include "base/error.h"
#include "base/json.h"
#include "base/output_file.h"
#include "base/regular_file.h"
#include "eval/foreign_samples.h"
#include "eval/problem_texts.h"
#include "eval/provenance.h"

namespace counterbeam {
namespace fs = std::filesystem;

bool has_samples(const fs::path& folder) {
  const fs::path path = folder / "samples.jsonl";
  std::error_code error;
  if (!fs::exists(path, error) && !error) return false;
  return size_of(open_regular_file(path), path) > 0;
}

void check_run_files(const fs::path& folder) {
  for (const char* name :
       {"run.json", "problems.jsonl", "samples.jsonl", "summary.json", "report.html"})
    refuse_irregular(folder / name);
}

void claim_folder(const Json& run, const std::vector<TaskData>& tasks, const EvalOptions& options) {
  const fs::path path = options.out / "run.json";
  check_run_files(options.out);
  const bool used = has_samples(options.out);
  if (used && !options.resume)
    bad_input(
        "{}: has samples of an earlier run; add --resume to continue it, or name another "
        "--out",
        options.out.string());
  const Json claim =
      used ? joined_runs(read_run(options.out), run,
                         fmt::format("{}: the samples there are of another run; give the same "
                                     "options, or name another --out",
                                     path.string()))
           : run;
  if (used) refuse_foreign_samples(options.out, tasks);
  write_problem_texts(options.out, tasks);  // first: refuses a problems.jsonl that is not ours
  write_json_file(path, claim);
  remove_partial_files(options.out);
  remove_partial_files(options.out / "traces");
}

}  // namespace counterbeam
