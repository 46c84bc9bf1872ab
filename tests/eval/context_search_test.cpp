// The plan of a search for contexts, which problems its runs take, and the sentences it ends with.
#include "eval/context_search.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "eval/jobs.h"
#include "eval/paraphrase_file.h"
#include "search/context_book.h"
#include "support/bad_case.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

using testing::expect_message;
using testing::TemporaryFolder;

// Every `repeat`-th problem has the question of the one before it.
TaskData task_of(int problems, int repeat = 0) {
  TaskData task;
  task.name = "numbers";
  for (int i = 0; i < problems; ++i) {
    Problem problem;
    problem.id = std::to_string(i);
    const bool repeats = repeat > 0 && i % repeat == repeat - 1;
    problem.question.text = fmt::format("question {}", repeats ? i - 1 : i);
    task.problems.push_back(problem);
  }
  return task;
}

ContextSearchOptions options_of(int dev, int confirm, std::uint64_t seed = 0) {
  ContextSearchOptions options;
  options.candidates.assign(named_contexts().begin(), named_contexts().end() - 1);
  options.method = parse_methods("cbs")[0];
  options.screen = parse_methods("best-of-n:steer=0.25")[0];
  options.dev = dev;
  options.confirm = confirm;
  options.run.seed = seed;
  return options;
}

// The questions of the jobs of a portion.
std::multiset<std::string> questions_of(const TaskData& task, const Portion& portion, int shard,
                                        int shards) {
  EvalOptions run;
  run.methods = parse_methods("sample");
  run.first = portion.first;
  run.limit = portion.count;
  run.shard = shard;
  run.shards = shards;
  const std::vector<TaskData> tasks = {task};
  std::multiset<std::string> questions;
  for (const Job& job : jobs_of(tasks, run)) questions.insert(job.problem->question.text);
  return questions;
}

TEST(ContextSearchPlan, NoQuestionChoosesAndConfirms) {
  for (const int problems : {40, 97, 300})
    for (const int repeat : {0, 2, 5})
      for (const std::uint64_t seed : {0u, 1u, 7u})
        for (const int shards : {1, 3}) {
          const int different = problems - (repeat > 0 ? problems / repeat : 0);
          const int dev = different / 2, confirm = different - dev;
          const ContextSearchPlan plan =
              plan_context_search(task_of(problems, repeat), options_of(dev, confirm, seed));
          EXPECT_EQ(plan.repeated, problems - different);
          std::set<std::string> chose, confirmed;
          int asked = 0;
          for (int shard = 0; shard < shards; ++shard) {
            for (const Portion& portion : rounds_of(plan.contest)) {
              const auto questions = questions_of(plan.task, portion, shard, shards);
              chose.insert(questions.begin(), questions.end());
              asked += static_cast<int>(questions.size());
            }
            const auto last = questions_of(plan.task, confirmation_of(plan.contest), shard, shards);
            confirmed.insert(last.begin(), last.end());
            asked += static_cast<int>(last.size());
          }
          EXPECT_EQ(asked, different) << "every question once";
          EXPECT_EQ(chose.size(), static_cast<std::size_t>(dev));
          EXPECT_EQ(confirmed.size(), static_cast<std::size_t>(confirm));
          for (const std::string& question : confirmed) EXPECT_FALSE(chose.contains(question));
        }
}

TEST(ContextSearchPlan, TheOrderIsRandomAndTheSeeds) {
  const auto ids = [](std::uint64_t seed) {
    std::vector<std::string> order;
    for (const Problem& problem :
         plan_context_search(task_of(60), options_of(30, 30, seed)).task.problems)
      order.push_back(problem.id);
    return order;
  };
  EXPECT_EQ(ids(1), ids(1));
  EXPECT_NE(ids(1), ids(2));
  // A file sorted by topic: both halves have about as many of the first topic. Over 40 seeds the
  // mean is 15 with a standard error of 0.3.
  double low = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto order = ids(seed);
    for (int i = 0; i < 30; ++i) low += std::stoi(order[static_cast<std::size_t>(i)]) < 30;
  }
  EXPECT_NEAR(low / 40, 15, 1.5);
}

TEST(ContextSearchPlan, TooFewProblemsAreRefusedWithTheNumbers) {
  expect_message("both",
                 "numbers has 50 different problems, too few for --dev 30 and 30 others that "
                 "confirm (--confirm); together they may be 50",
                 [] { plan_context_search(task_of(50), options_of(30, 0)); });
  expect_message("repeated",
                 "numbers has 25 different problems (25 more repeat a question), too few for --dev "
                 "20 and 20 others that confirm (--confirm); together they may be 25",
                 [] { plan_context_search(task_of(50, 2), options_of(20, 20)); });
  expect_message("confirm",
                 "--confirm 6: so few problems cannot show that a pair is better, even if it is "
                 "better on every one of them; give at least 7",
                 [] { plan_context_search(task_of(50), options_of(30, 6)); });
  expect_message("dev",
                 "--dev 7: 10 candidates are halved in 4 rounds, which need at least 8 development "
                 "problems, not 7; give more, or fewer candidates by --pairs",
                 [] { plan_context_search(task_of(50), options_of(7, 20)); });
}

