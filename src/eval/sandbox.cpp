// The confinement: bwrap's command line, the limits, and the check that they work on this machine.
#include "eval/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "eval/sandbox_filter.h"
#include "eval/sandbox_interpreter.h"

namespace counterbeam {
namespace {

constexpr const char* kBubblewrap = "/usr/bin/bwrap";
constexpr const char* kRemedy = "install it with: apt-get install bubblewrap python3";
constexpr int kInfoNumber = 20, kFilterNumber = 21;  // above the number of any channel
constexpr std::size_t kKeptOutput = 64 << 10;

// The beginning of every script. The limit on processes is set inside, where it counts this
// namespace only; from outside it would count all processes of the user.
constexpr const char* kPrelude = R"(
import sys, resource
sys.path[:] = [place for place in sys.path if place]
most = resource.getrlimit(resource.RLIMIT_NPROC)[1]
most = {0} if most == resource.RLIM_INFINITY else min(most, {0})
resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
del resource, most
)";

// Prints "confined" if files, network, processes, user and memory are restricted as intended.
constexpr const char* kProbe = R"(
import os, resource
def refused(action, *arguments):
    try:
        action(*arguments)
    except OSError:
        return True
    return False
import _socket
restrictions = {
    'files': refused(os.listdir, '/etc') and refused(os.listdir, '/proc') and refused(os.listdir, '/home'),
    'read-only': refused(os.mkdir, '/made') and not refused(os.mkdir, '/tmp/made'),
    'network': refused(_socket.socket),
    'processes': refused(os.fork),
    'user': os.getuid() != 0 and os.getpid() < 10,
    'memory': resource.getrlimit(resource.RLIMIT_AS)[1] != resource.RLIM_INFINITY,
}
missing = [name for name, works in restrictions.items() if not works]
print('missing restrictions: ' + ', '.join(missing) if missing else 'confined')
)";

const Interpreter& interpreter() {
  static const Interpreter found = find_interpreter();
  return found;
}

const std::string& filter() {
  static const std::string bytes = system_call_filter();
  return bytes;
}

std::vector<std::string> bubblewrap_arguments(const SandboxLimits& limits) {
  std::vector<std::string> arguments = {kBubblewrap,
                                        "--unshare-user",
                                        "--unshare-pid",
                                        "--unshare-net",
                                        "--unshare-ipc",
                                        "--unshare-uts",
                                        "--unshare-cgroup-try",
                                        "--uid",
                                        "1000",
                                        "--gid",
                                        "1000",
                                        "--hostname",
                                        "sandbox",
                                        "--die-with-parent",
                                        "--new-session",
                                        "--cap-drop",
                                        "ALL",
                                        "--clearenv"};
  const auto add = [&](std::initializer_list<std::string> more) {
    arguments.insert(arguments.end(), more);
  };
  // Fixed hashes, so that a verdict does not depend on the iteration order of a set.
  add({"--setenv", "PYTHONHASHSEED", "0", "--setenv", "HOME", "/tmp"});
  add({"--setenv", "MALLOC_ARENA_MAX", "1"});
  add({"--ro-bind", interpreter().path, interpreter().path});
  for (const std::string& folder : interpreter().folders) add({"--ro-bind", folder, folder});
  for (const auto& [target, name] : interpreter().links) add({"--symlink", target, name});
  for (const char* device : {"/dev/null", "/dev/urandom"}) add({"--dev-bind", device, device});
  add({"--size", std::to_string(limits.tmp_bytes), "--perms", "0700", "--tmpfs", "/tmp"});
  add({"--remount-ro", "/", "--chdir", "/tmp"});
  add({"--info-fd", std::to_string(kInfoNumber), "--seccomp", std::to_string(kFilterNumber)});
  add({"--", interpreter().path, "-s", "-S", "-B", "-X", "utf8", "-c"});
  return arguments;
}

