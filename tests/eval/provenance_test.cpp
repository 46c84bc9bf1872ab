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
  EXPECT_EQ(run["model_length"], tiny_model().engine().info().model_length);
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
  EXPECT_FALSE(run.contains("cache_dtype"));  // as in runs of versions that had no other
}

TEST(Provenance, RecordsACacheOfEightBits) {
  const LoadedModel model = LoadedModel::load((kSource / "models/tiny-dense").string(),
                                              {.device = "cpu", .cache_dtype = "int8"});
  const GivenRun run;
  const Json now = describe_run(model, run.tasks, run.options, 100);
  EXPECT_EQ(now["cache_dtype"], "int8");
  Json former = described({});
  former["longest_sequence"] = now["longest_sequence"];
  EXPECT_NE(refusal_of(former, now)
                .find("cache_dtype was not recorded, and now is \"int8\": give "
                      "the same --cache-dtype"),
            std::string::npos)
      << refusal_of(former, now);
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
      {"a cache of 8 bits", "/cache_dtype", "int8", "cache_dtype"},
      {"other activations", "/activations", "int8", "activations"},
      {"another kind of device", "/device", "cuda", "device"},
      {"other stop tokens", "/stop/tokens", Json::array({1, 2}), "stop"},
      {"a model that reads less", "/model_length", 200, "model_length"},
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
      {"a model that reads more than any answer needs", "/model_length", 1 << 20, ""},
      {"a smaller cache", "/longest_sequence", 200, ""},
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
  former["longest_sequence"] = former["model_length"] = 4096;  // more than any answer needs
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

// What servers say of their model is compared as far as both runs have it.
TEST(Provenance, AnotherModelOnTheServerIsRefused) {
  Json former = described({});
  former["served"] = {{"model", "m"}, {"root", "a"}, {"logprobs", {-1.5, -0.25, -3.0}}};
  const auto refusal = [&](const Json& served) {
    Json now = former;
    now["served"] = served;
    return refusal_of(former, now);
  };
  EXPECT_EQ(refusal({{"model", "m"}, {"root", "b"}, {"logprobs", {-1.55, -0.2, -3.1}}}), "");
  EXPECT_EQ(refusal({{"model", "m"}}), "");
  EXPECT_NE(refusal({{"model", "n"}, {"logprobs", {-1.5, -0.25, -3.0}}})
                .find("\n  served.model was \"m\", and now is \"n\": "),
            std::string::npos);
  EXPECT_NE(refusal({{"model", "m"}, {"root", "b"}}).find("\n  served.root was \"a\""),
            std::string::npos);
  const std::string weights = refusal({{"model", "m"}, {"logprobs", {-1.5, -1.25, -3.0}}});
  EXPECT_NE(weights.find("\n  served.logprobs was [-1.5,-0.25,-3.0], and now is"),
            std::string::npos)
      << weights;
  EXPECT_NE(weights.find("differ by 0.33 on average"), std::string::npos) << weights;
}

// A run of an earlier version does not say what was served; from then on it does.
TEST(Provenance, WhatWasServedIsAddedToAnEarlierRun) {
  Json former = described({}), now = former;
  now["served"] = {{"model", "m"}, {"logprobs", {-1.5}}};
  EXPECT_EQ(joined_runs(former, now, "")["served"], now["served"]);
  EXPECT_EQ(joined_runs(now, former, "")["served"], now["served"]);
  former["served"] = {{"model", "m"}};
  EXPECT_EQ(joined_runs(former, now, "")["served"], now["served"]);
}

// Versions that did not record what the model reads graded answers that the cache had cut.
TEST(Provenance, WithoutTheModelsLengthTheCacheCounts) {
  Json current = described({});
  current["longest_sequence"] = current["model_length"] = 4096;
  Json earlier = current, smaller = current;
  earlier.erase("model_length");
  smaller["longest_sequence"] = 200;
  EXPECT_EQ(refusal_of(current, smaller), "");
  EXPECT_EQ(refusal_of(earlier, current), "");
  for (const auto& [former, now] : {std::pair(earlier, smaller), std::pair(smaller, earlier)}) {
    const std::string refusal = refusal_of(former, now);
    EXPECT_NE(refusal.find("longest_sequence was "), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("give the same --cache-memory"), std::string::npos) << refusal;
  }
  // The samples of both are one run from now on, so the stricter rule stays.
  EXPECT_FALSE(joined_runs(earlier, current, "").contains("model_length"));
  EXPECT_FALSE(joined_runs(current, earlier, "").contains("model_length"));
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
  for (const char* served :
       {"7", "[]", R"({"model": 7})", R"({"root": []})", R"({"max_model_len": -1})",
        R"({"logprobs": {}})", R"({"logprobs": ["x"]})", R"({"logprobs": [-1e300]})"}) {
    Json run = described({});
    run["served"] = parse_json(served, "served");
    EXPECT_NE(refusal(run.dump()), "") << served;
  }
  {
    Json run = described({});
    run["served"] = nullptr;
    EXPECT_EQ(refusal(run.dump()), "");
    EXPECT_EQ(refusal_of(run, described({})), "");
  }
  EXPECT_NE(refusal("{"), "");
  EXPECT_EQ(refusal(described({}).dump()), "");
  std::filesystem::remove(folder.path() / "run.json");
  EXPECT_THROW(read_run(folder.path()), Error);
}

}  // namespace
}  // namespace counterbeam
