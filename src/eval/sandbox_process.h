// A process under bubblewrap. It inherits exactly the descriptors given to it, and the destructor
// kills it together with its whole pid namespace.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "eval/sandbox_limits.h"

namespace counterbeam {

// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void close();

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read, write;
};

// The descriptors are close-on-exec and numbered 64 or higher, so that they do not collide with
// those of a child. Descriptors passed to a child must come from these functions.
Pipe make_pipe();
Descriptor make_memory_file(const std::string& content);

struct ProcessEnd {
  bool signalled = false;
  int code = 0;            // exit status, or the signal's number
  bool outside = false;    // killed by the machine or a person; no program can cause this
  double cpu_seconds = 0;  // of all reaped processes of the namespace
};

// The user that confined processes run as.
unsigned sandbox_user();

// Throws Failed, with what may have happened, if the end came from outside.
void check_not_killed(const ProcessEnd& end);

struct ProcessSpec {
  std::vector<std::string> arguments;          // bwrap's argv
  std::vector<std::pair<int, int>> inherited;  // (descriptor here, number in the child)
  std::vector<ResourceLimit> limits;
  int info_number = -1;  // the descriptor that `arguments` give to --info-fd
};

class ConfinedProcess {
 public:
  // Returns once the namespace exists. Throws Failed if bubblewrap cannot be run or cannot make it,
  // as where the limit on processes is reached.
  static ConfinedProcess start(const ProcessSpec& spec, Descriptor output);

  ConfinedProcess(ConfinedProcess&& other) noexcept;
  ConfinedProcess& operator=(ConfinedProcess&&) = delete;
  ~ConfinedProcess();

  int output() const { return output_.get(); }            // standard output and error, to read
  int first_process() const { return first_pid_; }        // of the namespace; its child is ours
  int end_event() const { return monitor_event_.get(); }  // readable once all processes have ended

  bool namespace_over() const;  // its last process has ended, though bubblewrap may not have

  void kill();        // kills everything in the namespace
  ProcessEnd wait();  // until the namespace is empty; REQUIRES: first call

 private:
  ConfinedProcess() = default;

  int monitor_ = -1;          // bwrap's pid; it ends after the last process of the namespace
  Descriptor monitor_event_;  // pidfd of bwrap
  int first_pid_ = -1;        // the namespace's first process
  Descriptor first_;          // its pidfd
  Descriptor output_;
};

}  // namespace counterbeam
