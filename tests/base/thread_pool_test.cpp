#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <numeric>
#include <vector>

namespace counterbeam {
namespace {

TEST(ThreadPool, EveryWorkerRunsOnceARound) {
  for (const int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    std::vector<int> runs(static_cast<std::size_t>(threads), 0);
    for (int round = 0; round < 200; ++round) pool.run([&](int worker) { ++runs[worker]; });
    EXPECT_EQ(runs, std::vector<int>(static_cast<std::size_t>(threads), 200));
  }
}

TEST(ThreadPool, SharesCoverEveryItemOnce) {
  ThreadPool pool(3);
  for (int count = 0; count < 40; ++count) {
    for (const int grain : {1, 4, 100}) {
      std::vector<int> seen(static_cast<std::size_t>(count), 0);
      pool.split(count, grain, [&](int begin, int end) {
        for (int i = begin; i < end; ++i) ++seen[i];
      });
      EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0), count);
      std::vector<int> taken(static_cast<std::size_t>(count), 0);
      pool.each(count, [&](int item, int) { ++taken[item]; });
      EXPECT_EQ(taken, std::vector<int>(static_cast<std::size_t>(count), 1));
    }
  }
}

TEST(ThreadPool, WakesAfterSleeping) {
  ThreadPool pool(2);
  int sum[2] = {0, 0};
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    pool.run([&](int worker) { ++sum[worker]; });
  }
  EXPECT_EQ(sum[0], 5);
  EXPECT_EQ(sum[1], 5);
}

TEST(ThreadPool, IdleWorkersSleep) {
  ThreadPool pool(2);
  pool.run([](int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const std::clock_t before = std::clock();  // of the whole process
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const double used = double(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(used, 0.05);
}

}  // namespace
}  // namespace counterbeam
