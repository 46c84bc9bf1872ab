#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <new>
#include <numeric>
#include <vector>

namespace counterbeam {
namespace {

TEST(ThreadPool, EachRunsEveryItemOnceOverManyRounds) {
  for (const int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    std::vector<int> items(64, 0);
    std::vector<int> busy(static_cast<std::size_t>(threads), 0);
    for (int round = 0; round < 2000; ++round) {
      pool.each(64, [&](int item, int worker) {
        ++busy[worker];  // a data race if two running tasks had the same worker
        ++items[item];
      });
    }
    EXPECT_EQ(items, std::vector<int>(64, 2000));
    EXPECT_EQ(std::accumulate(busy.begin(), busy.end(), 0), 64 * 2000);
  }
}

TEST(ThreadPool, SplitCoversEveryItemOnce) {
  ThreadPool pool(3);
  for (int count = 0; count < 40; ++count) {
    for (const int grain : {1, 4, 100}) {
      std::vector<int> seen(static_cast<std::size_t>(count), 0);
      pool.split(count, grain, [&](int begin, int end) {
        for (int i = begin; i < end; ++i) ++seen[i];
      });
      EXPECT_EQ(seen, std::vector<int>(static_cast<std::size_t>(count), 1));
      std::vector<int> busy(3, 0);
      pool.split(count, grain, [&](int begin, int end, int worker) {
        busy[worker] += end - begin;  // a data race if two running tasks had the same worker
      });
      EXPECT_EQ(std::accumulate(busy.begin(), busy.end(), 0), count);
      std::vector<int> taken(static_cast<std::size_t>(count), 0);
      pool.each(count, [&](int item, int) { ++taken[item]; });
      EXPECT_EQ(taken, std::vector<int>(static_cast<std::size_t>(count), 1));
    }
  }
}

TEST(ThreadPool, AnExceptionOfAnyThreadReachesTheCallerOnceAllHaveLeft) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 200; ++round) {
      std::atomic<int> inside{0};
      // Every item throws, then one alone, wherever it runs.
      const auto work = [&](int item) {
        ++inside;
        if (round % 2 == 0 || item == round % 16) {
          --inside;
          throw std::bad_alloc();
        }
        --inside;
      };
      EXPECT_THROW(pool.each(16, [&](int item, int) { work(item); }), std::bad_alloc);
      EXPECT_EQ(inside, 0);
      EXPECT_THROW(pool.split(16, 1,
                              [&](int begin, int end) {
                                for (int i = begin; i < end; ++i) work(i);
                              }),
                   std::bad_alloc);
      EXPECT_EQ(inside, 0);
      // The pool still works.
      std::atomic<int> done{0};
      pool.each(16, [&](int, int) { ++done; });
      EXPECT_EQ(done, 16);
    }
  }
}

TEST(ThreadPool, SleepingWorkersWakeUp) {
  ThreadPool pool(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    // Two tasks that wait for each other: they finish only if both threads take part.
    std::atomic<int> here{0};
    pool.each(2, [&](int, int) {
      ++here;
      while (here < 2) std::this_thread::yield();
    });
    EXPECT_EQ(here, 2);
  }
}

TEST(ThreadPool, WatchedLoopsSayWhatTheThreadsDid) {
  ThreadPool pool(2);
  PoolTimes times;
  pool.watch(&times);
  const auto busy = [](int microseconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
    while (std::chrono::steady_clock::now() < end) {
    }
  };
  // Two tasks that wait for each other, so that both threads take part.
  std::atomic<int> here{0};
  pool.each(2, [&](int, int) {
    ++here;
    while (here < 2) std::this_thread::yield();
    busy(2000);
  });
  ASSERT_EQ(times.threads.size(), 2u);
  EXPECT_EQ(times.loops, 1);
  EXPECT_GE(times.nanoseconds, 2'000'000);
  for (const PoolTimes::Thread& thread : times.threads) {
    EXPECT_EQ(thread.joined, 1);
    EXPECT_GE(thread.busy, 2'000'000);
    EXPECT_LE(thread.busy + thread.late, times.nanoseconds);
  }
  const PoolTimes before = times;
  pool.each(1, [&](int, int) { busy(10); });  // by the caller alone: no loop
  EXPECT_EQ((times - before).loops, 0);
  pool.watch(nullptr);
  pool.each(2, [&](int, int) { busy(10); });
  EXPECT_EQ((times - before).loops, 0);
  EXPECT_EQ((times - before).nanoseconds, 0);
}

TEST(ThreadPool, IdleWorkersSleep) {
  ThreadPool pool(2);
  pool.each(2, [](int, int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const std::clock_t before = std::clock();  // of the whole process
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const double used = double(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(used, 0.05);
}

}  // namespace
}  // namespace counterbeam