TEST(ContextSearchPlan, EveryContestantHasAPair) {
  ContextSearchOptions options = options_of(10, 10);
  options.candidates = {{"mine", "A:", "B:"}};
  const ContextSearchPlan plan = plan_context_search(task_of(20), options);
  for (const char* name : {"mine", "reasoning", "neutral"})
    EXPECT_NE(pair_named(plan.pairs, name), nullptr) << name;
  EXPECT_EQ(pair_named(plan.pairs, "none"), nullptr);
  const MethodString with = with_pair(options.method, options.candidates[0]);
  EXPECT_EQ(with.text, "cbs:contexts=mine");
  EXPECT_EQ(chosen_contexts(with.settings)->negative, "B:");
  const MethodString without = without_pair(options.method);
  EXPECT_EQ(without.text, "cbs:contexts=none");
  EXPECT_FALSE(uses_contexts(without.settings));
}

// Jobs of a part of a task: those of all shards are the part, and each shard has one first problem.
TEST(Jobs, APortionIsTheSameInShards) {
  const TaskData task = task_of(23);
  for (const int first : {0, 1, 5, 22, 23, 30})
    for (const int limit : {0, 1, 4, 100})
      for (const int shards : {1, 2, 5}) {
        std::set<std::uint32_t> taken;
        for (int shard = 0; shard < shards; ++shard) {
          EvalOptions run;
          run.methods = parse_methods("sample");
          run.first = first;
          run.limit = limit;
          run.shard = shard;
          run.shards = shards;
          int firsts = 0, jobs = 0;
          const std::vector<TaskData> tasks = {task};
          for (const Job& job : jobs_of(tasks, run)) {
            EXPECT_TRUE(taken.insert(job.question).second);
            firsts += job.first;
            ++jobs;
          }
          EXPECT_EQ(firsts, std::min(jobs, 1));
        }
        std::set<std::uint32_t> expected;
        for (int i = first; i < 23 && (limit == 0 || i < first + limit); ++i)
          expected.insert(static_cast<std::uint32_t>(i));
        EXPECT_EQ(taken, expected) << first << " " << limit << " " << shards;
      }
}

Claim claim(const std::string& name, const std::string& against, double own, double other, double p,
            bool holds) {
  return {name, against, {own, 0, 1}, {other, 0, 1}, {own - other, p, true}, p, holds, 100};
}

TEST(ContextSearchOutcome, IsOnePlainSentence) {
  ContextSearchOptions options = options_of(80, 100);
  Contest contest;
  contest.baseline = "none";
  contest.standard = "reasoning";
  ContestResult result;
  result.finalists = {"mine"};
  result.claims = {claim("mine", "none", 0.81, 0.49, 0.00001, true),
                   claim("mine", "reasoning", 0.81, 0.79, 0.5, false)};
  result.winner = "mine";
  EXPECT_EQ(
      outcome_sentence(options, contest, result),
      "winner: mine, 0.810 against 0.490 for beam search on 100 problems that it was not "
      "chosen on (p < 0.0001, corrected for 2 tests); not shown to be better than the default "
      "pair reasoning: 0.810 against 0.790 (p = 0.5000)");
  result.claims[1] = claim("mine", "reasoning", 0.81, 0.6, 0.002, true);
  EXPECT_TRUE(outcome_sentence(options, contest, result)
                  .ends_with("; also better than the default pair reasoning: 0.810 against 0.600 "
                             "(p = 0.0020)"));
  result.winner.reset();
  result.claims[0] = claim("mine", "none", 0.5, 0.49, 1, false);
  options.method = parse_methods("best-of-n:steer=1")[0];
  EXPECT_EQ(
      outcome_sentence(options, contest, result),
      "no winner: nothing is better than the method without contrast beyond noise (best in "
      "the rounds: mine, 0.500 against 0.490 on 100 other problems, p = 1.0000, corrected for "
      "2 tests)");
  result.finalists = {"reasoning"};
  result.winner = "reasoning";
  result.claims = {claim("reasoning", "none", 0.8, 0.5, 0.001, true)};
  EXPECT_TRUE(outcome_sentence(options, contest, result)
                  .ends_with("(p = 0.0010, corrected for 1 test); it is the default pair"));
}

TEST(ParaphraseFile, IsReadAsItWasWritten) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "paraphrases.json";
  const Paraphrases written = {3, {{"reasoning.1", "A:", "B \"b\":"}}, {{"why", "junk \xff\n"}}};
  write_paraphrases(path, written);
  const Paraphrases read = read_paraphrases(path, 1);
  EXPECT_EQ(read.requests, 3);
  ASSERT_EQ(read.pairs.size(), 1u);
  EXPECT_EQ(read.pairs[0].negative, "B \"b\":");
  EXPECT_EQ(read.dropped[0].cause, "why");
  EXPECT_THROW(read_paraphrases(path, 0), Error);
  for (const char* bad : {"[]", "{}", R"({"pairs": 1, "dropped": []})",
                          R"({"requests": 1, "pairs": [{"name": "a"}], "dropped": []})",
                          R"({"requests": -1, "pairs": [], "dropped": []})",
                          R"({"requests": 1, "dropped": [], "pairs": [{"name": "a",
                             "positive": "x", "negative": "x"}]})"}) {
    write_file(path, bad);
    EXPECT_THROW(read_paraphrases(path, 9), Error) << bad;
  }
}

}  // namespace
}  // namespace counterbeam
