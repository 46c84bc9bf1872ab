// Runs that are compared: what is put together, what stands apart, and that every figure is the one
// of summarise().
#include "eval/comparison.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "eval/comparison_report.h"
#include "eval/comparison_tables.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

Sample graded(const std::string& task, int question, const std::string& method, bool correct,
              int number = 0) {
  Sample sample;
  sample.task = task;
  sample.id = task + std::to_string(question);
  sample.question = question;
  sample.method = method;
  sample.sample = number;
  sample.extracted = "7";
  sample.answer = correct ? "right" : "wrong";
  sample.correct = sample.correct_strict = correct;
  sample.generated_tokens = 100;
  return sample;
}

// A run of one task; the first `right` questions of each method are right.
ReportedRun run_of(const std::string& folder, const std::string& model, int questions,
                   const std::vector<std::pair<std::string, int>>& methods,
                   const std::string& task = "t") {
  ReportedRun run;
  run.folder = folder;
  run.facts.model = model;
  run.facts.seed = "0";
  run.facts.dtype = "f32";
  run.facts.device = "cpu";
  run.facts.fingerprint = R"({"weights":"0123456789abcdef"})";
  run.facts.tasks[task] = {std::to_string(questions), "digest of " + task, "math", "strict", ""};
  for (const auto& [method, right] : methods)
    for (int i = 0; i < questions; ++i) run.samples.push_back(graded(task, i, method, i < right));
  return run;
}

const MethodSummary* find_cell(const Comparison& comparison, std::size_t model,
                               const std::string& task, const std::string& method) {
  for (const TaskSummary& one : comparison.models.at(model).summary.tasks)
    if (one.task == task)
      for (const MethodSummary& candidate : one.methods)
        if (candidate.method == method) return &candidate;
  return nullptr;
}

bool noted(const Comparison& comparison, const std::string& words) {
  for (const std::string& note : comparison.notes)
    if (note.find(words) != note.npos) return true;
  return false;
}

TEST(Comparison, RunsOfAModelArePutTogether) {
  const Comparison both = compare_runs({run_of("r/one", "m", 8, {{"sample", 2}, {"beam", 4}}),
                                        run_of("r/two", "m", 8, {{"cbs", 6}})});
  ASSERT_EQ(both.models.size(), 1u);
  EXPECT_EQ(both.models[0].label, "m");
  EXPECT_DOUBLE_EQ(find_cell(both, 0, "t", "cbs")->accuracy.mean, 0.75);
  EXPECT_EQ(both.models[0].sources.at({"t", "cbs"}), "r/two");
  const TaskSummary& task = both.models[0].summary.tasks[0];
  ASSERT_EQ(task.pairs.size(), 3u) << "methods of two runs are compared with each other";
  EXPECT_DOUBLE_EQ(task.pairs[1].test.difference, 0.5) << "cbs minus sample";
  EXPECT_TRUE(both.methods.empty()) << "one model";
  EXPECT_TRUE(both.notes.empty()) << both.notes[0];
  ASSERT_EQ(both.runs.size(), 2u);
  EXPECT_EQ(both.runs[0].samples, 16u);
}

// The figures are those of the runs themselves.
TEST(Comparison, AMethodOfSeveralRunsIsShownFromTheLargest) {
  ReportedRun large = run_of("r/large", "m", 12, {{"beam", 6}});
  ReportedRun small = run_of("r/small", "m", 4, {{"beam", 4}, {"cbs", 3}});
  large.facts.tasks = small.facts.tasks;
  const Comparison comparison = compare_runs({small, large});
  const MethodSummary* beam = find_cell(comparison, 0, "t", "beam");
  EXPECT_EQ(beam->questions, 12);
  EXPECT_DOUBLE_EQ(beam->accuracy.low, summarise(large.samples).tasks[0].methods[0].accuracy.low);
  EXPECT_EQ(comparison.models[0].summary.tasks[0].pairs[0].questions, 4) << "what both have";
  EXPECT_TRUE(noted(comparison, "m, t: methods have 4 to 12 questions"));
  EXPECT_FALSE(noted(comparison, "differ between")) << "common samples are the same";
  large.samples[1].answer = "something else";
  EXPECT_TRUE(
      noted(compare_runs({small, large}), "1 of 4 samples differ between r/large and r/small"));
}

