// Tests `report` and `reproduce` with several experiments and models, on the shipped models.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/file.h"
#include "base/json.h"
#include "eval/presets.h"
#include "eval/samples.h"
#include "support/run_command.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;
using testing::CommandResult;
using testing::run_command;
using testing::run_counterbeam;
using testing::TemporaryFolder;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

CommandResult eval(const fs::path& out, const std::string& more) {
  return run_counterbeam(
      fmt::format("eval --device cpu --task tiny-math,tiny-choice --limit 3 --out '{}' {}",
                  out.string(), more));
}

// Methods whose names mean something to LaTeX, CSV and HTML.
constexpr const char* kOddMethods =
    R"('sample:max-tokens=8,cbs:beams=2:prune=2:max-tokens=8:block=8:positive="100 % of a_b & #1, \\{x}^2~ <b>":negative="no
"')";

class Report : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    for (const char* model : {"tiny-dense", "tiny-hybrid"}) {
      const CommandResult run =
          eval(runs() / model, fmt::format("--model {} --methods {}", model, kOddMethods));
      ASSERT_EQ(run.code, 0) << run.err;
    }
    report_ = new CommandResult(
        run_counterbeam(fmt::format("report '{}' --out '{}'", runs().string(), out().string())));
  }
  static void TearDownTestSuite() {
    delete folder_;
    delete report_;
  }
  static fs::path runs() { return folder_->path() / "runs"; }
  static fs::path out() { return folder_->path() / "report"; }

  static TemporaryFolder* folder_;
  static CommandResult* report_;
};
TemporaryFolder* Report::folder_ = nullptr;
CommandResult* Report::report_ = nullptr;

TEST_F(Report, ComparesWhatAFolderHolds) {
  ASSERT_EQ(report_->code, 0) << report_->err;
  for (const char* part :
       {"tiny-dense (", "tiny-hybrid (", "tiny-hybrid minus tiny-dense, paired by question",
        "6  average", "index.html"})
    EXPECT_TRUE(has(report_->out, part)) << part << "\n" << report_->out;
  const Json json = read_json_file(out() / "report.json");
  EXPECT_EQ(json["models"].size(), 2u);
  EXPECT_EQ(json["runs"].size(), 2u);
  // The same figures as the run itself has.
  const Json own = read_json_file(runs() / "tiny-hybrid/summary.json");
  EXPECT_EQ(json["models"][1]["summary"]["tasks"], own["tasks"]);
  EXPECT_EQ(json["models"][1]["summary"]["average"], own["average"]);
  const CommandResult printed = run_counterbeam(
      fmt::format("report '{}' --json --out '{}'", runs().string(), out().string()));
  EXPECT_EQ(parse_json(printed.out, "output"), json);
}

TEST_F(Report, FiguresAreXmlOfTheirOwn) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(out() / "figures")) {
    const CommandResult parsed = run_command(
        fmt::format("python3 -c 'import sys, xml.etree.ElementTree as x; print(x.parse(sys.argv[1])"
                    ".getroot().tag)' '{}'",
                    entry.path().string()));
    EXPECT_EQ(parsed.out, "{http://www.w3.org/2000/svg}svg\n") << entry.path() << parsed.err;
    ++count;
  }
  EXPECT_GE(count, 4) << "two tasks, all models and each";
}

TEST_F(Report, CsvKeepsEveryCharacterOfAMethod) {
  const CommandResult rows = run_command(
      fmt::format("python3 -c 'import csv, json, sys; print(json.dumps(list(csv.DictReader("
                  "open(sys.argv[1], newline=\"\")))))' '{}'",
                  (out() / "tables/accuracy.csv").string()));
  const Json table = parse_json(rows.out, rows.err);
  const std::string method = read_samples(runs() / "tiny-dense/samples.jsonl").at(1).method;
  EXPECT_TRUE(has(method, "100 % of a_b & #1, \\\\{x}^2~ <b>")) << method;
  EXPECT_TRUE(std::any_of(table.begin(), table.end(), [&](const Json& row) {
    return row["method"] == method;
  })) << table.dump(1);
}

TEST_F(Report, LatexCompiles) {
  if (run_command("command -v pdflatex").code != 0)
    GTEST_SKIP()
        << "pdflatex is not installed; install texlive-latex-recommended to test the .tex files";
  const CommandResult made =
      run_command(fmt::format("cd '{}' && pdflatex -interaction=nonstopmode -halt-on-error all.tex",
                              (out() / "tables").string()));
  EXPECT_EQ(made.code, 0) << made.out;
  EXPECT_FALSE(has(made.out, "Missing character")) << made.out;
  EXPECT_TRUE(fs::exists(out() / "tables/all.pdf"));
}

