#include "base/thread_pool.h"

#include <chrono>

#include "base/error.h"

namespace counterbeam {
namespace {

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  CB_CHECK(threads >= 1);
  // More threads than cores: a spinning worker would stand in the way of a working one.
  const bool crowded = threads > static_cast<int>(std::thread::hardware_concurrency());
  spin_microseconds_ = crowded ? 0 : 60;
  for (int worker = 1; worker < threads; ++worker)
    workers_.emplace_back([=, this] { work(worker); });
}

ThreadPool::~ThreadPool() {
  stop_ = true;
  round_.value.fetch_add(1, std::memory_order_release);
  round_.value.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::wait_while(Word& word, std::uint32_t value) const {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::microseconds(spin_microseconds_);
  do {
    for (int i = 0; i < 64; ++i) {
      if (word.value.load(std::memory_order_acquire) != value) return;
      pause();
    }
  } while (Clock::now() < end);
  word.value.wait(value, std::memory_order_acquire);
}

void ThreadPool::start(Job job) {
  if (workers_.empty()) {
    job.call(job.self, 0);
    return;
  }
  job_ = job;
  running_.value.store(static_cast<std::uint32_t>(workers_.size()), std::memory_order_relaxed);
  round_.value.fetch_add(1, std::memory_order_release);
  round_.value.notify_all();
  job.call(job.self, 0);
  for (std::uint32_t left; (left = running_.value.load(std::memory_order_acquire)) != 0;)
    wait_while(running_, left);
}

void ThreadPool::work(int worker) {
  for (std::uint32_t round = 0;; ++round) {
    wait_while(round_, round);
    if (stop_) return;
    job_.call(job_.self, worker);
    if (running_.value.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.value.notify_one();
  }
}

}  // namespace counterbeam
