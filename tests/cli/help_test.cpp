// Help, the manual page and the completions are made from one description: every command and every
// option stands in each of them, and the tools that read them accept them.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "search/settings.h"
#include "support/run_command.h"

namespace counterbeam {
namespace {

using testing::CommandResult;
using testing::run_command;
using testing::run_counterbeam;
using testing::TemporaryFolder;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The first words of the rows of a table in help.
std::vector<std::string> rows_after(const std::string& help, const std::string& heading) {
  std::vector<std::string> names;
  bool inside = false;
  for (const std::string& line : lines_of(help)) {
    if (line.empty()) inside = false;
    if (inside && line.starts_with("  ") && line[2] != ' ')
      names.push_back(line.substr(2, line.find_first_of(" ,", 2) - 2));
    if (line.starts_with(heading)) inside = true;
  }
  return names;
}

// Every command, and those of groups with the group's name: "contexts search".
std::vector<std::string> commands() {
  std::vector<std::string> names = rows_after(run_counterbeam("").out, "Commands:");
  const std::size_t count = names.size();
  for (std::size_t i = 0; i < count; ++i)
    for (const std::string& line : lines_of(run_counterbeam(names[i] + " --help").out))
      if (const std::string group = "  " + names[i] + " "; line.starts_with(group))
        names.push_back(line.substr(2, line.find(' ', group.size()) - 2));
  return names;
}

// Every "--name" of a command's help that opens a row.
std::vector<std::string> options_of(const std::string& command) {
  std::vector<std::string> names;
  for (const std::string& line : lines_of(run_counterbeam(command + " --help").out)) {
    const auto start = line.find("--");
    if (!line.starts_with("  -") || start == line.npos) continue;
    names.push_back(line.substr(start, line.find_first_of(" ,", start) - start));
  }
  return names;
}

bool has_program(const std::string& name) {
  return run_command("command -v " + name).code == 0;
}

TEST(Help, EveryCommandIsListedAndHasHelp) {
  const auto names = commands();
  for (const char* name :
       {"ask",      "score",      "eval",     "merge",         "reproduce",       "report",
        "diagnose", "bench",      "theory",   "inspect",       "logits",          "tokenize",
        "render",   "grade",      "contexts", "contexts list", "contexts search", "help",
        "man",      "completion", "quantize"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  for (const std::string& name : names) {
    const CommandResult help = run_counterbeam(name + " --help");
    EXPECT_EQ(help.code, 0) << name;
    EXPECT_NE(help.out.find("Usage: counterbeam " + name), std::string::npos) << help.out;
    for (const char* global :
         {"Global options", "--model", "--device", "--dtype", "--threads", "--cache-memory",
          "--cache-dtype", "--seed", "--json", "-q, --quiet"})
      EXPECT_NE(help.out.find(global), std::string::npos) << name << " " << global;
    for (const std::string& line : lines_of(help.out))
      EXPECT_TRUE(line.size() <= 80 || line.find("counterbeam ") < 8) << name << ": " << line;
  }
}

// The rows of one option, joined.
std::string entry(const std::string& help, const std::string& name) {
  std::string text;
  bool inside = false;
  for (const std::string& line : lines_of(help)) {
    const bool opens = line.starts_with("  ") && line.size() > 2 && line[2] != ' ';
    if (opens || line.empty()) inside = line.starts_with("  " + name);
    if (inside) text += line.substr(line.find_first_not_of(' ')) + " ";
  }
  return text;
}

TEST(Help, EverySettingHasTypeDefaultRangeAndMethods) {
  const std::string ask = run_counterbeam("ask --help").out;
  const std::string eval = run_counterbeam("eval --help").out;
  for (const Setting& field : all_settings()) {
    const std::string name(field.name);
    for (const std::string& shown : {entry(ask, "--" + name + " "), entry(eval, name + "=")}) {
      ASSERT_NE(shown, "") << name;
      EXPECT_NE(shown.find("[default: "), std::string::npos) << shown;
      EXPECT_NE(shown.find("[methods: "), std::string::npos) << shown;
      EXPECT_TRUE(field.most <= field.least || shown.find(" to ") != shown.npos) << shown;
    }
  }
  const std::string steer = entry(ask, "--steer ");
  EXPECT_NE(steer.find("--steer NUMBER"), std::string::npos) << steer;
  EXPECT_NE(steer.find("[-1000 to 1000]"), std::string::npos) << steer;
  EXPECT_NE(steer.find("[default: 0.25; 0 for best-of-n, self-consistency; "
                       "1.5 with policy=cfg; 0.5 with policy=cad]"),
            std::string::npos)
      << steer;
  EXPECT_NE(steer.find("[methods: cbs, best-of-n, self-consistency, token-contrast]"),
            std::string::npos)
      << steer;
}

// Without the escapes of troff and of quoted strings.
std::string unescaped(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '\\'), text.end());
  return text;
}

TEST(Manual, HasEveryCommandAndOption) {
  const std::string page = unescaped(run_counterbeam("man").out);
  for (const std::string& command : commands()) {
    const auto start = page.find("\n.SS " + command + "\n");
    ASSERT_NE(start, page.npos) << command;
    const std::string part = page.substr(start, page.find("\n.SS ", start + 1) - start);
    for (const std::string& option : options_of(command))
      EXPECT_TRUE(part.find("fB" + option + "fR") != part.npos ||
                  page.substr(0, page.find(".SH COMMANDS")).find("fB" + option + "fR") != page.npos)
          << command << " " << option;
  }
}

TEST(Manual, IsAcceptedByItsReaders) {
  const TemporaryFolder folder;
  const std::string page = folder.write("counterbeam.1", run_counterbeam("man").out);
  bool read = false;
  if (has_program("groff")) {
    const CommandResult result = run_command("groff -man -Tutf8 -ww -z '" + page + "'");
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.err, "");
    read = true;
  }
  if (has_program("mandoc")) {
    const CommandResult result = run_command("mandoc -T lint -W error '" + page + "'");
    EXPECT_EQ(result.code, 0) << result.out;
    read = true;
  }
  if (has_program("man")) {
    const CommandResult result = run_command("MANWIDTH=80 man -l '" + page + "'");
    EXPECT_TRUE(result.code != 0 || result.out.find("--steer NUMBER") != result.out.npos);
  }
  if (!read) GTEST_SKIP() << "neither groff nor mandoc is installed";
}

TEST(Completion, HasEveryCommandAndOption) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const CommandResult script = run_counterbeam("completion " + shell);
    ASSERT_EQ(script.code, 0) << script.err;
    for (const std::string& command : commands()) {
      const std::string word = command.substr(command.find(' ') + 1);
      EXPECT_NE(script.out.find(word), std::string::npos) << shell << " " << command;
      for (const std::string& option : options_of(command)) {
        const std::string name = shell == "fish" ? "-l " + option.substr(2) : option;
        EXPECT_NE(script.out.find(name), std::string::npos) << shell << " " << option;
      }
    }
    const TemporaryFolder folder;
    const std::string path = folder.write("script", script.out);
    if (has_program(shell)) {
      const CommandResult checked = run_command(shell + " -n '" + path + "'");
      EXPECT_EQ(checked.code, 0) << shell << ": " << checked.err;
    }
  }
  EXPECT_EQ(run_counterbeam("completion tcsh").code, 2);
}

