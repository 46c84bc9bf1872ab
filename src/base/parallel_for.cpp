#include "base/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "base/start_thread.h"

namespace counterbeam {

void parallel_for(std::size_t count, int workers, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stop = false;
  std::exception_ptr error;
  const auto take_turns = [&] {
    for (std::size_t i = next++; i < count && !stop; i = next++) {
      try {
        work(i);
      } catch (...) {
        if (!stop.exchange(true)) error = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    const std::size_t needed = std::min(count, static_cast<std::size_t>(std::max(1, workers)));
    threads.reserve(needed);
    try {
      for (std::size_t i = 0; i < needed; ++i) threads.push_back(start_thread(take_turns));
    } catch (...) {
      if (!stop.exchange(true)) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace counterbeam
