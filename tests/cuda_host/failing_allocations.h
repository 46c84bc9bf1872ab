// Lets allocations of the host fail, those of the simulated device excepted.
#pragma once

namespace counterbeam::testing {

// From now on, `count` calls of operator new fail, starting with the call number `first`.
void fail_allocations(int first, int count);
// How many calls there were since then.
int allocations();

// While one lives, allocations of this thread neither count nor fail.
class UncountedAllocations {
 public:
  UncountedAllocations();
  ~UncountedAllocations();
  UncountedAllocations(const UncountedAllocations&) = delete;
  UncountedAllocations& operator=(const UncountedAllocations&) = delete;
};

}  // namespace counterbeam::testing
