// Every change between two sessions of a run is refused or accepted as docs/evaluation.md says, and
// a refusal names what differs.
#include "eval/provenance.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

const std::filesystem::path kSource = COUNTERBEAM_SOURCE_DIR;

struct GivenRun {
  std::vector<TaskData> tasks = {load_task("tiny-math", kSource / "tasks", 0),
                                 load_task("tiny-code", kSource / "tasks", 0)};
  EvalOptions options;

  GivenRun() {
    options.methods = parse_methods("sample,cbs:steer=0.7");
    options.session = {"0.1.0", "abc", "counterbeam eval"};
    options.limit = 10;
  }
};

const LoadedModel& tiny_model() {
  static const LoadedModel kModel =
      LoadedModel::load((kSource / "models/tiny-dense").string(), {.device = "cpu"});
  return kModel;
}

Json described(const GivenRun& run) {
  return describe_run(tiny_model(), run.tasks, run.options, 100);
}

std::string refusal_of(const Json& former, const Json& now) {
  try {
    joined_runs(former, now, "refused");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Provenance, RecordsWhatAnswersDependOn) {
  const Json run = described({});
  EXPECT_EQ(run["model"], "tiny-dense");
  EXPECT_EQ(run["model_path"], std::filesystem::canonical(kSource / "models/tiny-dense").string());
  for (const char* part : {"config", "tokenizer", "chat_template", "weights"})
    EXPECT_EQ(run["fingerprint"][part].get<std::string>().size(), 32u) << part;
  EXPECT_EQ(run["device"], "cpu");
  EXPECT_TRUE(run["dtype"] == "bf16" || run["dtype"] == "f32") << run["dtype"];
  EXPECT_FALSE(run["stop"]["tokens"].empty());
  EXPECT_GT(run["longest_sequence"], 0);
  EXPECT_EQ(run["needed_sequence"], 100 + 3072);
  EXPECT_EQ(run["methods"]["cbs:steer=0.7"]["steer"], 0.7);
  EXPECT_EQ(run["methods"]["cbs:steer=0.7"]["beams"], 16);
  EXPECT_EQ(run["tasks"]["tiny-math"]["problems"], 500);
  EXPECT_EQ(run["tasks"]["tiny-math"]["grader"], "math");
  EXPECT_EQ(run["tasks"]["tiny-math"]["extract"], "strict");
  EXPECT_EQ(run["tasks"]["tiny-math"]["file_sha256"].get<std::string>().size(), 64u);
  EXPECT_EQ(run["tasks"]["tiny-math"]["template_arguments"], Json::object());
  const Json& session = run["sessions"][0];
  EXPECT_EQ(session["version"], "0.1.0");
  EXPECT_EQ(session["commit"], "abc");
  EXPECT_EQ(session["command"], "counterbeam eval");
  EXPECT_EQ(session["concurrency"], 16);
  EXPECT_EQ(session["started"].get<std::string>().size(), 20u);
  EXPECT_NE(session["engine"].get<std::string>().find("cpu"), std::string::npos);
}

TEST(Provenance, ADeterministicRunHasNoDates) {
  GivenRun run;
  run.options.deterministic = true;
  const Json session = described(run)["sessions"][0];
  for (const char* key : {"started", "command", "concurrency", "engine"})
    EXPECT_FALSE(session.contains(key)) << key;
  EXPECT_EQ(described(run), described(run));
}

// The table of docs/evaluation.md. `field` is what the refusal must name; empty: accepted.
struct Change {
  const char* what;
  const char* pointer;  // into run.json
  Json value;
  const char* field;
};

const std::vector<Change>& changes() {
  static const std::vector<Change> kChanges = {
      {"another config", "/fingerprint/config", "0", "fingerprint.config"},
      {"another tokenizer", "/fingerprint/tokenizer", "0", "fingerprint.tokenizer"},
      {"another template", "/fingerprint/chat_template", "0", "fingerprint.chat_template"},
      {"other weights", "/fingerprint/weights", "0", "fingerprint.weights"},
      {"another dtype", "/dtype", "f64", "dtype"},
      {"another kind of device", "/device", "cuda", "device"},
      {"other stop tokens", "/stop/tokens", Json::array({1, 2}), "stop"},
      {"another longest sequence", "/longest_sequence", 200, "longest_sequence"},
      {"another seed", "/seed", 1, "seed"},
      {"another grader", "/tasks/tiny-math/grader", "choice", "tasks.tiny-math.grader"},
      {"another extraction", "/tasks/tiny-math/extract", "lenient", "tasks.tiny-math.extract"},
      {"raw questions", "/tasks/tiny-math/raw", true, "tasks.tiny-math.raw"},
      {"other template arguments", "/tasks/tiny-math/template_arguments", Json{{"a", 1}},
       "tasks.tiny-math.template_arguments"},
      {"a system message before the question", "/tasks/tiny-math/system_as_user", true,
       "tasks.tiny-math.system_as_user"},
      {"another stop text", "/tasks/tiny-math/stop", Json::array({"END"}), "tasks.tiny-math.stop"},
      {"another stop id", "/tasks/tiny-math/stop_ids", Json::array({7}),
       "tasks.tiny-math.stop_ids"},
      {"other problems", "/tasks/tiny-math/digest", "0", "tasks.tiny-math.digest"},
      {"a longer file", "/tasks/tiny-math/problems", 501, "tasks.tiny-math.problems"},
      {"another meaning of a method", "/methods/sample/temperature", 0.5,
       "methods.sample.temperature"},
      {"another default of CBS", "/methods/cbs:steer=0.7/beams", 8, "methods.cbs:steer=0.7.beams"},
      {"a setting that is new", "/methods/sample/novel", 1, "methods.sample.novel"},
      {"another experiment", "/experiment", "contexts", "experiment"},
      {"no experiment", "/experiment", "", ""},
      {"another folder", "/model_path", "/elsewhere/tiny-dense", ""},
      {"another name of the folder", "/model", "renamed", ""},
      {"the same data in another file", "/tasks/tiny-math/file", "copy.jsonl", ""},
      {"the same data in another format", "/tasks/tiny-math/file_sha256", "0", ""},
      {"a longer limit of sequences that nothing reaches", "/longest_sequence", 1 << 20, ""},
      {"longer prompts", "/needed_sequence", 3300, ""},
      {"more problems", "/parts/0/limit", 20, ""},
      {"more samples", "/parts/0/samples", 4, ""},
      {"another shard", "/parts/0/shard", "1/2", ""},
      {"another version", "/sessions/0/version", "0.2.0", ""},
      {"another commit", "/sessions/0/commit", "def", ""},
      {"another command", "/sessions/0/command", "counterbeam eval --quiet", ""},
      {"another concurrency", "/sessions/0/concurrency", 1, ""},
      {"another engine of the same kind", "/sessions/0/engine", "llama on another cpu", ""},
      {"another day", "/sessions/0/started", "2030-01-01T00:00:00Z", ""},
  };
  return kChanges;
}

TEST(Provenance, EveryChangeIsRefusedOrAcceptedAsDocumented) {
  GivenRun run;
  run.options.experiment = "table1";
  Json former = described(run);
  former["longest_sequence"] = 4096;  // more than any answer needs
  ASSERT_EQ(refusal_of(former, former), "");
  EXPECT_GE(changes().size(), 30u);
  for (const Change& change : changes()) {
    Json now = former;
    now[Json::json_pointer(change.pointer)] = change.value;
    const std::string refusal = refusal_of(former, now);
    if (*change.field == '\0') {
      EXPECT_EQ(refusal, "") << change.what;
      continue;
    }
    EXPECT_NE(refusal.find(std::string("\n  ") + change.field + " was "), std::string::npos)
        << change.what << ": " << refusal;
    EXPECT_NE(refusal.find(to_line(change.value).substr(0, 20)), std::string::npos) << refusal;
    EXPECT_NE(refusal_of(now, former), "") << change.what << ", the other way round";
  }
}

TEST(Provenance, AllDifferencesAreListed) {
  const Json former = described({});
  Json now = former;
  now["seed"] = 5;
  now["dtype"] = "f64";
  now["fingerprint"]["weights"] = "0";
  const std::string refusal = refusal_of(former, now);
  for (const char* part :
       {"seed was 0, and now is 5: give the same --seed", "dtype was", "fingerprint.weights was"})
    EXPECT_NE(refusal.find(part), std::string::npos) << refusal;
}

// What the user changes becomes what is compared.
TEST(Provenance, ChangesOfTheRunReachTheComparison) {
  const Json former = described({});
  const auto refusal = [&](const std::function<void(GivenRun&)>& change) {
    GivenRun run;
    change(run);
    return refusal_of(former, described(run));
  };
  EXPECT_EQ(refusal([](GivenRun&) {}), "");
  EXPECT_NE(refusal([](GivenRun& run) { run.options.seed = 9; }), "");
  EXPECT_NE(refusal([](GivenRun& run) { run.tasks[0].problems[3].gold += "0"; }), "");
  EXPECT_NE(refusal([](GivenRun& run) { run.tasks[0].problems[3].question.text += " "; }), "");
  EXPECT_NE(refusal([](GivenRun& run) { run.tasks[0].problems[3].question.system = "Hi"; }), "");
  EXPECT_NE(refusal([](GivenRun& run) { run.tasks[1].problems[3].code.test += "\n"; }), "");
  EXPECT_NE(refusal([](GivenRun& run) { run.tasks[1].problems[3].code.entry_point += "x"; }), "");
  EXPECT_NE(refusal([](GivenRun& run) { run.tasks[1].extraction = Extraction::Lenient; }), "");
  EXPECT_NE(refusal([](GivenRun& run) {
              for (Problem& problem : run.tasks[0].problems)
                problem.question.template_arguments = "{\"enable_thinking\": true}";
            }),
            "");
  EXPECT_EQ(refusal([](GivenRun& run) {
              for (Problem& problem : run.tasks[0].problems)
                problem.question.template_arguments = " { } ";  // written otherwise
            }),
            "");
  EXPECT_EQ(refusal([](GivenRun& run) { run.options.limit = 500; }), "");
  EXPECT_EQ(refusal([](GivenRun& run) { run.options.methods = parse_methods("beam"); }), "");
  EXPECT_EQ(refusal([](GivenRun& run) { run.tasks.pop_back(); }), "");
}

TEST(Provenance, JoiningKeepsBoth) {
  GivenRun first, second;
  second.tasks.erase(second.tasks.begin());
  second.options.methods = parse_methods("beam");
  second.options.session.command = "counterbeam eval --resume";
  const Json joined = joined_runs(described(first), described(second), "");
  EXPECT_EQ(joined["methods"].size(), 3u);
  EXPECT_EQ(joined["tasks"].size(), 2u);
  EXPECT_EQ(joined["parts"].size(), 2u);
  EXPECT_EQ(joined["sessions"].size(), 2u);
  EXPECT_EQ(joined["sessions"][1]["command"], "counterbeam eval --resume");
}

TEST(Provenance, AnEarlierOrDamagedRecordIsRefusedWithARemedy) {
  const testing::TemporaryFolder folder;
  const auto refusal = [&](const std::string& content) -> std::string {
    folder.write("run.json", content);
    try {
      read_run(folder.path());
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal(R"({"model": "tiny", "seed": 0, "tasks": {}})")
                .find("written by a version that did not record"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"format": 99, "model": "tiny"})"), "");
  EXPECT_NE(refusal("[]"), "");
  EXPECT_NE(refusal("{"), "");
  EXPECT_EQ(refusal(described({}).dump()), "");
  std::filesystem::remove(folder.path() / "run.json");
  EXPECT_THROW(read_run(folder.path()), Error);
}

}  // namespace
}  // namespace counterbeam
