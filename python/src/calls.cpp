#include "calls.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace counterbeam::python {
namespace {

struct Registry {
  std::mutex mutex;
  std::set<Cancellation*> calls;
  bool closed = false;
};

Registry& registry() {
  static auto* const kRegistry = new Registry;  // outlives every thread
  return *kRegistry;
}

// SIGINT while the main thread computes: cancel, then what was installed before (Python's handler,
// which only takes note).
std::atomic<Cancellation*> interrupted_call = nullptr;
struct sigaction former_action;

void interrupt(int signal, siginfo_t* info, void* context) {
  if (Cancellation* call = interrupted_call) call->cancel();
  if (former_action.sa_flags & SA_SIGINFO)
    former_action.sa_sigaction(signal, info, context);
  else
    former_action.sa_handler(signal);
}

// Python ignores SIGINT or leaves it to the system in some embeddings; then it is not ours either.
bool take_interrupts() {
  if (sigaction(SIGINT, nullptr, &former_action) != 0) return false;
  if (!(former_action.sa_flags & SA_SIGINFO) &&
      (former_action.sa_handler == SIG_IGN || former_action.sa_handler == SIG_DFL))
    return false;
  struct sigaction own = former_action;
  own.sa_flags |= SA_SIGINFO;
  own.sa_sigaction = interrupt;
  return sigaction(SIGINT, &own, nullptr) == 0;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void CancelToken::cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  for (Cancellation* call : calls_) call->cancel();
}

bool CancelToken::cancelled() const {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

void CancelToken::join(Cancellation* call) {
  const std::lock_guard lock(mutex_);
  calls_.insert(call);
  if (cancelled_) call->cancel();
}

void CancelToken::leave(Cancellation* call) {
  const std::lock_guard lock(mutex_);
  calls_.erase(call);
}

Call::Call(CancelToken* token) : token_(token), main_thread_(syscall(SYS_gettid) == getpid()) {
  {
    const std::lock_guard lock(registry().mutex);
    if (registry().closed) throw Cancelled("the interpreter is about to exit");
    registry().calls.insert(&cancellation_);
  }
  if (token_) token_->join(&cancellation_);
  if (!main_thread_) return;
  outer_ = interrupted_call;
  interrupted_call = &cancellation_;
  if (!outer_ && !take_interrupts()) interrupted_call = nullptr;
}

Call::~Call() {
  if (main_thread_ && interrupted_call == &cancellation_) {
    if (!outer_) sigaction(SIGINT, &former_action, nullptr);
    interrupted_call = outer_;
  }
  if (token_) token_->leave(&cancellation_);
  const std::lock_guard lock(registry().mutex);
  registry().calls.erase(&cancellation_);
}

void Call::fail(nb::python_error error) {
  if (!error_) error_.emplace(std::move(error));
  cancellation_.cancel();
  throw Cancelled("a callback raised an exception");
}

void Call::raise_pending() {
  if (error_) {
    nb::python_error error = std::move(*error_);
    error_.reset();
    throw error;
  }
  if (main_thread_ && PyErr_CheckSignals() != 0) throw nb::python_error();
}

double& seconds_outside() {
  thread_local double seconds = 0;
  return seconds;
}

Stopwatch::Stopwatch() : start_(now()) {}
Stopwatch::~Stopwatch() {
  seconds_outside() = now() - start_;
}

void close_calls() {
  Registry& all = registry();
  {
    const std::lock_guard lock(all.mutex);
    all.closed = true;
  }
  const nb::gil_scoped_release released;  // they need it to leave
  for (;;) {
    {
      const std::lock_guard lock(all.mutex);
      if (all.calls.empty()) return;
      for (Cancellation* call : all.calls) call->cancel();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace counterbeam::python
