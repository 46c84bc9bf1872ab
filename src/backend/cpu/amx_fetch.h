// Software prefetch for attention on AMX.
#pragma once

#include "backend/cpu/kernels.h"

namespace counterbeam {

// Prefetches the keys and values of a job in the order of their use, then those of the next job, a
// few cache lines at a time between tile instructions. The first kAhead bytes of a job are
// prefetched by the job before it.
class AmxFetch {
 public:
  static constexpr int kAhead = 1 << 17;

  // `rows`: of all sequences. ask() is called once per row in every step of the softmax, and once
  // per two tiles of keys or values.
  AmxFetch(const AttentionJob& job, int rows) : job_(&job) {
    // Only decoding reads its pages from memory; the rows of a prefill find them in the cache.
    if (job.heads[0].tokens > 1) return;
    const int tiles = round_up(job.heads[0].width, kPanel) / kPanel;
    page_bytes_ = static_cast<int>(2 * job.heads[0].half_bytes);
    restart();
    const int pages = pages_of(job), ahead = kAhead / page_bytes_;
    skip_ = ahead < pages ? ahead : pages;
    left_ = !job.next ? 0 : ahead < pages_of(*job.next) ? ahead : pages_of(*job.next);
    const int steps = (job.heads[0].last_page() - step_) / AttentionHead::kStepPages + 1;
    const int turns = steps * rows + 2 * tiles * pages;
    lines_ = (pages - skip_ + left_) * page_bytes_ / 64 / turns + 1;
  }

  void ask() {
    for (int line = 0; line < lines_; ++line, at_ += 64) {
      if (at_ == end_ && !turn()) return;
      __builtin_prefetch(at_, 0, 2);
    }
  }

 private:
  static int pages_of(const AttentionJob& job) {
    int pages = -job.heads[0].first_step();
    for (int m = 0; m < job.count; ++m) pages += job.heads[m].last_page() - (m ? job.shared : 0);
    return pages;
  }
  void restart() {
    step_ = page_ = job_->heads[0].first_step();
    member_ = 0;
  }

  // Moves to the next page; false if there is none left to prefetch.
  bool turn() {
    while (job_) {
      const AttentionHead& head = job_->heads[member_];
      if (page_ < step_ + AttentionHead::kStepPages && page_ < head.last_page()) {
        at_ = head.page(page_++);
        end_ = at_ + page_bytes_;
        if (!following_ && skip_ > 0) {
          --skip_;
        } else if (!following_ || left_-- > 0) {
          return true;
        } else {
          job_ = nullptr;
        }
      } else {
        next_member();
      }
    }
    at_ = end_;
    return false;
  }
  void next_member() {
    if (++member_ == job_->count) {
      member_ = 0;
      step_ += AttentionHead::kStepPages;
      bool more = false;
      for (int m = 0; m < job_->count; ++m) more |= step_ < job_->heads[m].last_page();
      if (!more) {
        job_ = following_ ? nullptr : job_->next;
        following_ = true;
        if (job_) restart();
        return;
      }
    }
    page_ = member_ > 0 && step_ < job_->shared ? job_->shared : step_;
  }

  const AttentionJob* job_;
  int page_bytes_ = 0, lines_ = 0;
  int skip_ = 0, left_ = 0;  // pages of this job already prefetched, and of the next job to do
  int step_ = 0, member_ = 0, page_ = 0;
  bool following_ = false;
  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
};

}  // namespace counterbeam
