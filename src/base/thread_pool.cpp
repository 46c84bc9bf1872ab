#include "base/thread_pool.h"

#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/start_thread.h"

namespace counterbeam {
namespace {

// Layout of gate_: the round in the upper 32 bits, an open flag, and the number of workers inside.
constexpr std::uint64_t kOpen = std::uint64_t{1} << 31;
constexpr std::uint64_t kInside = kOpen - 1;

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

using Time = std::chrono::steady_clock::time_point;

Time now() {
  return std::chrono::steady_clock::now();
}

std::int64_t nanoseconds(Time from, Time until) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(until - from).count();
}

}  // namespace

PoolTimes PoolTimes::operator-(const PoolTimes& before) const {
  PoolTimes result = *this;
  result.loops -= before.loops;
  result.nanoseconds -= before.nanoseconds;
  for (std::size_t i = 0; i < std::min(threads.size(), before.threads.size()); ++i) {
    result.threads[i].busy -= before.threads[i].busy;
    result.threads[i].late -= before.threads[i].late;
    result.threads[i].joined -= before.threads[i].joined;
  }
  return result;
}

ThreadPool::ThreadPool(int threads) : stretches_(static_cast<std::size_t>(std::max(threads, 0))) {
  CB_CHECK(threads >= 1);
  // With more threads than cores a spinning worker would take time from a working one.
  const bool crowded = threads > static_cast<int>(std::thread::hardware_concurrency());
  spin_microseconds_ = crowded ? 0 : 60;
  workers_.reserve(stretches_.size());
  try {
    for (int worker = 1; worker < threads; ++worker)
      workers_.push_back(start_thread([=, this] { work(worker); }));
  } catch (...) {
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() {
  stop();
}

void ThreadPool::stop() {
  stop_.store(true, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  workers_.clear();
}

template <typename Word>
void ThreadPool::wait_while(const std::atomic<Word>& word, Word value) const {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::microseconds(spin_microseconds_);
  do {
    for (int i = 0; i < 64; ++i) {
      if (word.load(std::memory_order_acquire) != value) return;
      pause();
    }
  } while (Clock::now() < end);
  word.wait(value, std::memory_order_acquire);
}

void ThreadPool::watch(PoolTimes* times) {
  times_ = times;
  if (times_) times_->threads.resize(stretches_.size());
}

void ThreadPool::start(Job job) {
  job_ = job;
  if (times_) begun_ = now();
  const std::uint32_t round = round_.load(std::memory_order_relaxed) + 1;
  gate_.store((std::uint64_t{round} << 32) | kOpen, std::memory_order_release);
  round_.store(round, std::memory_order_release);
  round_.notify_all();
  run(0);
  gate_.fetch_and(~kOpen, std::memory_order_acq_rel);
  for (std::uint64_t gate; ((gate = gate_.load(std::memory_order_acquire)) & kInside) != 0;)
    wait_while(gate_, gate);
  if (times_) {
    ++times_->loops;
    times_->nanoseconds += nanoseconds(begun_, now());
  }
  if (failing_.load(std::memory_order_relaxed)) {
    failing_.store(false, std::memory_order_relaxed);
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

void ThreadPool::run_watched(int worker) {
  PoolTimes::Thread& mine = times_->threads[std::size_t(worker)];
  const Time joined = now();
  job_.call(job_.self, worker);
  mine.late += nanoseconds(begun_, joined);
  mine.busy += nanoseconds(joined, now());
  ++mine.joined;
}

void ThreadPool::run(int worker) {
  try {
    if (times_) return run_watched(worker);
    job_.call(job_.self, worker);
  } catch (...) {
    if (!failing_.exchange(true, std::memory_order_relaxed)) failure_ = std::current_exception();
  }
}

bool ThreadPool::enter(std::uint32_t round) {
  std::uint64_t gate = gate_.load(std::memory_order_relaxed);
  while ((gate >> 32) == round && (gate & kOpen)) {
    if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire)) return true;
  }
  return false;
}

void ThreadPool::work(int worker) {
  for (std::uint32_t seen = 0;;) {
    wait_while(round_, seen);
    seen = round_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) return;
    if (!enter(seen)) continue;
    run(worker);
    const std::uint64_t before = gate_.fetch_sub(1, std::memory_order_acq_rel);
    // The last worker to leave after the gate was closed wakes the caller.
    if ((before & (kOpen | kInside)) == 1) gate_.notify_all();
  }
}

}  // namespace counterbeam