TEST(Comparison, ModelsAreComparedOnTheSameProblems) {
  const Comparison comparison = compare_runs({run_of("r/a", "a", 8, {{"beam", 2}, {"sample", 1}}),
                                              run_of("r/b", "b", 8, {{"beam", 6}, {"cbs", 6}})});
  ASSERT_EQ(comparison.models.size(), 2u);
  ASSERT_EQ(comparison.methods.size(), 1u) << "beam is what both ran";
  EXPECT_EQ(comparison.methods[0].method, "beam");
  const MethodPair& pair = comparison.methods[0].by_model.tasks.at(0).pairs.at(0);
  EXPECT_EQ(pair.a, "a");
  EXPECT_EQ(pair.b, "b");
  EXPECT_EQ(pair.questions, 8);
  EXPECT_DOUBLE_EQ(pair.test.difference, 0.5);
  EXPECT_TRUE(pair.test.exact);
  EXPECT_DOUBLE_EQ(pair.test.p_value, 0.125) << "four of four in one direction";
  EXPECT_NE(to_table(comparison)
                .find("b minus a, paired by question\n"
                      "method    points        p  questions  task\n"
                      "beam       +50.0     0.12          8  t\n"),
            std::string::npos)
      << to_table(comparison);
}

TEST(Comparison, OtherProblemsAreNotPaired) {
  for (const char* field : {"digest", "extract", "unknown"}) {
    ReportedRun a = run_of("r/a", "a", 8, {{"beam", 2}}), b = run_of("r/b", "b", 8, {{"beam", 6}});
    if (field == std::string("digest")) b.facts.tasks["t"].digest = "another";
    if (field == std::string("extract")) b.facts.tasks["t"].extract = "lenient";
    if (field == std::string("unknown")) b.facts.tasks.clear();
    const Comparison comparison = compare_runs({a, b});
    EXPECT_TRUE(comparison.methods.empty()) << field;
    EXPECT_TRUE(noted(comparison, "t: problems, prompts or grading are not the same")) << field;
    EXPECT_TRUE(noted(comparison, "the same --data")) << field;
  }
}

// One model that was asked a task in two ways has two columns, and no average that counts it twice.
TEST(Comparison, ATaskAskedInTwoWaysHasTwoColumns) {
  ReportedRun plain = run_of("r/plain", "m", 8, {{"beam", 2}});
  ReportedRun prompted = run_of("r/prompted", "m", 8, {{"beam", 6}});
  prompted.facts.tasks["t"].digest = "with another system message";
  const Comparison comparison = compare_runs({plain, prompted});
  ASSERT_EQ(comparison.models.size(), 1u);
  ASSERT_EQ(comparison.models[0].summary.tasks.size(), 2u);
  EXPECT_DOUBLE_EQ(find_cell(comparison, 0, "t", "beam")->accuracy.mean, 0.25);
  EXPECT_DOUBLE_EQ(find_cell(comparison, 0, "t (r/prompted)", "beam")->accuracy.mean, 0.75);
  EXPECT_TRUE(comparison.models[0].summary.average.methods.empty());
  EXPECT_TRUE(noted(comparison, "m: t (r/prompted)"));
}

TEST(Comparison, SeedsPrecisionsAndWeightsAreModelsOfTheirOwn) {
  const ReportedRun base = run_of("r/0", "m", 8, {{"sample", 2}});
  ReportedRun seed = base, dtype = base, weights = base,
              other = run_of("r/4", "n", 8, {{"cbs", 3}});
  seed.folder = "r/1";
  seed.facts.seed = "1";
  EXPECT_EQ(compare_runs({base, seed, other}).models[0].label, "m, seed 0");
  EXPECT_EQ(compare_runs({base, seed, other}).models[1].label, "m, seed 1");
  EXPECT_EQ(compare_runs({base, seed, other}).models[2].label, "n") << "there is one n";
  EXPECT_EQ(compare_runs({base, seed}).methods.size(), 1u) << "the same problems, other draws";
  dtype.facts.dtype = "bf16";
  EXPECT_EQ(compare_runs({base, dtype}).models[1].label, "m, bf16");
  weights.facts.fingerprint = R"({"weights":"fedcba98aaaa"})";
  EXPECT_EQ(compare_runs({base, weights}).models[1].label, "m, weights fedcba98");
}

