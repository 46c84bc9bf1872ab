// An allow-list: the calls that CPython and its standard library make for files, memory, threads,
// time and pipes. A program cannot create a process (clone is allowed for threads only), a socket
// other than by socketpair, a namespace, a mount or a key, cannot trace, and cannot allocate memory
// that no limit counts (memfd, System V and POSIX shared memory and queues). Nor can it cause its
// own SIGKILL, end with the exit status that bubblewrap gives for one, or stop itself: what is
// killed or stopped was killed or stopped from outside, and is no fault of the program.
#include "eval/sandbox_filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace counterbeam {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the sandbox knows the system calls of x86-64 and arm64"
#endif

constexpr std::uint32_t kAllowed[] = {
    // files and descriptors
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_pwrite64,
    SYS_openat,
    SYS_close,
    SYS_close_range,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_statfs,
    SYS_fstatfs,
    SYS_lseek,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_pipe2,
    SYS_dup,
    SYS_dup3,
    SYS_flock,
    SYS_fsync,
    SYS_fdatasync,
    SYS_truncate,
    SYS_ftruncate,
    SYS_getdents64,
    SYS_getcwd,
    SYS_chdir,
    SYS_fchdir,
    SYS_renameat2,
    SYS_mkdirat,
    SYS_linkat,
    SYS_unlinkat,
    SYS_symlinkat,
    SYS_readlinkat,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_umask,
    SYS_utimensat,
    SYS_fallocate,
    SYS_sendfile,
    SYS_copy_file_range,
    // waiting on descriptors
    SYS_ppoll,
    SYS_pselect6,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_eventfd2,
    SYS_timerfd_create,
    SYS_timerfd_settime,
    SYS_timerfd_gettime,
    SYS_signalfd4,
    SYS_socketpair,
    SYS_sendto,
    SYS_recvfrom,
    SYS_sendmsg,
    SYS_recvmsg,
    SYS_shutdown,
    SYS_getsockopt,
    SYS_setsockopt,
    SYS_getsockname,
    SYS_getpeername,
    // memory and threads
    SYS_mmap,
    SYS_mprotect,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_msync,
    SYS_brk,
    SYS_futex,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_set_tid_address,
    SYS_rseq,
    SYS_membarrier,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_getscheduler,
    SYS_sched_getparam,
    SYS_getpriority,
    // signals and processes
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigpending,
    SYS_rt_sigtimedwait,
    SYS_rt_sigsuspend,
    SYS_sigaltstack,
    SYS_wait4,
    SYS_waitid,
    SYS_execve,
    SYS_getpid,
    SYS_getppid,
    SYS_getpgid,
    SYS_setpgid,
    SYS_getsid,
    SYS_setsid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getresuid,
    SYS_getresgid,
    SYS_getgroups,
    SYS_getrusage,
    SYS_uname,
    SYS_sysinfo,
    SYS_getrandom,
    SYS_restart_syscall,
    // time
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_gettimeofday,
    SYS_times,
    SYS_setitimer,
    SYS_getitimer,
#if defined(__x86_64__)
    SYS_open,
    SYS_creat,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_pipe,
    SYS_dup2,
    SYS_rename,
    SYS_renameat,
    SYS_mkdir,
    SYS_rmdir,
    SYS_link,
    SYS_unlink,
    SYS_symlink,
    SYS_readlink,
    SYS_chmod,
    SYS_getdents,
    SYS_poll,
    SYS_select,
    SYS_epoll_create,
    SYS_epoll_wait,
    SYS_eventfd,
    SYS_getpgrp,
    SYS_getrlimit,
    SYS_arch_prctl,
    SYS_time,
    SYS_alarm,
    SYS_pause,
#endif
};

// Used by isatty() and Python's file objects. All other ioctls are denied.
constexpr std::uint32_t kIoctls[] = {TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX};

// The signals that nothing can handle, and those that stop a process unless it handles them.
constexpr std::uint32_t kRefusedSignals[] = {SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
constexpr std::uint32_t kStatusOfKilled = 128 + SIGKILL;

sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
sock_filter answer(std::uint32_t action) {
  return BPF_STMT(BPF_RET | BPF_K, action);
}
// Skips the next instruction unless the loaded word is `value`.
sock_filter unless_equal(std::uint32_t value) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
}