TEST_F(Report, ErrorsNameTheFolderTheFileAndTheLine) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& what, const std::string& message) {
    const CommandResult run = run_counterbeam(
        fmt::format("report {} --out '{}'", what, (folder.path() / "out").string()));
    EXPECT_EQ(run.code, 2) << what;
    EXPECT_TRUE(has(run.err, message)) << run.err;
    EXPECT_FALSE(fs::exists(folder.path() / "out")) << what;
  };
  const std::string at = folder.path().string();
  fs::create_directories(folder.path() / "empty");
  refused("", "DIR is missing");
  refused("'" + at + "/nowhere'", at + "/nowhere: does not exist");
  refused("'" + at + "/empty'", at + "/empty: holds no samples.jsonl");
  const std::string good = read_file(runs() / "tiny-dense/samples.jsonl");
  const std::string first = good.substr(0, good.find('\n') + 1);
  folder.write("bad/samples.jsonl", first + "{\"task\": 7}\n");
  refused("'" + at + "/bad'", at + "/bad/samples.jsonl: line 2");
  folder.write("twice/samples.jsonl", first + first);
  refused("'" + at + "/twice/'", at + "/twice/samples.jsonl: line 2: sample 0 of");
  folder.write("none/samples.jsonl", "");
  refused("'" + at + "/none'", at + "/none: has no samples yet");
  folder.write("odd/samples.jsonl", first);
  folder.write("odd/run.json", "[]");
  refused("'" + at + "/odd'", at + "/odd/run.json: is not a JSON object");
}

TEST_F(Report, PartialFilesOfAKilledReportGo) {
  const TemporaryFolder folder;
  for (const char* name : {"", "tables/", "figures/"})
    folder.write(std::string(name) + ".counterbeam-999999999-1.part", "x");
  folder.write("tables/mine.part", "x");
  const CommandResult run = run_counterbeam(
      fmt::format("report '{}' --out '{}'", runs().string(), folder.path().string()));
  EXPECT_EQ(run.code, 0) << run.err;
  for (const char* name : {"", "tables/", "figures/"})
    EXPECT_FALSE(fs::exists(folder.path() / name / ".counterbeam-999999999-1.part")) << name;
  EXPECT_TRUE(fs::exists(folder.path() / "tables/mine.part"));
}

// What a user has after Ctrl-C or kill -9: fewer samples, a torn line.
TEST_F(Report, PartialRunsAreShownAndNamed) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "partial";
  fs::copy(runs() / "tiny-dense", run, fs::copy_options::recursive);
  std::string samples = read_file(run / "samples.jsonl");
  samples.resize(samples.rfind('\n') - 5);
  write_file(run / "samples.jsonl", samples);
  const CommandResult report = run_counterbeam(fmt::format(
      "report '{}' '{}' --out '{}'", run.string(), run.string(), (folder.path() / "out").string()));
  EXPECT_EQ(report.code, 0) << report.err;
  EXPECT_TRUE(has(report.out, "partial: 1 of its samples are missing")) << report.out;
  EXPECT_EQ(read_json_file(folder.path() / "out/report.json")["runs"].size(), 1u) << "once";
}

std::string tiny_reproduce(const std::string& name, const fs::path& out, const std::string& more) {
  return fmt::format(
      "reproduce {} --quick --device cpu --limit 1 --max-tokens 8 --task tiny-math --out '{}' {}",
      name, out.string(), more);
}

TEST(ReproduceAll, RunsEveryExperimentOnEveryModelAndResumes) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "all";
  const std::string both = "--model tiny-dense,tiny-hybrid ";
  const CommandResult run = run_counterbeam(tiny_reproduce("all", out, both));
  ASSERT_EQ(run.code, 0) << run.err;
  std::map<std::string, std::string> samples;
  for (const char* model : {"tiny-dense", "tiny-hybrid"})
    for (const Preset& preset : presets()) {
      const fs::path part = out / model / preset.name;
      ASSERT_TRUE(fs::exists(part / "report.html")) << part;
      EXPECT_EQ(read_json_file(part / "run.json")["experiment"], preset.name);
      samples[part] = read_file(part / "samples.jsonl");
    }
  const Json report = read_json_file(out / "report/report.json");
  EXPECT_EQ(report["runs"].size(), 14u);
  EXPECT_EQ(report["models"].size(), 2u);
  EXPECT_EQ(report["experiments"].size(), 14u);
  EXPECT_TRUE(has(run.out, "table1 on tiny-dense")) << run.out;
  EXPECT_TRUE(has(run.out, "all together")) << run.out;

  const CommandResult again = run_counterbeam(tiny_reproduce("all", out, both));
  EXPECT_EQ(again.code, 2) << "the folder is in use";
  EXPECT_TRUE(has(again.err, "add --resume")) << again.err;
  fs::remove_all(out / "tiny-hybrid/contexts");
  const CommandResult resumed =
      run_counterbeam(tiny_reproduce("all", out, both + "--resume --json"));
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  const Json json = parse_json(resumed.out, "output");
  EXPECT_EQ(json["parts"].size(), 14u);
  EXPECT_EQ(json["report"]["runs"].size(), 14u);
  for (const auto& [part, before] : samples)
    EXPECT_EQ(read_samples(fs::path(part) / "samples.jsonl").size(),
              static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')));
}