TEST(Comparison, MethodsAreRowsBySettingsNotBySpelling) {
  ReportedRun a = run_of("r/a", "a", 4, {{"cbs", 1}}),
              b = run_of("r/b", "b", 4, {{"cbs:steer=0.25", 2}});
  ReportedRun c = run_of("r/c", "a", 4, {{"cbs", 3}});
  c.facts.settings["cbs"] = R"({"method":"cbs","max-tokens":64})";
  const Comparison comparison = compare_runs({a, b, c});
  ASSERT_EQ(comparison.methods.size(), 1u) << "the same settings by default and by name";
  EXPECT_EQ(comparison.methods[0].method, "cbs");
  const MethodSummary* shorter = find_cell(comparison, 0, "t", "cbs [max-tokens=64]");
  ASSERT_TRUE(shorter) << "another setting by --max-tokens is another row";
  EXPECT_DOUBLE_EQ(shorter->accuracy.mean, 0.75);
  EXPECT_DOUBLE_EQ(find_cell(comparison, 0, "t", "cbs")->accuracy.mean, 0.25);
}

// Folders are found by name; readers know the paper's order.
TEST(Comparison, ExperimentsStandInThePapersOrder) {
  std::vector<ReportedRun> runs;
  for (const char* name : {"", "block-size", "population", "table1"}) {
    runs.push_back(run_of(std::string("r/") + name, "m", 4, {{"beam", 1}}));
    runs.back().facts.experiment = name;
  }
  std::vector<std::string> order;
  for (const ComparedRun& run : compare_runs(runs).runs) order.push_back(run.experiment);
  EXPECT_EQ(order, (std::vector<std::string>{"table1", "population", "block-size", ""}));
}

TEST(Comparison, MissingTasksAreLeftOpen) {
  ReportedRun a = run_of("r/a", "a", 4, {{"beam", 1}}, "t"),
              more = run_of("r/a2", "a", 4, {{"beam", 3}}, "u");
  const Comparison comparison = compare_runs({a, more, run_of("r/b", "b", 4, {{"beam", 2}}, "t")});
  EXPECT_EQ(comparison.models[0].summary.tasks.size(), 2u);
  EXPECT_EQ(comparison.models[1].summary.tasks.size(), 1u);
  EXPECT_DOUBLE_EQ(comparison.models[0].summary.average.methods.at(0).accuracy.mean, 0.5);
  EXPECT_EQ(comparison.methods.at(0).by_model.tasks.size(), 1u) << "u has one model";
}

TEST(Comparison, PartialAndFailedRunsAreNamed) {
  ReportedRun partial = run_of("r/partial", "m", 4, {{"beam", 2}, {"cbs", 2}});
  partial.missing = 3;
  partial.samples[0].error = "the prompt has 9001 tokens";
  ReportedRun empty = run_of("r/empty", "m", 0, {});
  const Comparison comparison = compare_runs({partial, empty});
  EXPECT_TRUE(noted(comparison, "r/partial: 3 of its samples are missing"));
  EXPECT_TRUE(noted(comparison, "r/empty: has no samples yet"));
  EXPECT_EQ(comparison.runs.size(), 1u);
  EXPECT_EQ(comparison.runs[0].failed, 1u);
  EXPECT_EQ(find_cell(comparison, 0, "t", "beam")->questions, 3) << "what failed is not graded";
  EXPECT_THROW(compare_runs({empty}), Error);
  ReportedRun nothing_graded = run_of("r/bad", "m", 2, {{"beam", 0}});
  for (Sample& sample : nothing_graded.samples) sample.error = "the sandbox cannot start";
  const Comparison bad = compare_runs({nothing_graded});
  EXPECT_TRUE(bad.models[0].summary.tasks.empty());
  EXPECT_EQ(bad.models[0].summary.failures.size(), 1u);
}