constexpr std::uint32_t deny(int reason) {
  return SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(reason) & SECCOMP_RET_DATA);
}

// For one call: loads the low word of argument `index` and runs `tests`, which return a verdict.
void when_called(std::vector<sock_filter>& program, std::uint32_t call, std::size_t index,
                 const std::vector<sock_filter>& tests) {
  const auto skip = static_cast<std::uint8_t>(tests.size() + 1);
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, skip));
  program.push_back(load(offsetof(seccomp_data, args) + 8 * index));
  program.insert(program.end(), tests.begin(), tests.end());
}

std::vector<sock_filter> unless_refused_signal() {
  std::vector<sock_filter> tests;
  for (std::uint32_t signal : kRefusedSignals) {
    tests.push_back(unless_equal(signal));
    tests.push_back(answer(deny(EPERM)));
  }
  tests.push_back(answer(SECCOMP_RET_ALLOW));
  return tests;
}

// What could end in a SIGKILL: signals, the signal of a descriptor, a lower limit on processor
// time. (timer_create, whose signal is in memory, is not on the list.)
void refuse_own_kill(std::vector<sock_filter>& program) {
  when_called(program, SYS_kill, 1, unless_refused_signal());
  when_called(program, SYS_tkill, 1, unless_refused_signal());
  when_called(program, SYS_tgkill, 2, unless_refused_signal());
  when_called(program, SYS_fcntl, 1,
              {unless_equal(F_SETSIG), answer(deny(EPERM)), unless_equal(F_NOTIFY),
               answer(deny(EPERM)), answer(SECCOMP_RET_ALLOW)});
#if defined(__x86_64__)
  when_called(program, SYS_setrlimit, 0,
              {unless_equal(RLIMIT_CPU), answer(deny(EPERM)), answer(SECCOMP_RET_ALLOW)});
#endif
  // Limits may be read: then the address of the new one, both words of it, is null.
  constexpr std::size_t new_limit = offsetof(seccomp_data, args) + 8 * 2;
  when_called(program, SYS_prlimit64, 1,
              {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_CPU, 0, 4), load(new_limit),
               BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3), load(new_limit + 4),
               BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1), answer(SECCOMP_RET_ALLOW),
               answer(deny(EPERM))});
  for (const std::uint32_t call : {SYS_exit, SYS_exit_group})
    when_called(program, call, 0,
                {BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff), unless_equal(kStatusOfKilled),
                 answer(SECCOMP_RET_KILL_PROCESS), answer(SECCOMP_RET_ALLOW)});
}

}  // namespace

std::string system_call_filter() {
  std::vector<sock_filter> program;
  program.push_back(load(offsetof(seccomp_data, arch)));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
  program.push_back(answer(SECCOMP_RET_KILL_PROCESS));
  program.push_back(load(offsetof(seccomp_data, nr)));  // x32 calls have numbers not listed here

  // The flags of clone3 are in memory, which a filter cannot read. With ENOSYS libc falls back to
  // clone.
  program.push_back(unless_equal(SYS_clone3));
  program.push_back(answer(deny(ENOSYS)));
  when_called(program, SYS_clone, 0,
              {BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0), answer(deny(EPERM)),
               answer(SECCOMP_RET_ALLOW)});
  std::vector<sock_filter> ioctls;
  for (std::uint32_t request : kIoctls) {
    ioctls.push_back(unless_equal(request));
    ioctls.push_back(answer(SECCOMP_RET_ALLOW));
  }
  ioctls.push_back(answer(deny(ENOTTY)));
  when_called(program, SYS_ioctl, 1, ioctls);
  when_called(program, SYS_prctl, 0,
              {unless_equal(PR_SET_NAME), answer(SECCOMP_RET_ALLOW), unless_equal(PR_GET_NAME),
               answer(SECCOMP_RET_ALLOW), answer(deny(EPERM))});
  refuse_own_kill(program);
  for (std::uint32_t call : kAllowed) {
    program.push_back(unless_equal(call));
    program.push_back(answer(SECCOMP_RET_ALLOW));
  }
  program.push_back(answer(deny(EPERM)));
  return {reinterpret_cast<const char*>(program.data()), program.size() * sizeof(sock_filter)};
}

}  // namespace counterbeam
