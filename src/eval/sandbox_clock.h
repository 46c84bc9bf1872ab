// The time that counts against the limit of a confined program: its processor time while it runs,
// and the wall clock while it sleeps. Time in which it is ready to run but gets no processor, in
// which it is stopped (it cannot stop itself), and in which we ourselves do not run (the machine is
// suspended, or we are stopped), is not its fault and does not count. Nor does time after its end.
#pragma once

#include <chrono>
#include <vector>

namespace counterbeam {

class ProgramClock {
 public:
  static constexpr std::chrono::milliseconds kTick{50};

  // The processes whose children are the programs (ConfinedProcess::first_process). Processor time
  // that a program has used before does not count.
  explicit ProgramClock(const std::vector<int>& parents);

  // Accounts for the time since the last call. REQUIRES: called about every kTick.
  void tick();

  double counted() const { return counted_; }  // seconds
  double present() const { return present_; }  // seconds in which we ran

 private:
  using Clock = std::chrono::steady_clock;
  struct Program {
    int parent = -1, pid = -1;
    double processor_seconds = 0;
  };

  std::vector<Program> programs_;
  Clock::time_point last_ = Clock::now();
  double counted_ = 0, present_ = 0;
};

}  // namespace counterbeam
