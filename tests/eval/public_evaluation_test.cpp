// Evaluations through the public interface, with problems and a grader of the caller's.
#include <counterbeam/evaluation.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/json.h"
#include "eval/samples.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const LanguageModel& evaluated_model() {
  static const LanguageModel kModel = LanguageModel::load(
      std::string(COUNTERBEAM_SOURCE_DIR) + "/models/tiny-dense", {.device = "cpu"});
  return kModel;
}

EvaluationOptions own_options(const std::filesystem::path& out) {
  EvaluationOptions options;
  options.own = {{.name = "mine",
                  .problems = {{"a", "Compute 1 + 2.", "3", ""}, {"b", "Compute 2 + 2.", "4", ""}},
                  .grader_name = "first",
                  .grader = [](const std::string& id, const std::string& answer) {
                    return OwnVerdict{id == "a", answer.substr(0, 3)};
                  }}};
  options.methods = {"greedy:max-tokens=8"};
  options.out = out.string();
  return options;
}

TEST(PublicEvaluation, OwnProblemsAndGrader) {
  const testing::TemporaryFolder folder;
  EvaluationOptions options = own_options(folder.path() / "run");
  std::atomic<std::int64_t> told = 0;
  options.on_sample = [&](std::int64_t, std::int64_t all) {
    ++told;
    EXPECT_EQ(all, 2);
  };
  const Json summary = parse_json(evaluate(evaluated_model(), options), "summary");
  EXPECT_EQ(summary["tasks"][0]["methods"][0]["accuracy"]["mean"], 0.5);
  EXPECT_EQ(told, 2);
  const std::vector<Sample> samples = read_samples(folder.path() / "run" / "samples.jsonl");
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_TRUE(samples[0].correct);
  EXPECT_EQ(samples[0].extracted, samples[0].answer.substr(0, 3));
  EXPECT_FALSE(samples[1].correct);

  // Another grader must not be mixed with the samples of this one.
  options.resume = true;
  options.own[0].grader_name = "second";
  EXPECT_THROW(evaluate(evaluated_model(), options), BadInput);
}

TEST(PublicEvaluation, SamplesThatFailedAreAnErrorAfterTheReports) {
  const testing::TemporaryFolder folder;
  EvaluationOptions options = own_options(folder.path() / "run");
  const auto grader = options.own[0].grader;
  options.own[0].grader = [](const std::string& id, const std::string&) {
    if (id == "b") throw std::runtime_error("the grader's machine is away");
    return OwnVerdict{true, "x"};
  };
  EXPECT_THAT([&] { evaluate(evaluated_model(), options); },
              ThrowsMessage<Failed>(HasSubstr(
                  "1 sample could not be run or judged, problem b of mine among them: the "
                  "grader's machine is away; see summary.json")));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "run/report.html"));
  EXPECT_EQ(read_samples(folder.path() / "run/samples.jsonl").size(), 2u);
  options.resume = options.allow_failures = true;
  EXPECT_THAT(evaluate(evaluated_model(), options), HasSubstr("the grader's machine is away"));
  options.allow_failures = false;
  options.own[0].grader = grader;
  EXPECT_NO_THROW(evaluate(evaluated_model(), options)) << "tried again";
}

TEST(PublicEvaluation, BadInputIsNamed) {
  const testing::TemporaryFolder folder;
  const auto refused = [&](auto change, const char* message) {
    EvaluationOptions options = own_options(folder.path() / "run");
    change(options);
    EXPECT_THAT([&] { evaluate(evaluated_model(), options); },
                ThrowsMessage<BadInput>(HasSubstr(message)));
  };
  refused([](EvaluationOptions& o) { o.own[0].problems[1].id = "a"; }, "two problems have the id");
  refused([](EvaluationOptions& o) { o.own[0].problems[1].id = "b\xff"; }, "not valid UTF-8");
  refused([](EvaluationOptions& o) { o.methods = {"cbs:positive=\xff:negative=b"}; },
          "not valid UTF-8");
  refused([](EvaluationOptions& o) { o.own[0].name = "a b"; }, "name");
  refused([](EvaluationOptions& o) { o.own[0].grader = nullptr; }, "no grader");
  refused([](EvaluationOptions& o) { o.own[0].problems.clear(); }, "no problems");
  refused([](EvaluationOptions& o) { o.own.clear(); }, "no task");
  refused([](EvaluationOptions& o) { o.methods.clear(); }, "methods");
  refused([](EvaluationOptions& o) { o.out.clear(); }, "out");
  refused([](EvaluationOptions& o) { o.samples = 0; }, "samples");
}

TEST(PublicEvaluation, GradersByName) {
  EXPECT_TRUE(grade_answer("math", "1/2", "It is \\boxed{0.5}.").correct);
  EXPECT_FALSE(grade_answer("exact", "yes", "no").correct);
  EXPECT_THROW(grade_answer("regex", "a", "a"), BadInput);
  EXPECT_THROW(grade_answer("none", "a", "a"), BadInput);
}

}  // namespace
}  // namespace counterbeam
