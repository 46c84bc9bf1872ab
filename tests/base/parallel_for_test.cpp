#include "base/parallel_for.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace counterbeam {
namespace {

TEST(ParallelFor, RunsEveryIterationOnce) {
  for (const int workers : {0, 1, 3, 100}) {
    std::vector<std::atomic<int>> seen(57);
    parallel_for(seen.size(), workers, [&](std::size_t i) { ++seen[i]; });
    for (const auto& count : seen) EXPECT_EQ(count, 1);
  }
  parallel_for(0, 4, [](std::size_t) { FAIL(); });
}

TEST(ParallelFor, TheFirstErrorEndsTheLoop) {
  std::atomic<int> begun = 0;
  EXPECT_THROW(parallel_for(100000, 4,
                            [&](std::size_t) {
                              ++begun;
                              throw std::runtime_error("stop");
                            }),
               std::runtime_error);
  EXPECT_LE(begun, 8);
}

}  // namespace
}  // namespace counterbeam
