// The time that counts against a program's limit, of processes of this test's own.
#include "eval/sandbox_clock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace counterbeam {
namespace {

// A process whose only child runs `work`; both are killed and reaped at the end.
class Parent {
 public:
  explicit Parent(const std::function<void()>& work) {
    int started[2];
    EXPECT_EQ(pipe(started), 0);
    pid_ = fork();
    if (pid_ == 0) {
      setpgid(0, 0);
      const pid_t child = fork();
      if (child == 0) {
        work();
        _exit(0);
      }
      [[maybe_unused]] const ssize_t wrote = write(started[1], "x", 1);
      for (;;) pause();
    }
    char byte;
    EXPECT_EQ(read(started[0], &byte, 1), 1);
    close(started[0]);
    close(started[1]);
  }
  ~Parent() {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  int pid() const { return pid_; }

 private:
  pid_t pid_;
};

void spin() {
  for (std::atomic<unsigned> i = 0;; ++i) {
  }
}

void run(ProgramClock& clock, int ticks) {
  for (int i = 0; i < ticks; ++i) {
    std::this_thread::sleep_for(ProgramClock::kTick);
    clock.tick();
  }
}

TEST(ProgramClock, TimeBeforeItsStartDoesNotCount) {
  const Parent parent(spin);
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  ProgramClock clock({parent.pid()});
  clock.tick();
  EXPECT_LT(clock.counted(), 0.3);
}

TEST(ProgramClock, ProcessorTimeAndSleepCount) {
  for (const std::function<void()>& work : {std::function<void()>(spin), {[] { sleep(60); }}}) {
    const Parent parent(work);
    ProgramClock clock({parent.pid()});
    for (int i = 0; i < 1200 && clock.counted() < 0.2; ++i) run(clock, 1);
    EXPECT_GE(clock.counted(), 0.2);
  }
}

TEST(ProgramClock, AStoppedProgramAndOneThatHasEndedDoNotCount) {
  for (const std::function<void()>& work :
       {std::function<void()>([] { raise(SIGSTOP); }), std::function<void()>([] {})}) {
    const Parent parent(work);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ProgramClock clock({parent.pid()});
    run(clock, 10);
    EXPECT_LT(clock.counted(), 0.1);
    EXPECT_GT(clock.present(), 0.3);
  }
}

}  // namespace
}  // namespace counterbeam
