// What the machine or a person does to a sandbox from outside is never the program's fault; and a
// program cannot do the same to itself, so that the two cannot be confused.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "eval/code_judge.h"
#include "eval/sandbox_programs.h"

namespace counterbeam {
namespace {

using namespace std::chrono_literals;

const CodeProblem kTwice = {"def solve(n):\n    \"\"\" Twice n. \"\"\"\n",
                            "def check(candidate):\n    assert candidate(2) == 4\n", "solve"};
const std::string kSlow = "import time\ntime.sleep(0.6)\ndef solve(n):\n    return 2 * n";
const std::string kVerySlow = "import time\ntime.sleep(5)\ndef solve(n):\n    return 2 * n";

CodeJudge judge_for(double seconds) {
  SandboxLimits limits;
  limits.wall_seconds = seconds;
  return CodeJudge(limits);
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Those that its main thread started; none if it has ended.
std::vector<int> children_of(int pid) {
  std::vector<int> found;
  std::istringstream children(content(fmt::format("/proc/{0}/task/{0}/children", pid)));
  for (int child; children >> child;) found.push_back(child);
  return found;
}

enum class Interpreter { OfProgram, OfTest };
enum class Member { Monitor, First, Python };

// -1 while there is none that has run for a while.
int member_of_sandbox(Interpreter interpreter, Member member) {
  const char* const word = interpreter == Interpreter::OfTest ? "class Judge" : "def serve()";
  for (const int monitor : children_of(getpid())) {
    if (content(fmt::format("/proc/{}/cmdline", monitor)).find(word) == std::string::npos) continue;
    for (const int first : children_of(monitor))
      for (const int python : children_of(first)) {
        std::this_thread::sleep_for(300ms);  // until it sleeps in the program
        return member == Member::Monitor ? monitor : member == Member::First ? first : python;
      }
  }
  return -1;
}

// Calls `strike` for every sandbox that appears, at most `times` times, while `work` runs.
void struck(Interpreter interpreter, Member member, int times,
            const std::function<void(int)>& strike, const std::function<void()>& work) {
  std::atomic<bool> over = false;
  std::thread striker([&] {
    for (int last = -1; times > 0 && !over; std::this_thread::sleep_for(10ms)) {
      const int pid = member_of_sandbox(interpreter, member);
      if (pid < 0 || pid == last) continue;
      strike(last = pid);
      --times;
    }
  });
  work();
  over = true;
  striker.join();
}

void kill_it(int pid) {
  kill(pid, SIGKILL);
}

std::string outcome(const CodeJudge& judge, const std::string& program) {
  try {
    const CodeVerdict verdict = judge.judge(kTwice, program);
    return std::string(to_string(verdict.state)) + ": " + verdict.detail;
  } catch (const Error& error) {
    return error.kind() == ErrorKind::Failed ? std::string("failed: ") + error.what() : "other";
  }
}

TEST(SandboxKill, OneKillFromOutsideIsTriedAgain) {
  CB_NEEDS_SANDBOX();
  const CodeJudge judge = judge_for(30);
  for (const Interpreter interpreter : {Interpreter::OfProgram, Interpreter::OfTest})
    for (const Member member : {Member::Monitor, Member::First, Member::Python})
      struck(interpreter, member, 1, kill_it, [&] {
        EXPECT_EQ(outcome(judge, kSlow), "pass: ")
            << (interpreter == Interpreter::OfTest ? "test " : "program ")
            << static_cast<int>(member);
      });
}

TEST(SandboxKill, ManyKillsFromOutsideAreAFault) {
  CB_NEEDS_SANDBOX();
  const CodeJudge judge = judge_for(30);
  for (const Interpreter interpreter : {Interpreter::OfProgram, Interpreter::OfTest})
    struck(interpreter, Member::Python, 4, kill_it, [&] {
      const std::string seen = outcome(judge, kVerySlow);
      EXPECT_TRUE(seen.starts_with("failed: sandbox: ")) << seen;
    });
}

TEST(SandboxKill, OtherSignalsFromOutsideDoNothing) {
  CB_NEEDS_SANDBOX();
  const CodeJudge judge = judge_for(30);
  for (const int polite : {SIGTERM, SIGHUP, SIGINT, SIGQUIT})
    struck(
        Interpreter::OfProgram, Member::Python, 1, [&](int pid) { kill(pid, polite); },
        [&] { EXPECT_EQ(outcome(judge, kSlow), "pass: ") << polite; });
}

TEST(SandboxKill, TimeForWhichAProcessIsStoppedDoesNotCount) {
  CB_NEEDS_SANDBOX();
  const CodeJudge judge = judge_for(1);
  for (const Interpreter interpreter : {Interpreter::OfProgram, Interpreter::OfTest})
    struck(
        interpreter, Member::Python, 1,
        [](int pid) {
          kill(pid, SIGSTOP);
          std::this_thread::sleep_for(2s);
          kill(pid, SIGCONT);
        },
        [&] { EXPECT_EQ(outcome(judge, kSlow), "pass: "); });
}

// Each would otherwise look like a kill or a pause from outside.
TEST(SandboxKill, NoProgramCanPretendIt) {
  CB_NEEDS_SANDBOX();
  const std::string in_libc =
      "import ctypes, signal, os\nlibc = ctypes.CDLL(None, use_errno=True)\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"os.kill(os.getpid(), 9)", "error: PermissionError"},
      {"os.killpg(0, 9)", "error: PermissionError"},
      {"signal.pthread_kill(__import__('threading').get_ident(), 9)", "error: PermissionError"},
      {"os.kill(os.getpid(), signal.SIGSTOP)", "error: PermissionError"},
      {"os.setpgid(0, 0); os.kill(0, signal.SIGTSTP)", "error: PermissionError"},
      {"import fcntl; fcntl.fcntl(0, 10, 9)", "error: PermissionError"},
      {"import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 1))", "error: ValueError"},
      {"import resource; resource.prlimit(1, resource.RLIMIT_CPU, (1, 1))",
       "error: PermissionError"},
      {"assert libc.timer_create(1, None, ctypes.byref(ctypes.c_long())) == 0",
       "error: AssertionError"},
      {"os._exit(137)", "killed: signal 31"},
      {"os._exit(256 + 137)", "killed: signal 31"},
      {"libc.syscall(60, 137)", "killed: signal 31"},
      {"os._exit(136)", "killed: signal 8"},
      {"os._exit(9)", "error: the program exited with status 9"},
      {"signal.signal(15, signal.SIG_DFL); os.kill(os.getpid(), 15)", "killed: signal 15"},
      {"os.abort()", "killed: signal 6"},
      {"os.kill(os.getpid(), signal.SIGXCPU)", "timeout: no processor time"},
      {"import resource; assert resource.getrlimit(resource.RLIMIT_CPU)[0] == 31;"
       "resource.prlimit(0, resource.RLIMIT_CPU); resource.setrlimit(resource.RLIMIT_AS, (1 << 29, "
       "1 << 29));"
       "signal.signal(signal.SIGTERM, lambda *all: None); os.kill(os.getpid(), signal.SIGTERM)",
       "fail: "}};
  const CodeJudge judge = judge_for(30);
  testing::in_parallel(cases.size(), [&](std::size_t at) {
    const std::string body = in_libc + "def solve(n):\n    " + cases[at].first + "\n    return 0\n";
    const std::string seen = outcome(judge, body);
    EXPECT_TRUE(seen.starts_with(cases[at].second)) << cases[at].first << "\n" << seen;
  });
}

// A parent may ignore signals, which its children inherit; nohup and some supervisors do.
TEST(SandboxKill, SignalsThatWeIgnoreChangeNoVerdict) {
  CB_NEEDS_SANDBOX();
  EXPECT_TRUE(testing::in_a_process([] {
    for (int number = 1; number < NSIG; ++number) signal(number, SIG_IGN);
    const std::string alarm =
        "import signal\ndef solve(n):\n    signal.setitimer(signal.ITIMER_REAL, 0.05)\n"
        "    while True: pass";
    return outcome(judge_for(30), alarm) == "killed: signal 14" &&
           outcome(judge_for(30), "def solve(n): return 2 * n") == "pass: ";
  }));
}

// The soft limit ends a program by SIGXCPU; only the hard one, which is far away, by SIGKILL.
TEST(SandboxKill, TheHardLimitOnProcessorTimeIsFarAboveTheSoftOne) {
  CB_NEEDS_SANDBOX();
  SandboxLimits limits;
  limits.wall_seconds = 1;
  const Sandbox sandbox(limits);
  EXPECT_EQ(sandbox.run("import resource\nprint(resource.getrlimit(resource.RLIMIT_CPU))").output,
            "(2, 8)\n");
}

}  // namespace
}  // namespace counterbeam
