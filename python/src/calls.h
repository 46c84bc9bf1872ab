// Calls from Python into the engine. The GIL is released while they compute; Ctrl-C, a token, a
// callback that raises and the end of the interpreter cancel them.
#pragma once

#include <counterbeam/cancellation.h>
#include <counterbeam/error.h>
#include <nanobind/nanobind.h>

#include <mutex>
#include <optional>
#include <set>

namespace counterbeam::python {

namespace nb = nanobind;

// Cancels the calls that were given it, from any thread.
class CancelToken {
 public:
  void cancel();
  bool cancelled() const;
  void join(Cancellation* call);  // cancelled at once if the token is
  void leave(Cancellation* call);

 private:
  mutable std::mutex mutex_;
  bool cancelled_ = false;
  std::set<Cancellation*> calls_;
};

// One call in flight. Made and destroyed with the GIL held. While it lives, SIGINT on the main
// thread cancels it before Python's own handler takes note, and close_calls() waits for it.
class Call {
 public:
  explicit Call(CancelToken* token);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const Cancellation* cancellation() const { return &cancellation_; }
  // Keeps the error of a callback, cancels the call and throws Cancelled. REQUIRES the GIL.
  [[noreturn]] void fail(nb::python_error error);
  // Throws the error of a callback, or what a signal's handler raises (KeyboardInterrupt).
  void raise_pending();
  bool on_main_thread() const { return main_thread_; }

 private:
  Cancellation cancellation_;
  CancelToken* token_;
  std::optional<nb::python_error> error_;
  bool main_thread_;
  Cancellation* outer_ = nullptr;  // the call that this one is nested in
};

// Seconds that the last call of this thread spent outside of Python.
double& seconds_outside();

class Stopwatch {
 public:
  Stopwatch();
  ~Stopwatch();

 private:
  double start_;
};

// Runs work(call) without the GIL.
template <typename Work>
auto without_gil(CancelToken* token, const Work& work) {
  Call call(token);
  try {
    auto result = [&] {
      const nb::gil_scoped_release released;
      const Stopwatch watch;
      return work(call);
    }();
    call.raise_pending();
    return result;
  } catch (const Cancelled&) {
    call.raise_pending();
    throw;
  }
}

// Runs work() with the GIL, from a call in flight. What it raises ends the call.
template <typename Work>
auto with_gil(Call& call, const Work& work) {
  const nb::gil_scoped_acquire held;
  try {
    return work();
  } catch (nb::python_error& error) {
    call.fail(std::move(error));
  }
}

// The interpreter ends: cancels the calls in flight, refuses new ones, and returns when all have
// left, so that no thread needs the GIL afterwards. REQUIRES the GIL.
void close_calls();

}  // namespace counterbeam::python