TEST(Comparison, RunsWithoutARecordStandAlone) {
  ReportedRun a = run_of("r/a", "", 4, {{"beam", 1}}), b = run_of("r/b", "", 4, {{"beam", 2}});
  a.facts = b.facts = {};
  const Comparison comparison = compare_runs({a, b});
  ASSERT_EQ(comparison.models.size(), 2u);
  EXPECT_EQ(comparison.models[0].label, "r/a");
  EXPECT_TRUE(noted(comparison, "r/a: has no run.json"));
  EXPECT_TRUE(comparison.methods.empty()) << "nothing shows that the problems are the same";
}

TEST(Comparison, ThePapersFiguresStandBesideItsModels) {
  ReportedRun run =
      run_of("r/q", "Qwen/Qwen2.5-7B", 8, {{"sample", 3}, {"cbs:steer=0.7", 5}}, "math500");
  run.facts.experiment = "table1";
  const Comparison comparison =
      compare_runs({run, run_of("r/m", "m", 8, {{"sample", 1}}, "math500")});
  EXPECT_DOUBLE_EQ(*comparison.models[0].published.value("math500", "cbs:steer=0.7"), .640);
  EXPECT_TRUE(comparison.models[1].published.rows.empty());
  ASSERT_EQ(comparison.experiments.size(), 2u);
  EXPECT_NE(comparison.experiments[0].figures.at(0).svg.find("the paper"), std::string::npos);
  EXPECT_NE(comparison.figures.at(0).svg.find("Qwen/Qwen2.5-7B, the paper"), std::string::npos);
  for (const ResultTable& table : result_tables(comparison))
    if (table.name == "published") {
      ASSERT_EQ(table.rows.size(), 7u);
      EXPECT_EQ(table.rows[6][4], "0.640");
      return;
    }
  ADD_FAILURE() << "no table of published figures";
}

TEST(ComparisonReport, WritesEveryTableAndFigureAndRemovesOnlyItsOwn) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "report";
  ReportedRun run = run_of("r/a", "a", 4, {{"beam", 1}, {"cbs", 2}});
  run.facts.experiment = "population";
  const Json first =
      write_comparison(compare_runs({run, run_of("r/b", "b", 4, {{"beam", 3}})}), out);
  for (const Json& file : first["files"])
    EXPECT_TRUE(fs::exists(out / file.get<std::string>())) << file;
  for (const char* name :
       {"accuracy", "paper-population", "costs", "differences", "models", "runs"})
    for (const char* ending : {".csv", ".tex"})
      EXPECT_TRUE(fs::exists(out / "tables" / (std::string(name) + ending))) << name;
  EXPECT_TRUE(fs::exists(out / "figures/all-t.svg"));
  EXPECT_TRUE(fs::exists(out / "figures/a-population-t.svg"));
  EXPECT_EQ(read_json_file(out / "report.json"), first);
  write_file(out / "tables/mine.csv", "keep");
  write_comparison(compare_runs({run_of("r/b", "b", 4, {{"beam", 3}})}), out);
  EXPECT_FALSE(fs::exists(out / "tables/models.csv")) << "there is one model now";
  EXPECT_FALSE(fs::exists(out / "figures/a-population-t.svg"));
  EXPECT_TRUE(fs::exists(out / "tables/mine.csv"));
  write_file(out / "report.json", R"({"files": ["../precious", "tables/../../precious"]})");
  write_file(folder.path() / "precious", "keep");
  write_comparison(compare_runs({run}), out);
  EXPECT_TRUE(fs::exists(folder.path() / "precious"));
  write_file(out / "report.json", "mine");
  EXPECT_THROW(write_comparison(compare_runs({run}), out), Error);
  write_file(folder.path() / "samples.jsonl", "");
  EXPECT_THROW(write_comparison(compare_runs({run}), folder.path()), Error)
      << "the folder of a run";
}

}  // namespace
}  // namespace counterbeam
