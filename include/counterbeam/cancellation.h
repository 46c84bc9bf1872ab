// A way to stop work in progress: set from any thread (Ctrl-C, a client that went away).
#pragma once

#include <atomic>

namespace counterbeam {

// Calls in flight that were given it end with a Cancelled error. It must outlive them.
class Cancellation {
 public:
  void cancel() { cancelled_ = true; }
  bool cancelled() const { return cancelled_; }

 private:
  std::atomic<bool> cancelled_ = false;
};

}  // namespace counterbeam