TEST(ReproduceAll, WhatFailsDoesNotStopTheOthers) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out", damaged = folder.path() / "damaged";
  fs::copy(COUNTERBEAM_SOURCE_DIR "/models/tiny-dense", damaged);
  fs::permissions(damaged / "model.safetensors", fs::perms::owner_write, fs::perm_options::add);
  fs::resize_file(damaged / "model.safetensors", 1000);
  const CommandResult run = run_counterbeam(tiny_reproduce(
      "population", out, fmt::format("--model nowhere/at-all,'{}',tiny-dense", damaged.string())));
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_TRUE(has(run.err, "2 of 3 parts failed")) << run.err;
  EXPECT_TRUE(has(run.err, "population on nowhere/at-all: ")) << run.err;
  EXPECT_TRUE(has(run.err, "population on damaged: ")) << run.err;
  EXPECT_TRUE(fs::exists(out / "tiny-dense/report.html")) << "one experiment, several models";
  EXPECT_EQ(read_json_file(out / "report/report.json")["runs"].size(), 1u);
}

TEST(ReproduceAll, BadUsageIsRefusedBeforeAnythingRuns) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--model tiny-dense,,tiny-hybrid", "has an empty item"},
      {"--model tiny-dense,tiny-dense", "is given twice"},
      {"--model tiny-dense," COUNTERBEAM_SOURCE_DIR "/models/tiny-dense", "are both called"},
      {"--contexts @" + (folder.path() / "nothing").string(), "nothing"}};
  for (const auto& [options, message] : cases) {
    const CommandResult run = run_counterbeam(tiny_reproduce("all", out, options));
    EXPECT_EQ(run.code, 2) << options;
    EXPECT_TRUE(has(run.err, message)) << run.err;
    EXPECT_FALSE(fs::exists(out)) << options;
  }
  const CommandResult unknown = run_counterbeam("reproduce al");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(has(unknown.err, "did you mean")) << unknown.err;
}

// Whether Ctrl-C arrives in time depends on the machine; what is kept does not.
TEST(ReproduceAll, CtrlCKeepsWhatIsDone) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "all";
  const CommandResult stopped = run_command(
      fmt::format("'" COUNTERBEAM_BINARY
                  "' {} & pid=$!; while kill -0 $pid 2>/dev/null && ! [ -s '{}' ]; do "
                  "sleep 0.05; done; kill -INT $pid; wait $pid",
                  tiny_reproduce("all", out, ""), (out / "contexts/samples.jsonl").string()));
  EXPECT_TRUE(stopped.code == 130 || stopped.code == 0) << stopped.err;
  if (stopped.code == 130) {
    EXPECT_TRUE(has(stopped.err, "--resume")) << stopped.err;
  }
  const std::string table1 = read_file(out / "table1/samples.jsonl");
  const CommandResult resumed = run_counterbeam(tiny_reproduce("all", out, "--resume"));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(read_file(out / "table1/samples.jsonl"), table1);
  EXPECT_EQ(read_json_file(out / "report/report.json")["runs"].size(), presets().size());
}

// A model of the paper's name in a hub cache: its figures stand in the table, the files, the page.
TEST(ReportOfThePaper, ShowsThePapersFiguresForItsModels) {
  const TemporaryFolder folder;
  const fs::path snapshot = folder.path() / "hub/models--Qwen--Qwen2.5-7B/snapshots/5d3f";
  fs::create_directories(snapshot);
  for (const auto& entry : fs::directory_iterator(COUNTERBEAM_SOURCE_DIR "/models/tiny-dense"))
    fs::create_symlink(entry.path(), snapshot / entry.path().filename());
  const fs::path data = folder.write(
      "rows.jsonl", R"({"problem": "What is 1 + 1?", "answer": "2", "unique_id": "a"})");
  const std::string hub =
      fmt::format("HF_HOME='{}' '" COUNTERBEAM_BINARY "' ", folder.path().string());
  const fs::path out = folder.path() / "out";
  const CommandResult run = run_command(
      hub + fmt::format("reproduce population --device cpu --limit 1 --task math500 --data '{}' "
                        "--model Qwen/Qwen2.5-7B,tiny-hybrid --out '{}'",
                        data.string(), out.string()));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(fs::exists(out / "Qwen--Qwen2.5-7B/samples.jsonl"));
  const CommandResult report = run_command(
      hub + fmt::format("report '{}' --out '{}'", out.string(), (out / "again").string()));
  ASSERT_EQ(report.code, 0) << report.err;
  EXPECT_TRUE(has(report.out, "beam search, N = 24")) << report.out;
  EXPECT_TRUE(has(report.out, "0.600")) << report.out;
  const std::string csv = read_file(out / "again/tables/published.csv");
  EXPECT_TRUE(
      has(csv, "Qwen/Qwen2.5-7B,population,math500,\"beam search, N = 24\",beam:beams=24,0.6,"))
      << csv;
  EXPECT_FALSE(has(csv, "tiny-hybrid")) << csv;
  EXPECT_TRUE(has(read_file(out / "again/tables/published.tex"), "beam search, N = 24 & 0.600"));
  EXPECT_TRUE(has(read_file(out / "again/index.html"), "\"model\":\"Qwen2.5-7B\""));
}

}  // namespace
}  // namespace counterbeam
