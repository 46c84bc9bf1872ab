// A thread pool for parallel loops, built for thousands of short loops a second. After a loop the
// workers spin for some tens of microseconds, since the next loop usually follows at once, and then
// sleep, so that an idle pool uses no CPU. The caller works too and waits only for workers that
// have joined the loop: on a loaded machine it does more of the work itself. One caller at a time.
// A task may throw, on any thread: the loop then ends early, and once no worker runs the task any
// more, the caller gets the first exception.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <thread>
#include <type_traits>
#include <vector>

namespace counterbeam {

// What the threads of a pool did in its loops so far: sums that readers take differences of. What
// is neither busy nor late of threads x loops was spent waiting at the end.
struct PoolTimes {
  struct alignas(64) Thread {
    std::int64_t busy = 0;    // nanoseconds inside tasks
    std::int64_t late = 0;    // nanoseconds between the start of a loop and joining it
    std::int64_t joined = 0;  // loops
  };
  std::vector<Thread> threads;
  std::int64_t loops = 0;        // that were shared with the workers
  std::int64_t nanoseconds = 0;  // of the caller in those

  PoolTimes operator-(const PoolTimes& before) const;
};

class ThreadPool {
 public:
  // The calling thread counts as one of the `threads`. Throws Failed if the system does not give
  // them. REQUIRES: threads >= 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Adds the times of all loops from here on to `times`, or stops doing so (null). REQUIRES: no
  // loop is running, and `times` stays valid.
  void watch(PoolTimes* times);

  // Calls task(begin, end) or task(begin, end, worker) for disjoint parts that cover [0, count).
  // The caller runs alone if count < 2 * grain. REQUIRES: the task does not call the pool. Each
  // worker takes parts from the front of its own stretch, so that it reads memory sequentially;
  // when that is empty it steals from the ends of the others', so that all threads finish at about
  // the same time even if some are delayed.
  template <typename Task>
  void split(int count, int grain, Task&& task) {
    if (count <= 0) return;
    const auto run = [&](Part part, int worker) {
      if constexpr (std::is_invocable_v<Task&, int, int, int>) {
        task(part.begin, part.end, worker);
      } else {
        task(part.begin, part.end);
      }
    };
    grain = std::max(grain, 1);
    if (threads() == 1 || count < 2 * grain) return run({0, count}, 0);
    for (int i = 0; i < threads(); ++i) {
      const auto at = [&](int stretch) { return int(std::int64_t{count} * stretch / threads()); };
      stretches_[std::size_t(i)].left.store({at(i), at(i + 1)}, std::memory_order_relaxed);
    }
    share([&](int worker) {
      for (int i = 0; i < threads(); ++i) {
        Stretch& stretch = stretches_[std::size_t((worker + i) % threads())];
        for (Part part; !failing() && (part = stretch.take(grain, i == 0));) run(part, worker);
      }
    });
  }

  // Calls task(item, worker) for every item of [0, count), handed out one at a time. `worker` is in
  // [0, threads()), and no two tasks that run at the same time share it.
  template <typename Task>
  void each(int count, Task&& task) {
    if (count <= 1 || threads() == 1) {
      for (int item = 0; item < count; ++item) task(item, 0);
      return;
    }
    std::atomic<int> next{0};
    share([&](int worker) {
      for (int item; !failing() && (item = next.fetch_add(1, std::memory_order_relaxed)) < count;)
        task(item, worker);
    });
  }

 private:
  struct Part {
    int begin = 0, end = 0;
    explicit operator bool() const { return begin < end; }
  };
  struct alignas(64) Stretch {
    std::atomic<Part> left;
    // Takes an eighth of what is left from the front, or a quarter from the end, at least a grain.
    Part take(int grain, bool front) {
      Part now = left.load(std::memory_order_relaxed);
      for (;;) {
        const int size = now.end - now.begin;
        if (size <= 0) return {};
        const int taken = std::min(size, std::max(grain, size / (front ? 8 : 4)));
        const Part part =
            front ? Part{now.begin, now.begin + taken} : Part{now.end - taken, now.end};
        const Part rest = front ? Part{part.end, now.end} : Part{now.begin, part.begin};
        if (left.compare_exchange_weak(now, rest, std::memory_order_relaxed)) return part;
      }
    }
  };

  struct Job {
    void (*call)(void* self, int worker) = nullptr;
    void* self = nullptr;
  };

  // Runs task(0) on this thread, and task(worker) on every worker that joins before it returns.
  template <typename Task>
  void share(Task&& task) {
    using Plain = std::remove_reference_t<Task>;
    start({[](void* self, int worker) { (*static_cast<Plain*>(self))(worker); }, &task});
  }
  bool failing() const { return failing_.load(std::memory_order_relaxed); }
  void start(Job job);
  void stop();
  void run(int worker);
  void run_watched(int worker);
  void work(int worker);
  bool enter(std::uint32_t round);
  template <typename Word>
  void wait_while(const std::atomic<Word>& word, Word value) const;

  std::vector<Stretch> stretches_;  // [threads]
  Job job_;                         // written only while the gate is closed and no worker is inside
  PoolTimes* times_ = nullptr;      // written when job_ is
  std::chrono::steady_clock::time_point begun_;
  alignas(64) std::atomic<std::uint32_t> round_{0};  // number of the job; workers wait for the next
  alignas(64) std::atomic<std::uint64_t> gate_{0};   // round, open flag, workers inside
  std::atomic<bool> stop_{false};
  std::atomic<bool> failing_{false};  // a task of this round has thrown
  std::exception_ptr failure_;        // what; written by the thread that set failing_
  int spin_microseconds_;
  std::vector<std::jthread> workers_;
};

}  // namespace counterbeam
