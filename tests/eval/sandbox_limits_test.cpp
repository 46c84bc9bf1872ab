// Limits of the machine below those of programs are errors of the machine; soft ones are raised.
#include "eval/sandbox_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "eval/code_judge.h"
#include "eval/sandbox_programs.h"

namespace counterbeam {
namespace {

using testing::in_a_process;

#ifdef COUNTERBEAM_SANITIZED  // sanitizers need memory themselves
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

rlimit limit_of(int resource) {
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  return limit;
}

void set_soft(int resource, rlim_t value) {
  const rlimit limit{value, limit_of(resource).rlim_max};
  ASSERT_EQ(setrlimit(static_cast<__rlimit_resource>(resource), &limit), 0);
}

// What making a judge throws with that hard limit; empty if nothing.
std::string refusal_under(int resource, rlim_t value) {
  const std::string file = fmt::format("{}refusal_{}_{}", ::testing::TempDir(), getpid(), resource);
  in_a_process([&] {
    std::string said;
    FILE* const out = std::fopen(file.c_str(), "w");
    const rlimit limit{value, value};
    if (setrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) said = "no such limit";
    try {
      const CodeJudge judge;
    } catch (const Error& error) {
      said = (error.kind() == ErrorKind::Failed ? "" : "not Failed: ") + std::string(error.what());
    }
    std::fwrite(said.data(), 1, said.size(), out);
    return std::fclose(out) == 0;
  });
  const std::string said = read_file(file);
  std::filesystem::remove(file);
  return said;
}

TEST(SandboxLimits, LowerHardLimitsAreFaultsOfTheMachine) {
  CB_NEEDS_SANDBOX();
  const auto expect = [](int resource, rlim_t value, const std::string& message) {
    EXPECT_EQ(refusal_under(resource, value), message);
  };
  if (!kSanitized) {
    expect(RLIMIT_AS, 800 << 20,
           "sandbox: the hard limit is 838860800 bytes of address space (ulimit -v), and programs "
           "need 1073741824; raise it");
    expect(RLIMIT_DATA, 800 << 20,
           "sandbox: the hard limit is 838860800 bytes of data (ulimit -d), and programs need "
           "1073741824; raise it");
  }
  expect(RLIMIT_CPU, 20,
         "sandbox: the hard limit is 20 seconds of processor time (ulimit -t), and programs need "
         "24; raise it");
  expect(RLIMIT_FSIZE, 1 << 20,
         "sandbox: the hard limit is 1048576 bytes in a file (ulimit -f), and programs need "
         "16777216; raise it");
  expect(RLIMIT_NOFILE, 50,
         "sandbox: the hard limit is 50 open files (ulimit -n), and programs need 64; raise it");
  expect(RLIMIT_STACK, 4 << 20,
         "sandbox: the hard limit is 4194304 bytes of stack (ulimit -s), and programs need "
         "8388608; raise it");
  const std::string processes = refusal_under(RLIMIT_NPROC, 69);
  EXPECT_TRUE(processes.ends_with(
      " more processes and threads are allowed, and a program and its test need 70; raise the "
      "limit on processes (ulimit -u, pids.max of the control group)"))
      << processes;
}

TEST(SandboxLimits, ALimitThatIsLoweredLaterIsAFaultToo) {
  CB_NEEDS_SANDBOX();
  const CodeJudge judge;
  EXPECT_TRUE(in_a_process([&] {
    const rlimit limit{1 << 20, 1 << 20};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    try {
      judge.judge({"", "def check(candidate):\n    pass\n", "solve"}, "def solve(): pass");
    } catch (const Error& error) {
      return error.kind() == ErrorKind::Failed;
    }
    return false;
  }));
}

// Programs that use what they are promised, under soft limits that are lower.
TEST(SandboxLimits, SoftLimitsAreRaised) {
  CB_NEEDS_SANDBOX();
  const std::string program = R"(
import threading, time
def solve(n):
    kept = [0] * 40000000
    with open('/tmp/file', 'wb') as file: file.write(bytes(15 << 20))
    gate = threading.Event()
    threads = [threading.Thread(target=gate.wait) for _ in range(50)]
    for thread in threads: thread.start()
    gate.set()
    for thread in threads: thread.join()
    files = [open('/tmp/file') for _ in range(50)]
    while time.process_time() < 1.5: pass
    return 2 * n
)";
  const CodeProblem problem = {"def solve(n):\n    \"\"\"\"\"\"\n",
                               "def check(candidate):\n    assert candidate(2) == 4\n", "solve"};
  SandboxLimits limits;
  limits.wall_seconds = 30;
  const CodeJudge judge(limits);
  EXPECT_EQ(to_string(judge.judge(problem, program).state), "pass");
  EXPECT_TRUE(in_a_process([&] {
    if (!kSanitized) set_soft(RLIMIT_AS, 500 << 20);
    if (!kSanitized) set_soft(RLIMIT_DATA, 300 << 20);
    set_soft(RLIMIT_FSIZE, 1 << 20);
    set_soft(RLIMIT_CPU, 60);
    set_soft(RLIMIT_STACK, 1 << 20);
    if (geteuid() == 0) set_soft(RLIMIT_NPROC, 12);  // does not count our own processes
    const CodeVerdict verdict = judge.judge(problem, program);
    if (verdict.state != CodeState::Pass) std::fputs((verdict.detail + "\n").c_str(), stderr);
    return verdict.state == CodeState::Pass;
  }));
}

TEST(SandboxLimits, SpareProcessesAreThoseThatOurUserMayStart) {
  EXPECT_GT(spare_processes(1), 0);
  EXPECT_TRUE(in_a_process([] {
    const rlimit few{200, 200};
    return setrlimit(RLIMIT_NPROC, &few) == 0 && spare_processes(1 << 20) <= 200;
  }));
}

}  // namespace
}  // namespace counterbeam
