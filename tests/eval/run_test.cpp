// A run that was killed at any point and resumed gives the same file as an uninterrupted run: a
// record is cut at every byte.
#include "eval/run.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "support/temporary_folder.h"
#include "support/test_size.h"

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
  constexpr auto kStep = testing::sized<std::size_t>(1, 41);
  for (std::size_t kept = last; kept < whole.size(); kept += kStep) {
    write_file(path, whole.substr(0, kept));
    run_eval(model, tasks, options);
    ASSERT_EQ(read_file(path), whole) << "cut at byte " << kept - last << " of the record";
  }
}

// Records that another run left in the folder would be counted among its own.
TEST(EvalRun, SamplesOfAnotherRunAreRefusedBeforeAnythingIsWritten) {
  const LoadedModel model =
      LoadedModel::load((kSource / "models/tiny-dense").string(), {.device = "cpu"});
  const std::vector<TaskData> tasks = {load_task("tiny-math", kSource / "tasks", 0)};
  const TemporaryFolder folder;
  EvalOptions options;
  options.methods = parse_methods("sample:max-tokens=2");
  options.limit = 2;
  options.deterministic = options.quiet = options.resume = true;
  options.out = folder.path() / "run";
  run_eval(model, tasks, options);
  const auto path = options.out / "samples.jsonl", record = options.out / "run.json";
  const std::string whole = read_file(path), run = read_file(record);
  const std::string line = whole.substr(0, whole.find('\n') + 1);
  const auto refusal = [&] {
    try {
      run_eval(model, tasks, options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const auto changed = [&](const char* key, const Json& value) {
    Json json = Json::parse(line);
    json[key] = value;
    return json.dump() + "\n" + whole.substr(line.size());
  };
  const std::pair<const char*, Json> foreign[] = {
      {"task", "tiny-choice"}, {"method", "beam"}, {"sample", 1}, {"question", 7}};
  for (const auto& [key, value] : foreign) {
    const std::string samples = changed(key, value);
    write_file(path, samples);
    EXPECT_NE(refusal().find(key == std::string("question")
                                 ? "that question is"
                                 : "is not among those that run.json asks for"),
              std::string::npos)
        << key;
    EXPECT_EQ(read_file(path), samples);
    EXPECT_EQ(read_file(record), run);
  }
  write_file(path, changed("id", "other"));
  EXPECT_NE(refusal().find("that question is " + tasks[0].problems[0].id), std::string::npos);
  write_file(path, changed("score", nullptr));
  EXPECT_NE(refusal().find("score null is how NaN"), std::string::npos) << refusal();
  write_file(path, whole);
  Json damaged = Json::parse(run);
  damaged["parts"][0]["tasks"] = 0;
  write_file(record, damaged.dump());
  EXPECT_NE(refusal().find("parts.tasks"), std::string::npos) << refusal();
}

}  // namespace
}  // namespace counterbeam
