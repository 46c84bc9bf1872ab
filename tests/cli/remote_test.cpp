// --engine as a user calls it, over a simulated server in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "engine/simulated_server.h"
#include "support/run_command.h"

namespace counterbeam {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_counterbeam;
using testing::SimulatedOptions;
using testing::SimulatedServer;

// Of the size of the shipped model, whose tokenizer is used.
SimulatedOptions as_tiny() {
  SimulatedOptions options;
  options.vocab = 1024;
  options.length = 1024;
  options.models = {"tiny"};
  return options;
}

TEST(RemoteCli, InspectPrintsWhatWasFound) {
  SimulatedOptions options = as_tiny();
  options.token_details = false;
  const SimulatedServer server(options);
  const auto text = run_counterbeam("inspect -q --engine " + server.url());
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("vLLM, token ids"));
  EXPECT_THAT(text.out, HasSubstr("48 requests in at most 2 rounds"));
  EXPECT_THAT(text.out, HasSubstr("cheaper by     vllm serve --enable-prompt-tokens-details"));
  const auto json =
      run_counterbeam("inspect -q --json --beams 4 --engine " + server.url() + "/v1/");
  const Json found = parse_json(json.out, "inspect");
  EXPECT_EQ(found["servers"][0]["model"], "tiny");
  EXPECT_EQ(found["servers"][0]["block"]["requests"], 12);
  EXPECT_EQ(found["keyed_draws"], false);
}

TEST(RemoteCli, AsksAndScores) {
  const SimulatedServer server(as_tiny());
  const auto answer = run_counterbeam(
      "ask --json --method cbs:beams=4:prune=2:block=4:max-tokens=8 'Compute 1 + 2.' --engine " +
      server.url());
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(answer.err, HasSubstr("the same seed need not give the same answer again"));
  const Json json = parse_json(answer.out, "ask");
  EXPECT_EQ(json["generated_tokens"], 4 * 8);
  EXPECT_GT(json["cached_tokens"], 0);
  const auto score =
      run_counterbeam("score -q --question 'Compute 1 + 2.' --answer '3' --engine " + server.url());
  EXPECT_EQ(score.code, 0) << score.err;
}

TEST(RemoteCli, TheKeyIsSentAndNeverRecorded) {
  SimulatedOptions options = as_tiny();
  options.key = "sesame-opens";
  const SimulatedServer server(options);
  const testing::TemporaryFolder folder;
  const std::string run = (folder.path() / "run").string();
  const std::string eval = "eval --task tiny-math --limit 2 --methods sample:max-tokens=4 --out " +
                           run + " --engine " + server.url();
  const auto without = run_counterbeam(eval);
  EXPECT_EQ(without.code, 2);
  EXPECT_THAT(without.err, HasSubstr("COUNTERBEAM_ENGINE_KEY"));
  const auto with = run_counterbeam(eval + " --engine-key sesame-opens");
  EXPECT_EQ(with.code, 0) << with.err;
  EXPECT_THAT(with.out + with.err, Not(HasSubstr("sesame")));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(run)) {
    if (!entry.is_regular_file()) continue;
    EXPECT_THAT(read_file(entry.path()), Not(HasSubstr("sesame"))) << entry.path();
  }
  const auto wrong =
      run_counterbeam("ask x --engine " + server.url() + " --engine-key=sesame-shut");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, Not(HasSubstr("sesame")));
}

TEST(RemoteCli, WrongUseSaysWhatToDo) {
  SimulatedOptions other = as_tiny();
  other.vocab = 500;
  const SimulatedServer small(other);
  struct Case {
    std::string arguments;
    int code;
    std::string message;
  };
  const Case cases[] = {
      {"ask x --engine localhost:8000", 2, "write it as http://127.0.0.1:8000"},
      {"ask x --engine http://127.0.0.1:1", 1, "http://127.0.0.1:1"},
      {"bench --engine http://127.0.0.1:1", 2, "needs the weights of the model in this process"},
      {"inspect --shape qwen2.5-7b --engine http://127.0.0.1:1", 2, "--shape and --engine"},
      {"ask x --engine " + small.url(), 1, "a token id is out of the vocabulary"}};
  for (const Case& one : cases) {
    const auto result = run_counterbeam(one.arguments);
    EXPECT_EQ(result.code, one.code) << one.arguments;
    EXPECT_THAT(result.err, HasSubstr(one.message)) << one.arguments;
  }
}

TEST(RemoteCli, ContextsAreRefusedWithoutLogprobsOfGivenTokens) {
  SimulatedOptions options = as_tiny();
  options.kind = SimulatedOptions::Kind::DrawsOnly;
  const SimulatedServer server(options);
  const auto contrast = run_counterbeam("ask x --method cbs:max-tokens=8 --engine " + server.url());
  EXPECT_EQ(contrast.code, 2);
  EXPECT_THAT(contrast.err, HasSubstr("log-probabilities of given tokens"));
  const auto beam = run_counterbeam("ask x --method beam:max-tokens=8 --engine " + server.url());
  EXPECT_EQ(beam.code, 0) << beam.err;
}

}  // namespace
}  // namespace counterbeam