TEST(Completion, CompletesInBash) {
  if (!has_program("bash")) GTEST_SKIP() << "bash is not installed";
  const TemporaryFolder folder;
  folder.write("tree.html", "");
  folder.write("models/a b/config.json", "{}");
  const std::string script = folder.write("script", run_counterbeam("completion bash").out + R"(
cd "${BASH_SOURCE%/*}"
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _counterbeam; (IFS='|'; echo "${COMPREPLY[*]}"); }
try counterbeam as
try counterbeam ask --ste
try counterbeam --model ask inspe
try counterbeam --device c
try counterbeam --device = c
try counterbeam ask --method be
try counterbeam eval --task tiny-math,tiny-c
try counterbeam reproduce t
try counterbeam completion z
try counterbeam ask --trace tr
try counterbeam inspect --model models/a
try counterbeam ask --system a
try counterbeam help sco
try counterbeam con
try counterbeam contexts s
try counterbeam --seed 3 contexts search --de
try counterbeam contexts search --task tiny-co
try counterbeam contexts --js
)");
  const CommandResult result = run_command("bash '" + script + "'");
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out,
            "ask\n"
            "--steer|--steps\n"
            "inspect\n"
            "cpu|cuda\n"
            "cpu|cuda\n"
            "beam|best-of-n\n"
            "tiny-math,tiny-code|tiny-math,tiny-choice\n"
            "table1\n"
            "zsh\n"
            "tree.html\n"
            "models/a b\n"
            "\n"
            "score\n"
            "contexts\n"
            "search\n"
            "--dev|--deterministic|--device\n"
            "tiny-code\n"
            "--json\n");
}

TEST(Completion, CompletesInFish) {
  if (!has_program("fish")) GTEST_SKIP() << "fish is not installed";
  const TemporaryFolder folder;
  const std::string script = folder.write("script", run_counterbeam("completion fish").out + R"(
function counterbeam; end
complete -C 'counterbeam as' | string split -f1 \t
complete -C 'counterbeam ask --ste' | string split -f1 \t
complete -C 'counterbeam --device c' | string split -f1 \t
complete -C 'counterbeam reproduce t' | string split -f1 \t
complete -C 'counterbeam contexts s' | string split -f1 \t
complete -C 'counterbeam contexts search --fin' | string split -f1 \t
)");
  const CommandResult result =
      run_command("HOME='" + folder.path().string() + "' fish --no-config '" + script + "'");
  EXPECT_EQ(result.out, "ask\n--steer\n--steps\ncpu\ncuda\ntable1\nsearch\n--finalists\n")
      << result.err;
}

}  // namespace
}  // namespace counterbeam
