// `ask` and `score` as a person or a script uses them: on a terminal, in a pipe, interrupted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/utf8.h"
#include "support/run_command.h"

namespace counterbeam {
namespace {

using ::testing::AllOf;
using testing::CommandResult;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_command;
using testing::run_counterbeam;
using testing::TemporaryFolder;

const std::string kProgram = "'" COUNTERBEAM_BINARY "'";
const std::string kQuick = " --device cpu --steer 0.7 --beams 4 --prune 2 --block 16 ";

// The command on a terminal of that many columns; what the terminal shows.
std::string on_terminal(const std::string& command, int columns, int& code) {
  const TemporaryFolder folder;
  const std::string typescript = folder.path() / "typescript";
  const CommandResult result = run_command("script -qec \"stty cols " + std::to_string(columns) +
                                           "; " + command + "\" '" + typescript + "' < /dev/null");
  code = result.code;
  return result.out;
}

TEST(Ask, StandardInputEqualsTheArgument) {
  const CommandResult argument = run_counterbeam("ask 'Compute 12 + 3 * 7.' --json" + kQuick);
  ASSERT_EQ(argument.code, 0) << argument.err;
  for (const char* ending : {"", "\\n", "\\r\\n"}) {
    const CommandResult piped = run_command("printf 'Compute 12 + 3 * 7." + std::string(ending) +
                                            "' | " + kProgram + " ask - --json" + kQuick);
    ASSERT_EQ(piped.code, 0) << piped.err;
    EXPECT_EQ(parse_json(piped.out, "out")["tokens"], parse_json(argument.out, "out")["tokens"]);
  }
}

TEST(Ask, LinesAreAnsweredInOrderAsAlone) {
  const TemporaryFolder folder;
  const std::string lines = folder.path() / "lines";
  write_file(lines,
             "{\"question\": \"Compute 12 + 3 * 7.\"}\n"
             "\n"
             "{\"question\": 7}\n"
             "{\"messages\": [{\"role\": \"user\", \"content\": \"Compute 2 + 2.\"}]}\n"
             "{\"question\": \"Compute 12 + 3 * 7.\", \"system\": \"Be brief.\"}\n"
             "not json\n");
  const CommandResult result = run_command(kProgram + " ask --jsonl" + kQuick + " < " + lines);
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("2 of the lines have no answer"));
  std::vector<Json> rows;
  std::istringstream in(result.out);
  for (std::string line; std::getline(in, line);) rows.push_back(parse_json(line, "row"));
  ASSERT_EQ(rows.size(), 5u);
  const auto alone = [](const std::string& arguments) {
    return parse_json(run_counterbeam("ask --json" + kQuick + arguments).out, "alone")["answer"];
  };
  EXPECT_EQ(rows[0]["answer"], alone("'Compute 12 + 3 * 7.'"));
  EXPECT_THAT(rows[1]["error"].get<std::string>(),
              HasSubstr("line 3 of standard input: field \"question\" is 7; give it as a string"));
  EXPECT_EQ(rows[2]["answer"], alone("'Compute 2 + 2.'"));
  EXPECT_EQ(rows[3]["answer"], alone("'Compute 12 + 3 * 7.' --system 'Be brief.'"));
  EXPECT_THAT(rows[4]["error"].get<std::string>(), HasSubstr("line 6 of standard input"));
}

TEST(Ask, ALineThatTheCacheIsTooSmallForFailsAlone) {
  const TemporaryFolder folder;
  std::string words;
  for (int i = 0; i < 300; ++i) words += "seven ";
  const std::string lines = folder.path() / "lines";
  write_file(lines, "{\"question\": \"" + words + "\", \"answer\": \"7\"}\n" +
                        "{\"question\": \"Compute 2 + 2.\", \"answer\": \"4\"}\n");
  for (const char* command : {"ask --jsonl --method sample --max-tokens 8", "score --jsonl"}) {
    const CommandResult result =
        run_command(kProgram + " --device cpu --cache-memory 600K " + command + " < " + lines);
    EXPECT_EQ(result.code, 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr("1 of the lines have no "));
    std::istringstream in(result.out);
    std::string first, second;
    ASSERT_TRUE(std::getline(in, first) && std::getline(in, second)) << command << result.err;
    EXPECT_THAT(first, AllOf(HasSubstr("\"error\""), HasSubstr("--cache-memory")));
    EXPECT_THAT(second, AllOf(HasSubstr("\"score\""), Not(HasSubstr("\"error\""))));
  }
}

TEST(Ask, BadUsageGetsExactErrors) {
  const TemporaryFolder folder;
  const std::string too_long(40000, 'x');
  const std::pair<std::string, std::string> cases[] = {
      {"ask", "give a question or --jsonl"},
      {"ask x --jsonl", "give a question or --jsonl"},
      {"ask x --trace /", "--trace /: is a folder"},
      {"ask x --trace no/such/tree.html", "there is no folder no/such"},
      {"ask x --trace t.html --method mcmc-power", "mcmc-power leaves no tree to trace"},
      {"ask x --jsonl --trace t.html", "one of the two"},
      {"ask x --method cbs:steer=1 --steer 2", "--steer: given twice, here and in --method"},
      {"ask 'Compute 1 + 1.' --system " + too_long, "shorten the system message"},
      {"ask " + too_long, "shorten the question"},
      {"ask x --raw --system y", "without a chat template there is no system message"},
      {"score --question x", "give --question and --answer, or --jsonl alone"},
  };
  for (const auto& [arguments, message] : cases) {
    const CommandResult result =
        run_command("cd '" + folder.path().string() + "' && " + kProgram + " " + arguments);
    EXPECT_EQ(result.code, 2) << arguments.substr(0, 80);
    EXPECT_THAT(result.err, HasSubstr(message)) << arguments.substr(0, 80);
    EXPECT_EQ(result.out, "") << arguments.substr(0, 80);
  }
}

TEST(Ask, ATraceThatCannotBeWrittenDoesNotCostTheAnswer) {
  const CommandResult result =
      run_counterbeam("ask 'Compute 12 + 3 * 7.' -q --trace /dev/full" + kQuick);
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("boxed"));
  EXPECT_THAT(result.err, HasSubstr("/dev/full"));
}

