// Starts the two interpreters, enforces the limits on time and output, and turns the outcome into a
// state. Only the test's interpreter can report a pass.
#include "eval/code_judge.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <thread>

#include "base/available_memory.h"
#include "base/error.h"
#include "base/quote.h"
#include "eval/code_judge_scripts.h"
#include "eval/judge_report.h"
#include "eval/sandbox_clock.h"

namespace counterbeam {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestVerdict = 4096;
constexpr std::string_view kStarted = "started\n";  // what the test says before its verdict
constexpr double kStartSeconds = 60;                // until both interpreters must work
constexpr double kMostWaiting = 20;  // times the limit, for a program that gets no processor
constexpr double kExitGrace = 1;     // seconds from a closed channel to the end of its process
// A sandbox that cannot be started often can be a little later, when others have ended.
constexpr std::chrono::milliseconds kPauses[] = {std::chrono::milliseconds(100),
                                                 std::chrono::milliseconds(500),
                                                 std::chrono::milliseconds(2000)};
constexpr int kDescriptorsEach = 20;  // pipes of one judgement
constexpr int kManyJudgements = 512;  // if as many fit, the user's processes are not counted

std::string framed(const std::string& text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  std::string frame;
  for (int shift = 0; shift < 32; shift += 8) frame += static_cast<char>((size >> shift) & 0xff);
  return frame + text;
}

// The processes and pipes of one judgement. The program's process has no descriptor of the verdict
// pipe.
struct Trial {
  Pipe verdict;
  ConfinedProcess program;
  ConfinedProcess test;
};

Trial start_trial(const Sandbox& sandbox, const CodeProblem& problem, const std::string& source) {
  Pipe requests = make_pipe(), replies = make_pipe(), verdict = make_pipe();
  const Descriptor input = make_memory_file(framed(problem.prompt) + framed(problem.test) +
                                            framed(problem.entry_point) + framed(source));
  ConfinedProcess test = sandbox.start(
      test_script(), input.get(), {replies.read.get(), requests.write.get(), verdict.write.get()});
  ConfinedProcess program =
      sandbox.start(program_script(), -1, {requests.read.get(), replies.write.get()});
  verdict.write.close();
  return {std::move(verdict), std::move(program), std::move(test)};
}

enum class Watched { Verdict, TimeUp, Flood };

// Reads until the verdict is complete or a limit is reached. Throws Failed if the interpreters do
// not start. `verdict` gets what follows their start.
Watched watch(Trial& trial, const SandboxLimits& limits, std::string& verdict) {
  bool started = false;
  std::string output;  // its beginning
  std::array<pollfd, 3> ready = {pollfd{trial.verdict.read.get(), POLLIN, 0},
                                 pollfd{trial.program.output(), POLLIN, 0},
                                 pollfd{trial.test.output(), POLLIN, 0}};
  std::uint64_t seen = 0;
  std::array<char, 1 << 14> buffer;
  const std::vector<int> parents = {trial.program.first_process(), trial.test.first_process()};
  ProgramClock clock(parents);
  for (;;) {
    clock.tick();
    if (!started && clock.present() > kStartSeconds)
      failed("sandbox: the interpreters did not start within {} s", kStartSeconds);
    if (started && clock.counted() > limits.wall_seconds) return Watched::TimeUp;
    if (started && clock.present() > kMostWaiting * limits.wall_seconds)
      failed(
          "sandbox: the program got {:.1f} s of processor time in {:.0f} s; the machine is too "
          "busy, or somebody stopped the program; run less at once",
          clock.counted(), clock.present());
    const int changed = poll(ready.data(), ready.size(), ProgramClock::kTick.count());
    if (changed < 0 && errno != EINTR)
      failed("sandbox: cannot wait for output: {}", std::strerror(errno));
    if (changed <= 0) continue;
    for (pollfd& one : ready) {
      if (one.fd < 0 || one.revents == 0) continue;
      const ssize_t n = read(one.fd, buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) failed("sandbox: output cannot be read: {}", std::strerror(errno));
      const bool is_verdict = &one == &ready[0];
      if (n == 0 && is_verdict) {
        if (started) return Watched::Verdict;
        failed("sandbox: an interpreter did not start; it said \"{}\"", printable(output, 300));
      }
      if (n == 0) {
        one.fd = -1;  // closed; keep waiting for the verdict or the timeout
      } else if (is_verdict) {
        verdict.append(buffer.data(), static_cast<std::size_t>(n));
        if (!started && verdict.starts_with(kStarted)) {
          verdict.erase(0, kStarted.size());
          started = true;
          clock = ProgramClock(parents);
        }
        if (verdict.size() > kLongestVerdict) return Watched::Verdict;
      } else {
        output.append(buffer.data(),
                      std::min<std::size_t>(n, 300 - std::min<std::size_t>(output.size(), 300)));
        if ((seen += static_cast<std::uint64_t>(n)) > limits.output_bytes) return Watched::Flood;
      }
    }
  }
}

// How a process ended whose channel is closed; none if it still runs. Throws Failed if it was
// killed from outside.
std::optional<ProcessEnd> end_of(ConfinedProcess& process) {
  pollfd over{process.end_event(), POLLIN, 0};
  ProgramClock clock({process.first_process()});
  while (poll(&over, 1, ProgramClock::kTick.count()) <= 0) {
    clock.tick();
    if (clock.counted() > kExitGrace) return std::nullopt;
    if (clock.present() > kStartSeconds) {
      if (!process.namespace_over()) return std::nullopt;
      failed("sandbox: bubblewrap did not end within {} s after its program", kStartSeconds);
    }
  }
  const ProcessEnd end = process.wait();
  check_not_killed(end);
  return end;
}

bool out_of_processor_time(const ProcessEnd& end, const SandboxLimits& limits) {
  return (end.signalled && end.code == SIGXCPU) ||
         end.cpu_seconds >= std::ceil(limits.wall_seconds);
}

CodeVerdict no_processor_time() {
  return {CodeState::Timeout, "no processor time is left", 0};
}

// The verdict if the program's process ended, or closed its channel, before the test finished.
CodeVerdict judge_gone(ConfinedProcess& program, const SandboxLimits& limits) {
  const std::optional<ProcessEnd> end = end_of(program);
  if (!end) return {CodeState::Error, "the program closed its channel to the test", 0};
  if (out_of_processor_time(*end, limits)) return no_processor_time();
  if (end->signalled) return {CodeState::Killed, fmt::format("signal {}", end->code), 0};
  return {CodeState::Error,
          fmt::format("the program exited with status {} during the test", end->code), 0};
}

CodeVerdict read_verdict(const std::string& text, Trial& trial, const SandboxLimits& limits) {
  JudgeReport report = read_report(text);
  if (report.kind == JudgeReport::Kind::Gone) return judge_gone(trial.program, limits);
  if (report.kind == JudgeReport::Kind::Unusable) bad_input("{}", report.verdict.detail);
  if (report.kind == JudgeReport::Kind::Missing) {
    const std::optional<ProcessEnd> end = end_of(trial.test);
    if (end && out_of_processor_time(*end, limits)) return no_processor_time();
  }
  return std::move(report.verdict);
}

CodeVerdict judge_once(const Sandbox& sandbox, const CodeProblem& problem,
                       const std::string& program) {
  const auto begin = Clock::now();
  const SandboxLimits& limits = sandbox.limits();
  Trial trial = start_trial(sandbox, problem, program);
  std::string text;
  CodeVerdict verdict;
  switch (watch(trial, limits, text)) {
    case Watched::Verdict:
      verdict = read_verdict(text, trial, limits);
      break;
    case Watched::TimeUp:
      verdict = {CodeState::Timeout, fmt::format("not done after {} s", limits.wall_seconds), 0};
      break;
    case Watched::Flood:
      verdict = {CodeState::Killed,
                 fmt::format("more than {} bytes of output", limits.output_bytes), 0};
      break;
  }
  verdict.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return verdict;
}

}  // namespace

