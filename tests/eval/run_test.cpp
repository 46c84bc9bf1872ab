// A run that was killed at any point and resumed gives the same file as an uninterrupted run: a
// record is cut at every byte.
#include "eval/run.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

using testing::TemporaryFolder;

const std::filesystem::path kSource = COUNTERBEAM_SOURCE_DIR;

TEST(EvalRun, ARecordCutAtAnyByteIsRunAgain) {
  LoadOptions load;
  load.device = "cpu";
  const LoadedModel model = LoadedModel::load((kSource / "models/tiny-dense").string(), load);
  const std::vector<TaskData> tasks = {load_task("tiny-math", kSource / "tasks", 0),
                                       load_task("tiny-choice", kSource / "tasks", 0)};
  const TemporaryFolder folder;
  EvalOptions options;
  options.methods = parse_methods("sample:max-tokens=2,low-temperature:max-tokens=1");
  options.limit = 1;
  options.deterministic = options.quiet = options.resume = true;
  options.out = folder.path() / "run";
  run_eval(model, tasks, options);
  const auto path = options.out / "samples.jsonl";
  const std::string whole = read_file(path);
  const std::size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  ASSERT_GT(last, 0u);
  ASSERT_GT(whole.size() - last, 200u);
  // Keeps everything before the record and the record up to each of its bytes; the last cut removes
  // only the line end.
  for (std::size_t kept = last; kept < whole.size(); ++kept) {
    write_file(path, whole.substr(0, kept));
    run_eval(model, tasks, options);
    ASSERT_EQ(read_file(path), whole) << "cut at byte " << kept - last << " of the record";
  }
}

}  // namespace
}  // namespace counterbeam
