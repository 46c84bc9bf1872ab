// The confinement: every program under hostile/ must end as its heading says without printing
// ESCAPED, and must leave nothing behind.
#include "eval/sandbox.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "base/error.h"
#include "eval/sandbox_programs.h"

namespace counterbeam {
namespace {

using testing::HostileProgram;
using testing::in_parallel;
using testing::processes_marked;
using testing::Traces;

// A short time limit for programs that never end, a generous one for all others.
Sandbox sandbox_for(const HostileProgram& program) {
  SandboxLimits limits;
  limits.wall_seconds = program.ending == "timeout" ? 1 : program.ending == "any" ? 3 : 30;
  limits.memory_bytes = 256 << 20;
  return Sandbox(limits);
}

std::string ending_of(const SandboxRun& run) {
  switch (run.ending) {
    case SandboxRun::Ending::Exited:
      return run.output.starts_with("refused") ? "refused" : "exited";
    case SandboxRun::Ending::Signalled:
      return "signalled";
    case SandboxRun::Ending::TimedOut:
      return "timeout";
    case SandboxRun::Ending::TooMuchOutput:
      return "flood";
  }
  return "?";
}

class Hostile : public ::testing::TestWithParam<const char*> {};

TEST_P(Hostile, IsContainedAndLeavesNothing) {
  CB_NEEDS_SANDBOX();
  const std::vector<HostileProgram> programs = testing::read_programs(GetParam());
  ASSERT_GE(programs.size(), 10u);
  const std::string prelude = read_file(testing::hostile_folder() / "prelude.py");
  const Traces before = Traces::now();
  in_parallel(programs.size(), [&](std::size_t at) {
    const HostileProgram& program = programs[at];
    const std::string marker = fmt::format("marker-{}-{};", getpid(), program.name);
    const Sandbox sandbox = sandbox_for(program);
    const SandboxRun run = sandbox.run(prelude + program.source + "# " + marker + "\n");
    EXPECT_EQ(processes_marked(marker), 0) << program.name;
    EXPECT_EQ(run.output.find("ESCAPED"), std::string::npos) << program.name << ": " << run.output;
    EXPECT_LT(run.seconds, sandbox.limits().wall_seconds + 2) << program.name;
    if (program.ending != "any") {
      EXPECT_EQ(ending_of(run), program.ending)
          << program.name << " (" << run.code << "): " << run.output.substr(0, 2000);
    }
  });
  EXPECT_EQ(Traces::now(), before);
  for (const char* folder : {"/", "/usr", "/tmp", "/dev/shm", "/var/tmp"})
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(folder) / "counterbeam_marker"));
}

INSTANTIATE_TEST_SUITE_P(Programs, Hostile,
                         ::testing::Values("network.py", "files.py", "machine.py", "privilege.py",
                                           "processes.py", "resources.py"),
                         [](const auto& file) {
                           return std::string(file.param, std::string(file.param).find('.'));
                         });

TEST(Sandbox, RunsPythonAndReportsItsEnd) {
  CB_NEEDS_SANDBOX();
  const Sandbox sandbox;
  const SandboxRun fine = sandbox.run("print(6 * 7)");
  EXPECT_EQ(fine.output, "42\n");
  EXPECT_EQ(fine.code, 0);
  EXPECT_EQ(sandbox.run("raise SystemExit(3)").code, 3);
  const SandboxRun raised = sandbox.run("1 / 0");
  EXPECT_EQ(raised.code, 1);
  EXPECT_NE(raised.output.find("ZeroDivisionError"), std::string::npos);
  EXPECT_EQ(sandbox.run("import os; os.kill(os.getpid(), 11)").code, SIGSEGV);
}

TEST(Sandbox, SetOrderIsTheSameInEveryRun) {
  CB_NEEDS_SANDBOX();
  const Sandbox sandbox;
  const std::string script = "print({str(i) for i in range(50)})";
  EXPECT_EQ(sandbox.run(script).output, sandbox.run(script).output);
}

TEST(Sandbox, PrivateFolderIsNewEachTime) {
  CB_NEEDS_SANDBOX();
  const Sandbox sandbox;
  const std::string script = "import os; print(os.listdir('/tmp')); open('/tmp/left', 'w')";
  EXPECT_EQ(sandbox.run(script).output, "[]\n");
  EXPECT_EQ(sandbox.run(script).output, "[]\n");
}

TEST(Sandbox, DoesNotInheritOurDescriptors) {
  CB_NEEDS_SANDBOX();
  const int open_here = dup(STDERR_FILENO);  // not close-on-exec, as a library might leave it
  const SandboxRun run = Sandbox().run(
      "import os\nfor n in range(3, 64):\n"
      "    try: print(n, os.fstat(n))\n    except OSError: pass\n");
  close(open_here);
  EXPECT_EQ(run.output, "");
}

TEST(Sandbox, ProgramsEndWhenTheirOwnerIsKilled) {
  CB_NEEDS_SANDBOX();
  using namespace std::chrono_literals;
  const std::string marker = fmt::format("marker-{}-orphan", getpid());
  const pid_t owner = fork();
  if (owner == 0) {
    SandboxLimits patient;
    patient.wall_seconds = 60;
    Sandbox(patient).run("import time; time.sleep(60) # " + marker);
    _exit(0);
  }
  const auto begin = std::chrono::steady_clock::now();
  while (processes_marked(marker) < 3 && std::chrono::steady_clock::now() - begin < 20s)
    std::this_thread::sleep_for(10ms);
  EXPECT_GE(processes_marked(marker), 3);  // bwrap, the namespace's first process, Python
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  const auto killed = std::chrono::steady_clock::now();
  while (processes_marked(marker) > 0 && std::chrono::steady_clock::now() - killed < 10s)
    std::this_thread::sleep_for(10ms);
  EXPECT_EQ(processes_marked(marker), 0);
}

}  // namespace
}  // namespace counterbeam