std::string_view to_string(CodeState state) {
  switch (state) {
    case CodeState::Pass:
      return "pass";
    case CodeState::Fail:
      return "fail";
    case CodeState::Error:
      return "error";
    case CodeState::Timeout:
      return "timeout";
    case CodeState::Memory:
      return "memory";
    case CodeState::Killed:
      return "killed";
  }
  CB_CHECK(false);
}

int judgements_at_once(const SandboxLimits& limits) {
  rlimit open_files{};
  const bool unlimited =
      getrlimit(RLIMIT_NOFILE, &open_files) != 0 || open_files.rlim_cur == RLIM_INFINITY;
  const std::int64_t descriptors = unlimited ? std::numeric_limits<std::int64_t>::max()
                                             : static_cast<std::int64_t>(open_files.rlim_cur);
  const auto memory_each = static_cast<std::int64_t>(2 * (limits.memory_bytes + limits.tmp_bytes));
  const std::int64_t count =
      std::min({available_memory() / 2 / memory_each,
                spare_processes(2 * kManyJudgements * processes_of_a_judgement(limits)) / 2 /
                    processes_of_a_judgement(limits),
                descriptors / 2 / kDescriptorsEach});
  return static_cast<int>(std::clamp<std::int64_t>(count, 1, 4096));
}

CodeJudge::CodeJudge(SandboxLimits limits)
    : sandbox_(limits), slots_(std::make_unique<Slots>(judgements_at_once(limits))) {}

CodeVerdict CodeJudge::judge(const CodeProblem& problem, const std::string& program) const {
  slots_->acquire();
  const auto give_back = [](Slots* slots) { slots->release(); };
  const std::unique_ptr<Slots, decltype(give_back)> slot(slots_.get(), give_back);
  for (const std::chrono::milliseconds pause : kPauses) {
    try {
      return judge_once(sandbox_, problem, program);
    } catch (const Failed&) {
      std::this_thread::sleep_for(pause);
    }
  }
  return judge_once(sandbox_, problem, program);
}

}  // namespace counterbeam