TEST(Ask, ATraceOfTextsThatAreNotUtf8IsWritten) {
  const TemporaryFolder folder;
  const std::string trace = folder.path() / "trace.json";
  const CommandResult result = run_counterbeam(
      "ask 'a\xff' --raw --device cpu -q --max-tokens 2 --positive 'p\xff' --negative n --trace " +
      trace);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(read_json_file(trace).is_object());
}

TEST(Ask, CtrlCPrintsTheBestSoFarWithItsTrace) {
  const TemporaryFolder folder;
  const std::string trace = folder.path() / "trace.json";
  // Ended beams would end the search early: one token per block and many blocks.
  const CommandResult result = run_command(
      "timeout --foreground --preserve-status --signal INT 2 " + kProgram +
      " ask 'Compute 12 + 3 * 7.' --device cpu --method mcmc-power --block 4 --steps 100000");
  EXPECT_EQ(result.code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("stopped"));
  const CommandResult beams = run_command(
      "timeout --foreground --preserve-status --signal INT 2 " + kProgram +
      " ask 'Compute 12 + 3 * 7.' --device cpu --beams 256 --prune 1 --block 1 --lookahead 64 "
      "--horizon 64 --trace " +
      trace);
  EXPECT_EQ(beams.code, 130) << beams.err;
  if (beams.out.empty()) {
    EXPECT_THAT(beams.err, HasSubstr("there is no answer yet"));
  } else {
    EXPECT_THAT(beams.err, HasSubstr("stopped; this was the best answer so far"));
    const Json json = read_json_file(trace);
    EXPECT_GE(json["selected"].get<int>(), 0);
  }
}

// The longest line that stood on the terminal, in columns, escape sequences left out.
std::size_t widest(const std::string& shown) {
  std::size_t most = 0, columns = 0;
  for (std::size_t i = 0; i < shown.size();) {
    const auto decoded = decode_utf8(shown, i);
    if (shown[i] == '\033') {
      i = shown.find_first_of("Km", i) + 1;
      continue;
    }
    columns = shown[i] == '\r' || shown[i] == '\n' ? 0 : columns + 1;
    most = std::max(most, columns);
    i += decoded.length;
  }
  return most;
}

TEST(Ask, TheLiveViewFitsNarrowTerminals) {
  for (const int columns : {40, 80, 200}) {
    int code = -1;
    const std::string shown =
        on_terminal(kProgram + " ask 'Compute 12 + 3 * 7.' --device cpu --method power --block 8 " +
                        "--max-tokens 32 > /dev/null",
                    columns, code);
    EXPECT_EQ(code, 0) << shown;
    const std::string live = shown.substr(0, shown.rfind("\033[K"));
    EXPECT_THAT(live, AllOf(HasSubstr("block 1/"), HasSubstr("tokens")));
    EXPECT_LE(widest(live.substr(live.find("block 1/"))), static_cast<std::size_t>(columns))
        << live;
    EXPECT_THAT(shown, HasSubstr("[power: score"));
  }
  int code = -1;
  EXPECT_THAT(on_terminal(kProgram + " ask 'Compute 12 + 3 * 7.' -q --device cpu", 80, code),
              Not(HasSubstr("block")));
}

TEST(Ask, ShippedModelsAreFoundByName) {
  const CommandResult result =
      run_counterbeam("ask 'Compute 12 + 3 * 7.' --model tiny-hybrid" + kQuick);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("toy"));
  EXPECT_THAT(run_counterbeam("ask 'Compute 1 + 1.' -q" + kQuick).err, Not(HasSubstr("toy")));
}

TEST(Score, EndIsTheTokenThatAskEndedWith) {
  const Json asked =
      parse_json(run_counterbeam("ask 'Compute 12 + 3 * 7.' --json" + kQuick).out, "ask");
  const CommandResult scored = run_counterbeam(
      "score --question 'Compute 12 + 3 * 7.' --end --json --steer 0.7 --device cpu "
      "--answer '" +
      asked["answer"].get<std::string>() + "'");
  ASSERT_EQ(scored.code, 0) << scored.err;
  const Json json = parse_json(scored.out, "score");
  EXPECT_EQ(json["tokens"].back()["id"], asked["tokens"].back());
  EXPECT_NEAR(json["score"].get<double>(), asked["score"].get<double>(), 1e-6);
}

TEST(Score, LinesGiveWhatEachGivesAlone) {
  const std::string row =
      R"({"question": "Compute 1 + 1.", "answer": "It is \\boxed{2}.", "id": 3})";
  const CommandResult lines =
      run_command("printf '%s\\n' '" + row + "' '{\"question\": \"x\"}' | " + kProgram +
                  " score --jsonl --device cpu");
  EXPECT_EQ(lines.code, 1);
  const CommandResult alone = run_counterbeam(
      "score --json --device cpu --question 'Compute 1 + 1.' --answer 'It is \\boxed{2}.'");
  EXPECT_EQ(lines.out.substr(0, lines.out.find('\n') + 1), alone.out);
  EXPECT_THAT(lines.out, HasSubstr("field \\\"answer\\\" is missing"));
}

}  // namespace
}  // namespace counterbeam
