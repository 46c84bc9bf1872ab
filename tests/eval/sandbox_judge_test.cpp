// The verdicts: correct programs pass, cheats do not, and every kind of failure has its own state.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/json.h"
#include "eval/code_judge.h"
#include "eval/sandbox_programs.h"
#include "support/shared_folder.h"

namespace counterbeam {
namespace {

using testing::HostileProgram;
using testing::in_a_process;
using testing::in_parallel;
using testing::Traces;

const CodeProblem kDouble = {
    "import math\n\ndef helper(n):\n    return n + n\n\n"
    "def solve(n):\n    \"\"\" Twice n. \"\"\"\n",
    "def check(candidate):\n"
    "    assert candidate(2) == 4\n"
    "    assert abs(candidate(3) - 6) < 1e-6\n"
    "    assert candidate(5) in (10,)\n"
    "    assert not candidate(0)\n"
    "    assert candidate(7) == helper(7) and math.isclose(candidate(n=1), 2)\n",
    "solve"};

// A generous time limit for programs that end by themselves.
CodeJudge judge_within(double seconds) {
  SandboxLimits limits;
  limits.wall_seconds = seconds;
  limits.memory_bytes = 512 << 20;
  return CodeJudge(limits);
}

CodeVerdict judge(const std::string& program, const std::string& checks = "",
                  const std::string& prompt = "def solve(n):\n    \"\"\"\"\"\"\n") {
  if (checks.empty()) return judge_within(30).judge(kDouble, program);
  return judge_within(30).judge({prompt, "def check(candidate):\n" + checks, "solve"}, program);
}

TEST(CodeJudge, NoCheatPasses) {
  CB_NEEDS_SANDBOX();
  const std::vector<HostileProgram> cheats = testing::read_programs("cheats.py");
  ASSERT_GE(cheats.size(), 100u);
  const CodeJudge judge = judge_within(2);
  const Traces before = Traces::now();
  in_parallel(cheats.size(), [&](std::size_t at) {
    const CodeVerdict verdict = judge.judge(kDouble, cheats[at].source);
    EXPECT_NE(verdict.state, CodeState::Pass) << cheats[at].name;
    EXPECT_FALSE(verdict.detail.empty()) << cheats[at].name;
  });
  EXPECT_EQ(Traces::now(), before);
}

TEST(CodeJudge, CorrectProgramsPass) {
  CB_NEEDS_SANDBOX();
  const std::vector<HostileProgram> programs = testing::read_programs("benign.py");
  ASSERT_GE(programs.size(), 20u);
  const CodeJudge judge = judge_within(30);
  in_parallel(programs.size(), [&](std::size_t at) {
    const CodeVerdict verdict = judge.judge(kDouble, programs[at].source);
    EXPECT_EQ(verdict.state, CodeState::Pass) << programs[at].name << ": " << verdict.detail;
  });
}

TEST(CodeJudge, EveryStateHasItsCause) {
  CB_NEEDS_SANDBOX();
  const std::vector<std::pair<std::string, CodeState>> cases = {
      {"def solve(n):\n    return 2 * n", CodeState::Pass},
      {"def solve(n):\n    return 3 * n", CodeState::Fail},
      {"def solve(n):\n    return 1 / 0", CodeState::Error},
      {"def solve(n)\n    return 2 * n", CodeState::Error},
      {"def other(n):\n    return 2 * n", CodeState::Error},
      {"import nothing_of_that_name", CodeState::Error},
      {"def solve(n):\n    raise AssertionError", CodeState::Error},
      {"def solve(n):\n    raise StopIteration", CodeState::Error},
      {"import os\ndef solve(n):\n    os._exit(0)", CodeState::Error},
      {"def solve(n):\n    while True: pass", CodeState::Timeout},
      {"import time\ntime.sleep(100)", CodeState::Timeout},
      {"def solve(n):\n    return bytearray(4 << 30)", CodeState::Memory},
      {"kept = [0] * (1 << 30)", CodeState::Memory},
      {"def solve(n):\n    kept = []\n    while True: kept.append(bytes(1 << 20))",
       CodeState::Memory},
      {"import os\ndef solve(n):\n    os.kill(os.getpid(), 9)", CodeState::Error},
      {"import os\ndef solve(n):\n    os.abort()", CodeState::Killed},
      {"import ctypes\ndef solve(n):\n    ctypes.string_at(0)", CodeState::Killed},
      {"while True: print('x' * 10000)", CodeState::Killed},
  };
  in_parallel(cases.size(), [&](std::size_t at) {
    const bool endless = cases[at].second == CodeState::Timeout;
    const CodeVerdict verdict = judge_within(endless ? 1 : 30).judge(kDouble, cases[at].first);
    EXPECT_EQ(to_string(verdict.state), to_string(cases[at].second)) << cases[at].first << "\n"
                                                                     << verdict.detail;
  });
}

TEST(CodeJudge, DetailNamesTheAssertionOrTheException) {
  CB_NEEDS_SANDBOX();
  EXPECT_EQ(judge("def solve(n): return 0").detail, "assert candidate(2) == 4");
  EXPECT_EQ(judge("def solve(n): return {}[n]").detail, "KeyError: 2");
  EXPECT_EQ(judge("").detail, "NameError: the program does not define solve");
}

TEST(CodeJudge, ValuesKeepTheirTypes) {
  CB_NEEDS_SANDBOX();
  const std::string checks = R"(
    import collections, decimal, fractions
    for value in [None, True, False, 0, -1, 255, 256, -128, 10 ** 4000, -(2 ** 4000), 0.1, -0.0,
                  float('inf'), 1e-320, 1 + 2j, '', 'aé二\U0001f600\ud800', b'\x00\xff', bytearray(b'x'),
                  [], [1, [2, [3]]], (), (1, (2,)), {}, {'a': [1], 2: (3,), (4,): None}, set(), {1, 2},
                  frozenset({3}), range(2, 10, 3), collections.deque([1, 2]),
                  fractions.Fraction(1, 3), decimal.Decimal('0.10')]:
        back = candidate(value)
        assert type(back) is type(value) and repr(back) == repr(value), repr(value)
    assert list(candidate({'b': 1, 'a': 2})) == ['b', 'a']
    assert list(candidate(iter([1, 2]))) == [1, 2] and candidate(iter([1])) != [1]
)";
  const CodeVerdict verdict = judge("def solve(value): return value", checks);
  EXPECT_EQ(verdict.state, CodeState::Pass) << verdict.detail;
}

TEST(CodeJudge, ViewsAndIteratorsKeepTheirKind) {
  CB_NEEDS_SANDBOX();
  const std::string checks = R"(
    assert candidate(0) == {1, 2} and list(candidate(0)) == [1, 2]
    assert list(candidate(1)) == [3, 4] and candidate(1) != [3, 4]
    assert list(candidate(2)) == [(1, 3), (2, 4)]
    assert list(candidate(3)) == [2, 4] and candidate(3) != [2, 4]
    assert next(candidate(4)) == 0
    assert candidate(5) != candidate(5)
)";
  const std::string program =
      "import itertools\n"
      "def solve(which):\n    table = {1: 3, 2: 4}\n"
      "    return [table.keys(), table.values(), table.items(), map(lambda x: 2 * x, table),\n"
      "            itertools.count(), object()][which]\n";
  const CodeVerdict verdict = judge(program, checks);
  EXPECT_EQ(verdict.state, CodeState::Pass) << verdict.detail;
}

