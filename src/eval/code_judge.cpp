// Starts the two interpreters, enforces the limits on time and output, and turns the outcome into a
// state. Only the test's interpreter can report a pass.
#include "eval/code_judge.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "eval/code_judge_scripts.h"

namespace counterbeam {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestVerdict = 4096;
constexpr int kExitGraceMs = 1000;  // grace between a closed channel and the end of its process

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

// Reads until the verdict is complete or a limit is reached.
Watched watch(Trial& trial, const SandboxLimits& limits, Clock::time_point begin,
              std::string& verdict) {
  std::array<pollfd, 3> ready = {pollfd{trial.verdict.read.get(), POLLIN, 0},
                                 pollfd{trial.program.output(), POLLIN, 0},
                                 pollfd{trial.test.output(), POLLIN, 0}};
  std::uint64_t seen = 0;
  std::array<char, 1 << 14> buffer;
  for (;;) {
    const double left =
        limits.wall_seconds - std::chrono::duration<double>(Clock::now() - begin).count();
    if (left <= 0) return Watched::TimeUp;
    if (poll(ready.data(), ready.size(), static_cast<int>(left * 1000) + 1) <= 0) continue;
    for (pollfd& one : ready) {
      if (one.fd < 0 || one.revents == 0) continue;
      const ssize_t n = read(one.fd, buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      const bool is_verdict = &one == &ready[0];
      if (n <= 0) {
        if (is_verdict) return Watched::Verdict;
        one.fd = -1;  // closed; keep waiting for the verdict or the timeout
      } else if (is_verdict) {
        verdict.append(buffer.data(), static_cast<std::size_t>(n));
        if (verdict.size() > kLongestVerdict) return Watched::Verdict;
      } else if ((seen += static_cast<std::uint64_t>(n)) > limits.output_bytes) {
        return Watched::Flood;
      }
    }
  }
}

// The verdict if the program's process ended, or closed its channel, before the test finished.
CodeVerdict judge_gone(ConfinedProcess& program, const SandboxLimits& limits) {
  pollfd over{program.end_event(), POLLIN, 0};
  if (poll(&over, 1, kExitGraceMs) == 0)
    return {CodeState::Error, "the program closed its channel to the test", 0};
  const ProcessEnd end = program.wait();
  if (end.cpu_seconds >= std::ceil(limits.wall_seconds))
    return {CodeState::Timeout, fmt::format("{:.1f} s of processor time", end.cpu_seconds), 0};
  if (end.signalled) return {CodeState::Killed, fmt::format("signal {}", end.code), 0};
  return {CodeState::Error,
          fmt::format("the program exited with status {} during the test", end.code), 0};
}

CodeVerdict read_verdict(const std::string& text, ConfinedProcess& program,
                         const SandboxLimits& limits) {
  const std::size_t line = text.find('\n');
  const std::string state = text.substr(0, line);
  const std::string detail = line == std::string::npos ? "" : text.substr(line + 1);
  if (state == "gone") return judge_gone(program, limits);
  if (state == "unusable") bad_input("{}", detail);
  for (CodeState known : {CodeState::Pass, CodeState::Fail, CodeState::Error, CodeState::Memory})
    if (state == to_string(known)) return {known, detail, 0};
  return {CodeState::Error, "the test ended without a verdict", 0};
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

CodeJudge::CodeJudge(SandboxLimits limits) : sandbox_(limits) {}

CodeVerdict CodeJudge::judge(const CodeProblem& problem, const std::string& program) const {
  const auto begin = Clock::now();
  const SandboxLimits& limits = sandbox_.limits();
  Trial trial = start_trial(sandbox_, problem, program);
  std::string text;
  CodeVerdict verdict;
  switch (watch(trial, limits, begin, text)) {
    case Watched::Verdict:
      verdict = read_verdict(text, trial.program, limits);
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

}  // namespace counterbeam
