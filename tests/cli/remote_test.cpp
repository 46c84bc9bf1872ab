// --engine as a user calls it, over a simulated server in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

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

TEST(RemoteCli, ServersOfTwoModelsAreRefused) {
  SimulatedOptions options = as_tiny();
  const SimulatedServer one(options);
  options.weights = 1;
  const SimulatedServer other(options);
  const auto result = run_counterbeam("ask x --engine " + one.url() + "," + other.url());
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("its \"tiny\" is another model"));
}

// An evaluation and its --resume, between which the server is started again.
TEST(RemoteCli, ResumingOverAnotherModelIsRefused) {
  const testing::TemporaryFolder folder;
  const auto eval = [&](const SimulatedOptions& options, const std::string& rest) {
    const SimulatedServer server(options);
    return run_counterbeam("eval --task tiny-math --methods sample:max-tokens=4 --out " +
                           (folder.path() / "run").string() + " --engine " + server.url() + rest);
  };
  const auto first = eval(as_tiny(), " --limit 2");
  ASSERT_EQ(first.code, 0) << first.err;
  Json run = read_json_file(folder.path() / "run/run.json");
  EXPECT_EQ(run["served"]["model"], "tiny");
  EXPECT_EQ(run["served"]["root"], "tiny");
  EXPECT_EQ(run["served"]["max_model_len"], 1024);
  EXPECT_GT(run["served"]["logprobs"].size(), 4u);

  SimulatedOptions changed = as_tiny();
  changed.weights = 1;
  const auto weights = eval(changed, " --limit 3 --resume");
  EXPECT_EQ(weights.code, 2);
  EXPECT_THAT(weights.err, HasSubstr("the model on the server seems to be another one"));
  changed = as_tiny();
  changed.models = {"renamed"};
  const auto name = eval(changed, " --limit 3 --resume");
  EXPECT_EQ(name.code, 2);
  EXPECT_THAT(name.err, HasSubstr("served.model was \"tiny\", and now is \"renamed\""));

  changed = as_tiny();
  changed.rounding = 0.03;  // as another dtype
  const auto rounded = eval(changed, " --limit 3 --resume");
  EXPECT_EQ(rounded.code, 0) << rounded.err;
  // As an earlier version wrote it; from now on it is compared, too.
  run = read_json_file(folder.path() / "run/run.json");
  const Json served = run["served"];
  run.erase("served");
  folder.write("run/run.json", to_line(run));
  const auto old = eval(as_tiny(), " --limit 4 --resume");
  EXPECT_EQ(old.code, 0) << old.err;
  EXPECT_EQ(read_json_file(folder.path() / "run/run.json")["served"], served);
}

TEST(RemoteCli, AnInfiniteLogprobIsNeverGraded) {
  SimulatedOptions options = as_tiny();
  options.fault = [](const testing::HeardRequest& request) -> std::optional<testing::SpokenReply> {
    if (request.body.find("\"max_tokens\":7,") == std::string::npos) return std::nullopt;
    return testing::SpokenReply{
        200, R"({"choices": [{"token_ids": [9], "logprobs": {"content": [{"logprob": -1e39}]}}]})"};
  };
  const SimulatedServer server(options);
  const testing::TemporaryFolder folder;
  const auto result = run_counterbeam(
      "eval --task tiny-math --limit 2 --allow-failures --methods sample:max-tokens=7 --out " +
      (folder.path() / "run").string() + " --engine " + server.url());
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string samples = read_file(folder.path() / "run/samples.jsonl");
  std::string line;
  int lines = 0;
  for (std::istringstream text(samples); std::getline(text, line); ++lines)
    EXPECT_THAT(parse_json(line, "sample").value("error", ""),
                HasSubstr("a log-probability of the reply is -1e+39"));
  EXPECT_EQ(lines, 2);
}

}  // namespace
}  // namespace counterbeam
