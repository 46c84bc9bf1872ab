// A loop whose iterations run on several threads at once.
#pragma once

#include <cstddef>
#include <functional>

namespace counterbeam {

// Calls work(i) for every i below `count` on at most `workers` threads, each of which takes the
// next i. After an exception no further i is started; the first one is rethrown once all threads
// have stopped. Throws Failed if the system does not give the threads.
void parallel_for(std::size_t count, int workers, const std::function<void(std::size_t)>& work);

}  // namespace counterbeam