TEST(CodeJudge, ChangedArgumentsAreSeenByTheTest) {
  CB_NEEDS_SANDBOX();
  const std::string checks = R"(
    inner = [3, 1]
    outer = [inner, {'k': [2, 1]}, {5}]
    assert candidate(outer) is None
    assert inner == [1, 3] and outer[0] is inner and outer[1] == {'k': [1, 2]} and outer[2] == {5, 6}
    assert len(outer) == 3
)";
  const std::string program =
      "def solve(x):\n    x[0].sort()\n    x[1]['k'].sort()\n    x[2].add(6)\n";
  const CodeVerdict verdict = judge(program, checks);
  EXPECT_EQ(verdict.state, CodeState::Pass) << verdict.detail;
}

TEST(CodeJudge, ASandboxThatCannotStartIsAFaultAndNoVerdict) {
  CB_NEEDS_SANDBOX();
  const CodeJudge judge;
  const auto fails_under = [&](int resource, rlim_t value) {
    return in_a_process([&, resource, value] {
      rlimit limit{};
      getrlimit(static_cast<__rlimit_resource>(resource), &limit);
      limit.rlim_cur = limit.rlim_max = value;
      if (setrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return false;
      try {
        judge.judge(kDouble, "def solve(n):\n    return 2 * n");
      } catch (const Error& error) {
        return error.kind() == ErrorKind::Failed &&
               std::string(error.what()).find("sandbox") != std::string::npos;
      }
      return false;
    });
  };
  EXPECT_TRUE(fails_under(RLIMIT_NOFILE, 66)) << "descriptors";
  EXPECT_TRUE(fails_under(RLIMIT_NPROC, 1)) << "processes";
#ifndef COUNTERBEAM_SANITIZED  // they need memory themselves
  EXPECT_TRUE(fails_under(RLIMIT_AS, 8 << 20)) << "memory";
#endif
}

// The program sleeps for less than its limit; meanwhile its judge is stopped for longer than it.
TEST(CodeJudge, APauseOfTheMachineIsNoTimeout) {
  CB_NEEDS_SANDBOX();
  const CodeJudge judge = judge_within(1);
  const pid_t child = fork();
  if (child == 0) {
    CodeState state = CodeState::Timeout;
    try {
      state = judge.judge(kDouble, "import time\ntime.sleep(0.4)\ndef solve(n):\n    return 2 * n")
                  .state;
    } catch (...) {
    }
    _exit(state == CodeState::Pass ? 0 : 1);
  }
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    kill(child, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    kill(child, SIGCONT);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(CodeJudge, AllSandboxesTogetherFitIntoTheMemory) {
  SandboxLimits limits;
  EXPECT_GE(judgements_at_once(limits), 1);
  limits.memory_bytes = std::uint64_t{1} << 50;
  EXPECT_EQ(judgements_at_once(limits), 1);
  limits.memory_bytes = 1 << 20;
  limits.tmp_bytes = 1 << 20;
  const int many = judgements_at_once(limits);
  EXPECT_GT(many, 1);
  EXPECT_TRUE(in_a_process([&] {
    const rlimit few{256, 256};
    return setrlimit(RLIMIT_NOFILE, &few) == 0 && judgements_at_once(limits) < many &&
           judgements_at_once(limits) < 10;
  }));
  // Every one of them may start all its threads.
  EXPECT_TRUE(in_a_process([&] {
    const rlimit few{1000, 1000};
    return setrlimit(RLIMIT_NPROC, &few) == 0 &&
           judgements_at_once(limits) * (6 + limits.threads) <= 500;
  }));
}

TEST(CodeJudge, UnusableRowsAreBadInput) {
  CB_NEEDS_SANDBOX();
  const auto message = [](const CodeProblem& problem) -> std::string {
    try {
      judge_within(30).judge(problem, "def solve(n): return 2 * n");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::BadInput);
      return error.what();
    }
    return "no error";
  };
  EXPECT_TRUE(message({"", "def check(", "solve"}).starts_with("test: SyntaxError"));
  EXPECT_TRUE(message({"", "x = 1", "solve"}).starts_with("test: it defines no function check"));
  EXPECT_TRUE(message({"import nothing_here\n", "def check(c): pass", "solve"})
                  .starts_with("prompt: ModuleNotFoundError"));
}

std::vector<Json> humaneval(const std::filesystem::path& file) {
  FILE* pipe = popen(("gzip -dc '" + file.string() + "'").c_str(), "r");
  std::string text;
  char buffer[1 << 16];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  pclose(pipe);
  std::vector<Json> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) rows.push_back(parse_json(line, "HumanEval"));
  return rows;
}

// Counts the states of all rows, each judged with program(row).
std::map<CodeState, int> judge_all(const std::vector<Json>& rows,
                                   const std::function<std::string(const Json&)>& program) {
  const CodeJudge judge = judge_within(30);
  std::mutex mutex;
  std::map<CodeState, int> states;
  in_parallel(rows.size(), [&](std::size_t at) {
    const Json& row = rows[at];
    const CodeVerdict verdict =
        judge.judge({row["prompt"], row["test"], row["entry_point"]}, program(row));
    const std::lock_guard lock(mutex);
    ++states[verdict.state];
  });
  return states;
}

TEST(CodeJudge, HumanEval) {
  CB_NEEDS_SANDBOX();
  const auto file = testing::shared_folder() / "data" / "humaneval" / "HumanEval.jsonl.gz";
  CB_NEEDS_SHARED(file);
  const std::vector<Json> rows = humaneval(file);
  ASSERT_EQ(rows.size(), 164u);
  const auto text = [](const Json& row, const char* key) { return row[key].get<std::string>(); };
  const auto solved = judge_all(
      rows, [&](const Json& row) { return text(row, "prompt") + text(row, "canonical_solution"); });
  EXPECT_EQ(solved, (std::map<CodeState, int>{{CodeState::Pass, 164}}));
  const auto with_body = [&](const std::string& before, const std::string& body) {
    return judge_all(rows, [&, before, body](const Json& row) {
      return before + text(row, "prompt") + "\n    " + body + "\n";
    });
  };
  EXPECT_FALSE(with_body("", "pass").contains(CodeState::Pass));
  EXPECT_FALSE(with_body("class E:\n    def __eq__(s, o): return True\n"
                         "    def __getattr__(s, n): return s\n\n",
                         "return E()")
                   .contains(CodeState::Pass));
  EXPECT_FALSE(with_body("def empty(*all):\n    for one in all:\n        if hasattr(one, 'clear'):"
                         " one.clear()\n    return all[0] if all else None\n\n",
                         "return empty(*locals().values())")
                   .contains(CodeState::Pass));
}

}  // namespace
}  // namespace counterbeam
