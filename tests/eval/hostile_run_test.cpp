// A run.json that somebody else wrote: every field that is read is checked and named, and numbers
// that cannot be true cost neither memory nor time.
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "base/file.h"
#include "eval/parts.h"
#include "eval/provenance.h"
#include "eval/reported_run.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

Json small_run() {
  return {{"format", 2},
          {"experiment", ""},
          {"model", "m"},
          {"fingerprint", Json::object()},
          {"longest_sequence", 100},
          {"needed_sequence", 90},
          {"tasks", {{"t", {{"problems", 10}}}, {"u", {{"problems", 3}}}}},
          {"methods", {{"a", Json::object()}, {"b", Json::object()}}},
          {"parts", Json::array({{{"tasks", {"t"}}, {"methods", {"a", "b"}}, {"samples", 2}}})},
          {"sessions", Json::array()}};
}

std::string refusal_to_report(const testing::TemporaryFolder& folder, const Json& run) {
  folder.write("run.json", run.dump());
  folder.write("samples.jsonl", "");
  try {
    read_reported_run(folder.path());
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

TEST(HostileRun, EveryFieldThatIsReadIsNamed) {
  const testing::TemporaryFolder folder;
  ASSERT_EQ(refusal_to_report(folder, small_run()), "");
  struct Case {
    const char* pointer;
    Json value;
    const char* message;
  };
  const std::vector<Case> cases = {
      {"/tasks/t/problems", 2000000000, "tasks.t.problems 2000000000 is not a whole number from"},
      {"/tasks/t/problems", -1, "tasks.t.problems -1 is not"},
      {"/tasks/t/problems", "10", "tasks.t.problems \"10\" is not"},
      {"/tasks/t/problems", 1e300, "tasks.t.problems 1e+300 is not"},
      {"/tasks/t/problems", nullptr, "tasks.t.problems is missing"},
      {"/tasks/t", 7, "tasks.t 7 is not an object"},
      {"/tasks/t", nullptr, "tasks.t null is not an object"},
      {"/tasks", Json::array(), "is not the run.json of an evaluation"},
      {"/methods/a", "x", "methods.a \"x\" is not an object"},
      {"/experiment", 3, "experiment 3 is not a string"},
      {"/longest_sequence", "long", "longest_sequence \"long\" is not"},
      {"/model_length", "long", "model_length \"long\" is not"},
      {"/needed_sequence", 0.5, "needed_sequence 0.5 is not"},
      {"/sessions", Json::array({1}), "sessions [...] must hold objects"},
      {"/parts", Json::array({1}), "\"parts\" must hold objects"},
      {"/parts/0/tasks", "t", "parts.tasks \"t\" is not an array"},
      {"/parts/0/tasks", Json::array({"t", 1}), "parts.tasks [...] must hold texts"},
      {"/parts/0/tasks", Json::array({"v"}), "tasks.v is missing"},
      {"/parts/0/samples", 1ll << 40, "parts.samples 1099511627776 is not"},
      {"/parts/0/samples", "2", "parts.samples \"2\" is not"},
      {"/parts/0/first", -3, "parts.first -3 is not"},
      {"/parts/0/shard", 1, "parts.shard 1 is not a string"},
      {"/parts/0/shard", "1/0", "parts.shard \"1/0\" is not I/N"},
      {"/parts/0/shard", "0/99999999999", "parts.shard \"0/99999999999\" is not I/N"},
      {"/parts/0/shard", "0/2000000000", "parts.shard \"0/2000000000\" is not I/N"},
      {"/parts", Json(Json::array_t(20000, small_run()["parts"][0])), "at most 16384 are read"},
  };
  for (const Case& one : cases) {
    Json run = small_run();
    run[Json::json_pointer(one.pointer)] = one.value;
    const std::string message = refusal_to_report(folder, run);
    EXPECT_EQ(message.find((folder.path() / "run.json").string() + ": "), 0u)
        << one.pointer << ": " << message;
    EXPECT_NE(message.find(one.message), std::string::npos) << one.pointer << ": " << message;
  }
}

TEST(HostileRun, ManyProblemsAndSamplesAreCountedWithoutBeingStored) {
  const testing::TemporaryFolder folder;
  Json run = small_run();
  run["tasks"]["t"]["problems"] = 1 << 26;
  run["parts"][0]["samples"] = 1 << 30;
  run["parts"][0]["first"] = 1 << 25;
  run["parts"][0]["limit"] = 1 << 30;
  folder.write("run.json", run.dump());
  folder.write("samples.jsonl", "");
  EXPECT_EQ(read_reported_run(folder.path()).missing, std::size_t{1} << 56);  // of two methods
  for (int i = 0; i < 1000; ++i) {
    run["parts"].push_back(run["parts"][0]);
    run["parts"].back()["first"] = i;
  }
  EXPECT_NE(refusal_to_report(folder, run).find("asks for too many samples"), std::string::npos);
}

// Parts that overlap, samples that nothing asked for, and samples that occur twice.
TEST(HostileRun, MissingSamplesAreThoseOfANaiveCount) {
  Json run = small_run();
  run["parts"].push_back(
      {{"tasks", {"t", "u"}}, {"methods", {"a"}}, {"first", 2}, {"limit", 5}, {"samples", 3}});
  run["parts"].push_back(
      {{"tasks", {"t", "t"}}, {"methods", {"b"}}, {"samples", 4}, {"shard", "1/3"}});
  const std::vector<RunPart> parts = parts_of(run, "run.json");
  std::vector<Sample> samples;
  const auto add = [&](const char* task, const char* method, int question, int number) {
    Sample sample;
    sample.task = task;
    sample.method = method;
    sample.question = question;
    sample.sample = number;
    samples.push_back(sample);
  };
  add("t", "a", 0, 0);
  add("t", "a", 0, 0);
  add("t", "a", 0, 2);  // not asked for
  add("t", "a", 2, 2);
  add("t", "b", 4, 3);
  add("t", "b", 3, 3);   // not asked for
  add("t", "a", 10, 0);  // there is no such problem
  add("w", "a", 0, 0);
  std::set<std::tuple<std::string, std::string, int, int>> absent;
  for (const RunPart& part : parts)
    for (const std::string& task : part.tasks)
      for (const std::string& method : part.methods)
        for (int question = part.first; question < (task == "t" ? 10 : 3); ++question)
          for (int number = 0; number < part.samples; ++number)
            if (question % part.shards == part.shard &&
                (part.limit == 0 || question < part.first + part.limit))
              absent.emplace(task, method, question, number);
  for (const Sample& sample : samples)
    absent.erase({sample.task, sample.method, sample.question, sample.sample});
  EXPECT_EQ(missing_samples(run, parts, samples, "run.json"), absent.size());
}

TEST(HostileRun, ManyOpenShardsAreFoundAtOnce) {
  Json run = small_run();
  run["parts"][0]["shard"] = "0/1048576";
  EXPECT_EQ(missing_shards(parts_of(run, "run.json")).size(), (1u << 20) - 1);
  run["parts"].push_back(run["parts"][0]);
  run["parts"][1]["shard"] = "0/1048575";
  EXPECT_THROW(missing_shards(parts_of(run, "run.json")), BadInput) << "no common number";
}

TEST(RunParts, ShardsByName) {
  ASSERT_TRUE(shard_named("2/8"));
  EXPECT_EQ(shard_named("2/8")->index, 2);
  EXPECT_EQ(shard_named("2/8")->count, 8);
  for (const char* wrong : {"", "1", "1/", "/2", "2/2", "-1/2", "1/2x", "1/2/3", "a/b", "0/0",
                            "0/4294967297", "99999999999/1"})
    EXPECT_FALSE(shard_named(wrong)) << wrong;
}

}  // namespace
}  // namespace counterbeam
