// Ids 0 .. size-1 with reference counts and a free list. Invariant: an id is on the free list
// exactly when its count is zero.
#pragma once

#include <cstddef>
#include <vector>

#include "base/error.h"

namespace counterbeam {

template <typename Id>
class RefCounts {
 public:
  explicit RefCounts(int size) : counts_(static_cast<std::size_t>(size), 0) {
    free_.reserve(counts_.size());
    for (int i = size; i-- > 0;) free_.push_back(static_cast<Id>(i));
  }

  int size() const { return static_cast<int>(counts_.size()); }
  int free() const { return static_cast<int>(free_.size()); }
  int used() const { return size() - free(); }
  int peak() const { return peak_; }
  int holders(Id id) const { return counts_[index(id)]; }

  // Returns an id with a count of one. REQUIRES: free() > 0
  Id acquire() {
    CB_CHECK(!free_.empty());
    const Id id = free_.back();
    free_.pop_back();
    counts_[index(id)] = 1;
    peak_ = used() > peak_ ? used() : peak_;
    return id;
  }

  void retain(Id id) {
    CB_CHECK(counts_[index(id)] > 0);
    ++counts_[index(id)];
  }

  void release(Id id) {
    CB_CHECK(counts_[index(id)] > 0);
    if (--counts_[index(id)] == 0) free_.push_back(id);
  }

 private:
  static std::size_t index(Id id) { return static_cast<std::size_t>(id); }

  std::vector<int> counts_;
  std::vector<Id> free_;
  int peak_ = 0;
};

}  // namespace counterbeam