ConfinedProcess start_confined(const SandboxLimits& limits, const std::string& script, int input,
                               const std::vector<int>& channels) {
  CB_CHECK(channels.size() < static_cast<std::size_t>(kInfoNumber - 3));
  ProcessSpec spec;
  spec.arguments = bubblewrap_arguments(limits);
  spec.arguments.push_back(fmt::format(fmt::runtime(kPrelude), limits.threads) + script);
  spec.info_number = kInfoNumber;

  Descriptor empty;
  if (input < 0) {
    empty = make_memory_file("");
    input = empty.get();
  }
  Descriptor filter_file = make_memory_file(filter());
  Pipe output = make_pipe();
  spec.inherited = {{input, 0}, {output.write.get(), 1}, {output.write.get(), 2}};
  for (std::size_t i = 0; i < channels.size(); ++i)
    spec.inherited.emplace_back(channels[i], static_cast<int>(3 + i));
  spec.inherited.emplace_back(filter_file.get(), kFilterNumber);

  spec.limits = resource_limits(limits);
  return ConfinedProcess::start(spec, std::move(output.read));
}

SandboxRun run_confined(const SandboxLimits& limits, const std::string& script) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  ConfinedProcess process = start_confined(limits, script, -1, {});
  SandboxRun run;
  std::uint64_t seen = 0;
  std::string buffer(kKeptOutput, '\0');
  for (;;) {
    const double left = limits.wall_seconds - elapsed();
    pollfd ready{process.output(), POLLIN, 0};
    if (left <= 0 || poll(&ready, 1, static_cast<int>(left * 1000) + 1) == 0) {
      run.ending = SandboxRun::Ending::TimedOut;
      break;
    }
    const ssize_t n = read(process.output(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    seen += static_cast<std::uint64_t>(n);
    run.output.append(buffer, 0, std::min<std::size_t>(n, kKeptOutput - run.output.size()));
    if (seen > limits.output_bytes) {
      run.ending = SandboxRun::Ending::TooMuchOutput;
      break;
    }
  }
  // A program may close its output and keep running; the timeout still applies.
  pollfd over{process.end_event(), POLLIN, 0};
  const int left_ms = std::max(0, static_cast<int>((limits.wall_seconds - elapsed()) * 1000));
  if (run.ending == SandboxRun::Ending::Exited) {
    int ended = 0;
    while ((ended = poll(&over, 1, left_ms)) < 0 && errno == EINTR) {
    }
    if (ended == 0) run.ending = SandboxRun::Ending::TimedOut;
  }
  process.kill();
  const ProcessEnd end = process.wait();
  if (run.ending == SandboxRun::Ending::Exited) check_not_killed(end);
  run.code = end.code;
  if (run.ending == SandboxRun::Ending::Exited && end.signalled)
    run.ending = SandboxRun::Ending::Signalled;
  run.seconds = elapsed();
  return run;
}

std::string look_for_reasons() {
  if (access(kBubblewrap, X_OK) != 0)
    return fmt::format("programs cannot be confined: {} is absent; {}", kBubblewrap, kRemedy);
  if (interpreter().path.empty())
    return fmt::format("programs cannot be confined: no python3 found; {}", kRemedy);
  try {
    make_pipe();
  } catch (const Failed& error) {  // before bubblewrap has any part in it
    return fmt::format("programs cannot be confined: {}", error.what());
  }
  SandboxLimits limits;
  limits.wall_seconds = 20;  // generous, for a cold page cache
  std::string problem;
  try {
    const SandboxRun run = run_confined(limits, kProbe);
    if (run.output == "confined\n") return {};
    problem = fmt::format("a trial run of {} in {} ended with status {} and said \"{}\"",
                          interpreter().path, kBubblewrap, run.code, run.output.substr(0, 500));
  } catch (const Failed& error) {
    problem = error.what();
  }
  return fmt::format(
      "programs cannot be confined: {}; bubblewrap needs unprivileged user namespaces (sysctl "
      "user.max_user_namespaces, kernel.unprivileged_userns_clone, "
      "kernel.apparmor_restrict_unprivileged_userns); if it is broken, {}",
      problem, kRemedy);
}

}  // namespace

const std::string& Sandbox::check() {
  static const std::string reason = look_for_reasons();
  return reason;
}

Sandbox::Sandbox(SandboxLimits limits) : limits_(limits) {
  check_limits(limits_);  // first, because the check itself would fail and blame bubblewrap
  if (!check().empty()) failed("{}", check());
}

ConfinedProcess Sandbox::start(const std::string& script, int input,
                               const std::vector<int>& channels) const {
  check_limits(limits_);
  return start_confined(limits_, script, input, channels);
}

SandboxRun Sandbox::run(const std::string& script) const {
  check_limits(limits_);
  return run_confined(limits_, script);
}

}  // namespace counterbeam
