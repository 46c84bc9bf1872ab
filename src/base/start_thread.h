// Starts threads; if the system refuses one, an Error with a remedy is thrown.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"

namespace counterbeam {

// A thread that runs work(), which must not throw. It is joined when it is destroyed, so a caller
// that holds several of them must tell the running ones to stop before it fails. Throws Failed if
// the system gives no further thread.
template <typename Work>
std::jthread start_thread(Work&& work) {
  try {
    return std::jthread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    failed(
        "a thread cannot be started: {}; ask for fewer (--threads, --concurrency), or raise the "
        "limits on processes and memory (ulimit -u, ulimit -v)",
        error.code().message());
  }
}

}  // namespace counterbeam
