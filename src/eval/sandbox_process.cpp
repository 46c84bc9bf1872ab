// Starts, waits for and kills processes under bubblewrap. Between vfork and exec the child shares
// our memory, so it makes system calls only, and it sets its user and group ids without the C
// library, which would apply them to our other threads too.
#include "eval/sandbox_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/quote.h"

namespace counterbeam {
namespace {

constexpr int kHighNumbers = 64;
constexpr int kNobody = 65534;
constexpr const char* kMoreDescriptors =
    "the limit on open files may be reached, and should be 256 or more (ulimit -n)";

int pidfd_open(int pid) {
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}

Descriptor move_high(int fd) {
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, kHighNumbers);
  const int reason = errno;
  ::close(fd);
  if (high < 0)
    failed("sandbox: cannot duplicate a file descriptor: {}; {}", std::strerror(reason),
           kMoreDescriptors);
  return Descriptor(high);
}

// Root would be exempt from the limit on processes, even inside a user namespace. If the
// unprivileged user does not exist (a container that maps only root), root has no privileges
// outside either.
void give_up_root() {
  if (geteuid() != 0) return;
  syscall(SYS_setgroups, 0, nullptr);
  if (syscall(SYS_setresgid, kNobody, kNobody, kNobody) != 0) return;
  syscall(SYS_setresuid, kNobody, kNobody, kNobody);
}

// The soft limit may be raised. That no hard one is too low has been checked (sandbox_limits.h).
void set_limit(const ResourceLimit& wanted) {
  const auto resource = static_cast<__rlimit_resource>(wanted.resource);
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) _exit(126);
  limit.rlim_max = std::min(wanted.hard, limit.rlim_max);
  limit.rlim_cur = std::min(wanted.soft, limit.rlim_max);
  if (setrlimit(resource, &limit) != 0) _exit(126);
}

