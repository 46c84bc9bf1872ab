// Times every operation of a back end that computes in the calling thread (CPU). All calls are
// passed on unchanged, so results are the same bits. Not used without --profile.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backend/ops.h"

namespace counterbeam {

// What operations of one kind took, summed up.
struct OperationTimes {
  std::int64_t calls = 0;
  double seconds = 0;       // of the caller
  double weight_bytes = 0;  // read at least once per call
  std::int64_t loops = 0;   // shared with other threads
  double loop_seconds = 0;  // of the caller; the rest of `seconds` ran on the caller alone
  double busy_seconds = 0;  // of all threads, inside those loops
  double late_seconds = 0;  // of all threads, before they joined a loop
  std::int64_t joined = 0;  // threads that joined a loop
};

struct OperationProfile {
  std::map<std::string, OperationTimes> operations;  // a product's name includes its shape
  int threads = 1;
  void clear() { operations.clear(); }
};

// Adds to `profile`, which must outlive the result.
std::unique_ptr<Ops> make_profiled_ops(std::unique_ptr<Ops> ops, OperationProfile& profile);

}  // namespace counterbeam
