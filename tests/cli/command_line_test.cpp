// The command line as a user mistypes it: errors name the argument and the remedy, exit code 2;
// results that cannot be written are a failure, exit code 1.
#include <gtest/gtest.h>

#include "base/json.h"
#include "support/run_command.h"

namespace counterbeam {
namespace {

using testing::CommandResult;
using testing::run_command;
using testing::run_counterbeam;
using testing::TemporaryFolder;

TEST(CommandLine, AloneItPrintsHelp) {
  const CommandResult alone = run_counterbeam("");
  EXPECT_EQ(alone.code, 0);
  EXPECT_EQ(alone.err, "");
  EXPECT_NE(alone.out.find("Usage: counterbeam"), std::string::npos) << alone.out;
  EXPECT_EQ(alone.out, run_counterbeam("--help").out);
  EXPECT_EQ(alone.out, run_counterbeam("-h").out);
  EXPECT_EQ(alone.out, run_counterbeam("help").out);
  EXPECT_EQ(run_counterbeam("--version").code, 0);
}

TEST(CommandLine, HelpOfACommandIsTheSameHoweverItIsAskedFor) {
  const CommandResult help = run_counterbeam("ask --help");
  EXPECT_EQ(help.code, 0);
  for (const char* other : {"--help ask", "help ask", "ask -h", "ask --steer 3 --help --nonsense"})
    EXPECT_EQ(run_counterbeam(other).out, help.out) << other;
}

struct Mistake {
  const char* arguments;
  const char* error;  // after "counterbeam: "
};

class MistakeTest : public ::testing::TestWithParam<Mistake> {};

TEST_P(MistakeTest, IsNamedExactly) {
  const CommandResult result = run_counterbeam(GetParam().arguments);
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, std::string("counterbeam: ") + GetParam().error + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, MistakeTest,
    ::testing::Values(
        Mistake{"aks hello",
                "\"aks\" is not a command; did you mean ask? (counterbeam --help lists the "
                "commands)"},
        Mistake{"zebra", "\"zebra\" is not a command (counterbeam --help lists the commands)"},
        Mistake{"-q", "a command is missing; counterbeam --help lists the commands"},
        Mistake{"ask --ster 1 hello",
                "ask: unknown option --ster; did you mean --steer? (counterbeam ask --help lists "
                "the options)"},
        Mistake{"theory --jsn",
                "theory: unknown option --jsn; did you mean --json? (counterbeam theory --help "
                "lists the options)"},
        Mistake{"--modle x ask hello",
                "unknown option --modle; did you mean --model? (counterbeam --help lists the "
                "options)"},
        Mistake{"theory --zebra",
                "theory: unknown option --zebra (counterbeam theory --help lists the options)"},
        Mistake{"theory -x",
                "theory: unknown option -x (counterbeam theory --help lists the "
                "options)"},
        Mistake{"--steer 1 ask hello",
                "--steer: options of a command stand after its name: counterbeam ask --steer"},
        Mistake{"ask --steer 1 --steer 2 hello", "--steer is given twice; give it once"},
        Mistake{"--seed 1 ask hello --seed=2", "--seed is given twice; give it once"},
        Mistake{"ask hello --seed -1", "--seed: \"-1\" is not a whole number of 0 or more"},
        Mistake{"ask hello --seed 1.5", "--seed: \"1.5\" is not a whole number of 0 or more"},
        Mistake{"ask hello --seed=", "--seed: \"\" is not a whole number of 0 or more"},
        Mistake{"ask hello --seed 18446744073709551616",
                "--seed: 18446744073709551616 is out of range; allowed: 0 to "
                "18446744073709551615"},
        Mistake{"inspect --beams 0", "--beams: 0 is out of range; allowed: 1 to 65536"},
        Mistake{"inspect --beams 2x", "--beams: \"2x\" is not a whole number"},
        Mistake{"theory --steer nan", "--steer: nan is out of range; allowed: -100 to 100"},
        Mistake{"bench --rows 1,,2", "--rows: \"\" is not a whole number"},
        Mistake{"--device gpu theory",
                "--device: \"gpu\" is not known; allowed: auto, cpu, cuda; did you mean cpu?"},
        Mistake{"ask hello --raw=true", "--raw takes no value; write it alone"},
        Mistake{"ask hello --system", "--system needs a value: --system TEXT"},
        Mistake{"ask hello --system --raw",
                "--system needs a value, but the option --raw follows; if that is the value, write "
                "--system=--raw"},
        Mistake{"ask what is this",
                "ask: unexpected argument \"is\"; it takes one argument, and a text of several "
                "words needs quotes (counterbeam ask --help)"},
        Mistake{"ask", "ask: give a question or --jsonl, one of the two"},
        Mistake{"logits --out x.npy",
                "logits: --ids FILE is missing: JSON file with a list of token ids (counterbeam "
                "logits --help)"},
        Mistake{
            "eval --task tinymath --methods sample --out /nowhere",
            "task \"tinymath\" is not known; known: tiny-math, tiny-code, tiny-choice, math500, "
            "humaneval, gpqa, gsm8k, or a data file of yours (.jsonl, .csv); did you mean "
            "tiny-math?"},
        Mistake{"help aks",
                "\"aks\" is not a command; did you mean ask? (counterbeam --help lists "
                "the commands)"},
        Mistake{"ask - < /", "standard input is a folder; give a file or a pipe"},
        Mistake{"tokenize --jsonl < /", "standard input is a folder; give a file or a pipe"},
        Mistake{"grade --task math --jsonl < /",
                "standard input is a folder; give a file or a pipe"},
        Mistake{"render --jsonl < /", "standard input is a folder; give a file or a pipe"},
        Mistake{"tokenize - <&-", "standard input is closed; give a file or a pipe"},
        Mistake{"chat -q < /", "standard input is a folder; give a file or a pipe"},
        Mistake{"chat -q <&-", "standard input is closed; give a file or a pipe"},
        Mistake{"ask - < /dev/zero", "standard input has more than 64 MiB; give a shorter text"},
        Mistake{"chat -q < /dev/zero",
                "standard input has a line of more than 64 MiB; give shorter lines"},
        Mistake{"ask --jsonl -q < /dev/zero",
                "standard input has a line of more than 64 MiB; give shorter lines"},
        Mistake{"score --jsonl -q < /dev/zero",
                "standard input has a line of more than 64 MiB; give shorter lines"},
        Mistake{"tokenize --jsonl < /dev/zero",
                "standard input has a line of more than 64 MiB; give shorter lines"},
        Mistake{"render --jsonl < /dev/zero",
                "standard input has a line of more than 64 MiB; give shorter lines"},
        Mistake{"grade --task math --jsonl < /dev/zero",
                "standard input has a line of more than 64 MiB; give shorter lines"}));

TEST(CommandLine, ValuesMayLookLikeOptionsAndOptionsEnd) {
  const CommandResult expected = run_counterbeam("grade --task math -- -1 -1");
  EXPECT_EQ(expected.code, 0) << expected.err;
  EXPECT_EQ(run_counterbeam("--json grade --task=choice A A").code, 0);
  const CommandResult negative = run_counterbeam("theory --steer -1 --json");
  ASSERT_EQ(negative.code, 0) << negative.err;
  EXPECT_EQ(parse_json(negative.out, "output")["steer"], -1.0);
  EXPECT_EQ(run_counterbeam("theory --steer=-1 --json -q").out, negative.out);
}

TEST(CommandLine, ListsTakeCommasAndRepetition) {
  for (const char* rows : {"--rows 1,2", "--rows 1 --rows 2"}) {
    const CommandResult result = run_counterbeam(
        "bench --context 4 --tokens 1 --prefill 2 --beams 1 "
        "--survivors 1 --block 1 --rounds 1 --json " +
        std::string(rows));
    ASSERT_EQ(result.code, 0) << result.err;
    const Json figures = parse_json(result.out, "output")["figures"];
    EXPECT_EQ(figures[0]["rows"], 1) << rows;
    EXPECT_EQ(figures[1]["rows"], 2) << rows;
  }
}

TEST(CommandLine, BenchProfilesOperations) {
  const std::string command =
      "bench --device cpu --rows 2 --context 4 --tokens 2 --prefill 2 --beams 1 --survivors 1 "
      "--block 1 --rounds 1 --profile";
  const CommandResult tables = run_counterbeam(command);
  ASSERT_EQ(tables.code, 0) << tables.err;
  for (const char* expected :
       {"decode 2 rows: ", "\nattention ", "\nhead ", "\noutside operations"})
    EXPECT_NE(tables.out.find(expected), std::string::npos) << expected << tables.out;
  const CommandResult json = run_counterbeam(command + " --json");
  ASSERT_EQ(json.code, 0) << json.err;
  const Json decode = parse_json(json.out, "output")["figures"][0];
  double seconds = 0;
  for (const Json& times : decode["operations"]) seconds += times["seconds"].get<double>();
  EXPECT_GT(seconds, 0);
  EXPECT_LE(seconds, decode["seconds"].get<double>());
  EXPECT_EQ(decode["operations"]["attention"]["calls"].get<int>() % 2, 0);
}

class UnwritableTest : public ::testing::TestWithParam<const char*> {};

TEST_P(UnwritableTest, ResultsThatCannotBeWrittenAreAFailure) {
  const std::string command = std::string("'" COUNTERBEAM_BINARY "' ") + GetParam();
  const CommandResult full = run_command(command + " >/dev/full");
  EXPECT_EQ(full.code, 1);
  EXPECT_NE(full.err.find("standard output cannot be written: No space left on device"),
            std::string::npos)
      << full.err;
  const CommandResult closed = run_command(command + " >&-");
  EXPECT_EQ(closed.code, 1);
  EXPECT_NE(closed.err.find("standard output cannot be written"), std::string::npos) << closed.err;
  EXPECT_EQ(run_command(command + " >/dev/full 2>&1").code, 1);
}

TEST_P(UnwritableTest, MessagesMayBeLost) {
  const std::string command = std::string("'" COUNTERBEAM_BINARY "' ") + GetParam();
  const std::string expected = run_command(command).out;
  for (const char* lost : {" 2>/dev/full", " 2>&-"}) {
    const CommandResult result = run_command(command + lost);
    EXPECT_EQ(result.code, 0) << lost;
    EXPECT_EQ(result.out.size() > 0, expected.size() > 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, UnwritableTest,
    ::testing::Values("", "--help", "--version", "ask --help", "help ask", "man", "completion bash",
                      "theory", "theory --json", "tokenize ab", "tokenize ab --json",
                      "render hello", "render hello --json", "contexts list", "inspect",
                      "inspect --json", "grade --task math 1 1", "grade --task math 1 1 --json",
                      "ask hello --method sample --max-tokens 4",
                      "ask hello --method sample --max-tokens 4 --json",
                      "score --question 1+1 --answer 2", "score --question 1+1 --answer 2 --json",
                      "bench --rows 1 --context 4 --tokens 1 --prefill 2 --beams 1 --survivors 1 "
                      "--block 1 --rounds 1"));

// The sleep lets the reader end first.
TEST(CommandLine, AReaderThatLeavesEndsItQuietlyAndMessagesMayBeLost) {
  const TemporaryFolder folder;
  const std::string at = folder.path();
  const auto piped = [&](const std::string& command) {
    run_command("cd '" + at + "'; ( sleep 0.3; '" COUNTERBEAM_BINARY "' " + command +
                "; echo $? >code ) | true");
    return read_file(folder.path() / "code");
  };
  EXPECT_EQ(piped("help 2>err"), "1\n");
  EXPECT_EQ(read_file(folder.path() / "err"), "");
  EXPECT_EQ(piped("ask hello --method sample --max-tokens 4 2>&1 >out"), "0\n");
  EXPECT_NE(read_file(folder.path() / "out"), "");
}

TEST(CommandLine, ALimitOnTheSizeOfFilesIsAFailureThatNamesTheFile) {
  const TemporaryFolder folder;
  const std::string trace = folder.path() / "t.json";
  const CommandResult result = run_command("ulimit -f 1; '" COUNTERBEAM_BINARY
                                           "' ask hello -q --beams 4 --prune 2 --trace '" +
                                           trace + "' | cat");
  EXPECT_NE(result.err.find("t.json"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("File too large"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(trace));
}

TEST(CommandLine, AStackThatIsTooSmallIsNamed) {
  const CommandResult result = run_command("ulimit -s 256; '" COUNTERBEAM_BINARY "' ask hello -q");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err,
            "counterbeam: the stack is limited to 262144 bytes, and at least 1048576 are needed; "
            "raise it (ulimit -s)\n");
}

TEST(CommandLine, SummariesAndLogitsMustArriveToo) {
  const TemporaryFolder folder;
  folder.write("ids.json", "[1, 2]");
  folder.write("questions", "Compute 1 + 1.\n");
  const std::string at = folder.path();
  for (const std::string& arguments :
       {"chat --method sample:max-tokens=4 < '" + at + "/questions'",
        "logits --ids '" + at + "/ids.json' --out '" + at + "/out.npy'",
        "eval --task tiny-math --limit 1 --methods sample:max-tokens=4 --out '" + at + "/run'",
        "merge '" + at + "/run' --out '" + at + "/whole'",
        "report '" + at + "/run' --out '" + at + "/page'",
        "quantize --to int8 '" COUNTERBEAM_SOURCE_DIR "/models/tiny-dense' '" + at + "/int8'",
        "reproduce table1 --quick --limit 1 --task tiny-choice --out '" + at + "/table'"}) {
    const CommandResult result = run_counterbeam(arguments + " >/dev/full");
    EXPECT_EQ(result.code, 1) << arguments;
    EXPECT_NE(result.err.find("cannot be written"), std::string::npos)
        << arguments << ": " << result.err;
  }
}

}  // namespace
}  // namespace counterbeam
