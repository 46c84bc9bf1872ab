#include "eval/run_folder.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/output_file.h"
#include "eval/problem_texts.h"
#include "eval/provenance.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

}  // namespace

void claim_folder(const Json& run, const std::vector<TaskData>& tasks, const EvalOptions& options) {
  const fs::path path = options.out / "run.json", samples = options.out / "samples.jsonl";
  const bool used = fs::exists(samples) && fs::file_size(samples) > 0;
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
  write_file(path, claim.dump(2) + "\n");
  write_problem_texts(options.out, tasks);
  remove_partial_files(options.out);
}

}  // namespace counterbeam