// If whoever started us ignores SIGCHLD, so do we, and then no child can be waited for.
void keep_children() {
  struct sigaction now {};
  if (sigaction(SIGCHLD, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) signal(SIGCHLD, SIG_DFL);
}

[[noreturn]] void become(const ProcessSpec& spec, char* const* arguments) {
  setsid();  // so that a Ctrl-C for us does not reach it
  // The child inherits none of our descriptors: those below kHighNumbers are closed here, those
  // above are close-on-exec.
  if (syscall(SYS_close_range, 3, kHighNumbers - 1, 0) != 0) _exit(126);
  if (syscall(SYS_close_range, kHighNumbers, ~0u, CLOSE_RANGE_CLOEXEC) != 0) _exit(126);
  for (const auto& [here, there] : spec.inherited)
    if (dup2(here, there) < 0) _exit(126);
  give_up_root();
  for (const ResourceLimit& limit : spec.limits) set_limit(limit);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // Whoever started us may ignore some signals, and a program that counts on SIGALRM would hang.
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  // A machine that shuts down or is short of memory sends these first. They are ignored, so that a
  // program that must end gets SIGKILL, which it cannot cause itself.
  for (const int polite : {SIGTERM, SIGHUP, SIGINT, SIGQUIT}) signal(polite, SIG_IGN);
  char* const empty_environment[] = {nullptr};
  execve(arguments[0], arguments, empty_environment);
  _exit(127);
}

// The pid that bubblewrap writes as {"child-pid": N} once the namespace's first process exists; -1
// if it ended without doing so. Allocates nothing: if this failed, that process, which waits for
// bubblewrap, could not be ended.
int read_child_pid(int fd) {
  char text[512];
  std::size_t size = 0;
  while (size + 1 < sizeof text) {
    const ssize_t n = read(fd, text + size, sizeof text - 1 - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;  // bubblewrap may still be writing: it is not left with a closed pipe
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  text[size] = '\0';
  int pid = -1;
  const char* found = std::strstr(text, "\"child-pid\"");
  return found != nullptr && std::sscanf(found, "\"child-pid\" : %d", &pid) == 1 ? pid : -1;
}

bool reap(int pid, int* status, rusage* usage) {
  for (;;) {
    if (wait4(pid, status, 0, usage) == pid) return true;
    if (errno != EINTR) return false;
  }
}

// What has been written into a pipe so far, on one line.
std::string said(int fd) {
  char buffer[512];
  pollfd ready{fd, POLLIN, 0};
  const ssize_t n = poll(&ready, 1, 0) > 0 ? read(fd, buffer, sizeof buffer) : 0;
  std::string text(buffer, static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  std::replace(text.begin(), text.end(), '\n', ' ');
  return printable(text, 300);
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Descriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    failed("sandbox: cannot make a pipe: {}; {}", std::strerror(errno), kMoreDescriptors);
  Descriptor write_end(ends[1]);
  Pipe pipe;
  pipe.read = move_high(ends[0]);
  pipe.write = move_high(write_end.release());
  return pipe;
}

Descriptor make_memory_file(const std::string& content) {
  const int fd = memfd_create("input", MFD_CLOEXEC);
  if (fd < 0) failed("sandbox: cannot make a memory file: {}", std::strerror(errno));
  Descriptor file = move_high(fd);
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t n =
        pwrite(file.get(), content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) failed("sandbox: cannot write a memory file: {}", std::strerror(errno));
    done += static_cast<std::size_t>(n);
  }
  return file;
}

unsigned sandbox_user() {
  return geteuid() == 0 ? kNobody : geteuid();
}

void check_not_killed(const ProcessEnd& end) {
  if (end.outside)
    failed(
        "sandbox: a process was killed from outside (signal {}); the kernel does this when memory "
        "runs out (see dmesg): free memory, or run less at once",
        end.code);
}

ConfinedProcess ConfinedProcess::start(const ProcessSpec& spec, Descriptor output) {
  std::vector<char*> arguments;
  for (const std::string& argument : spec.arguments)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  Pipe info = make_pipe();
  ProcessSpec full = spec;
  full.inherited.emplace_back(info.write.get(), spec.info_number);
  for (const auto& [here, there] : full.inherited)
    CB_CHECK(here >= kHighNumbers && there < kHighNumbers);

  keep_children();
  ConfinedProcess process;
  process.output_ = std::move(output);
  const int pid = vfork();
  if (pid == 0) become(full, arguments.data());
  if (pid < 0) failed("sandbox: cannot start a process: {}", std::strerror(errno));
  process.monitor_ = pid;
  process.monitor_event_ = Descriptor(pidfd_open(pid));
  info.write.close();
  // bwrap reports the namespace's first process as soon as it exists, or exits without output.
  process.first_pid_ = read_child_pid(info.read.get());
  if (process.first_pid_ > 0) process.first_ = Descriptor(pidfd_open(process.first_pid_));
  const int reason = errno;
  if (process.first_pid_ < 0) {
    process.kill();
    const ProcessEnd end = process.wait();
    failed(
        "sandbox: bubblewrap could not start a process (status {}, it said \"{}\"); the limit on "
        "processes or memory may be reached (ulimit -u, ulimit -v)",
        end.code, said(process.output_.get()));
  }
  if (process.monitor_event_.get() < 0 || process.first_.get() < 0)
    failed("sandbox: cannot watch a process: {}", std::strerror(reason));
  return process;
}

ConfinedProcess::ConfinedProcess(ConfinedProcess&& other) noexcept
    : monitor_(std::exchange(other.monitor_, -1)),
      monitor_event_(std::move(other.monitor_event_)),
      first_pid_(other.first_pid_),
      first_(std::move(other.first_)),
      output_(std::move(other.output_)) {}

ConfinedProcess::~ConfinedProcess() {
  if (monitor_ < 0) return;
  kill();
  reap(monitor_, nullptr, nullptr);
}

bool ConfinedProcess::namespace_over() const {
  pollfd over{first_.get(), POLLIN, 0};
  return poll(&over, 1, 0) > 0;
}

void ConfinedProcess::kill() {
  // Killing the first process of a pid namespace kills all of it.
  if (first_.get() >= 0) {
    syscall(SYS_pidfd_send_signal, first_.get(), SIGKILL, nullptr, 0);
    return;
  }
  // We do not know it, or had no descriptor for it. While bubblewrap starts, that process is in its
  // group and waits for it, so that killing bubblewrap alone would leave it behind for ever.
  if (monitor_ > 0) ::kill(-monitor_, SIGKILL);
}

ProcessEnd ConfinedProcess::wait() {
  CB_CHECK(monitor_ >= 0);
  int status = 0;
  rusage usage{};
  if (!reap(std::exchange(monitor_, -1), &status, &usage))
    failed("sandbox: cannot wait for a process: {}", std::strerror(errno));
  ProcessEnd end;
  end.cpu_seconds = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                    1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  // Like a shell, bwrap reports a signal of the program as status 128 + signal.
  if (WIFSIGNALED(status)) {
    end.signalled = true;
    end.code = WTERMSIG(status);
  } else if (WEXITSTATUS(status) > 128) {
    end.signalled = true;
    end.code = WEXITSTATUS(status) - 128;
  } else {
    end.code = WEXITSTATUS(status);
  }
  // The program cannot reach bubblewrap, and its filter refuses it SIGKILL and the status of it.
  end.outside = WIFSIGNALED(status) || (end.signalled && end.code == SIGKILL);
  return end;
}

}  // namespace counterbeam
