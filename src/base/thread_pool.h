// A few threads that run one task together, many thousand times a second. Workers spin for some
// tens of microseconds after a task, since the next one usually follows at once, then sleep; an
// idle pool costs nothing. One caller at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace counterbeam {

class ThreadPool {
 public:
  // The calling thread is one of the `threads`. REQUIRES threads >= 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // task(worker) once per worker in [0, threads()), all at the same time; returns when all are
  // done. REQUIRES a task that does not throw and does not call the pool.
  template <typename Task>
  void run(Task&& task) {
    using Plain = std::remove_reference_t<Task>;
    start({[](void* self, int worker) { (*static_cast<Plain*>(self))(worker); }, &task});
  }

  // task(begin, end) over equal shares of [0, count), or by the caller alone when there are fewer
  // than two `grain`s of work.
  template <typename Task>
  void split(int count, int grain, Task&& task) {
    if (count <= 0) return;
    const int shares = std::min(threads(), count / std::max(grain, 1));
    if (shares <= 1) {
      task(0, count);
      return;
    }
    run([&](int worker) {
      if (worker >= shares) return;
      const auto at = [&](int share) {
        return static_cast<int>(std::int64_t{count} * share / shares);
      };
      task(at(worker), at(worker + 1));
    });
  }

  // task(item, worker) for every item of [0, count); a worker takes the next one when it is free.
  template <typename Task>
  void each(int count, Task&& task) {
    if (count <= 1 || threads() == 1) {
      for (int item = 0; item < count; ++item) task(item, 0);
      return;
    }
    std::atomic<int> next{0};
    run([&](int worker) {
      for (int item; (item = next.fetch_add(1, std::memory_order_relaxed)) < count;)
        task(item, worker);
    });
  }

 private:
  struct Job {
    void (*call)(void* self, int worker) = nullptr;
    void* self = nullptr;
  };
  // A word that is waited for: spun on first, slept on later.
  struct alignas(64) Word {
    std::atomic<std::uint32_t> value{0};
  };

  void start(Job job);
  void work(int worker);
  void wait_while(Word& word, std::uint32_t value) const;

  Job job_;            // written before round_ moves on
  Word round_;         // counts the tasks
  Word running_;       // workers that have not finished the round
  bool stop_ = false;  // written before the last round
  int spin_microseconds_;
  std::vector<std::thread> workers_;
};

}  // namespace counterbeam
