// What a job of attention on AMX reads, asked of memory ahead of its use.
#pragma once

#include "backend/cpu/kernels.h"

namespace counterbeam {

// The keys and values of a job in the order of their use, then those of the job that follows, a few
// lines at a time. The first kAhead bytes of a job are asked for by the one before it.
class AmxFetch {
 public:
  static constexpr int kAhead = 1 << 18;

  // `turns`: how often ask() will be called, about.
  AmxFetch(const AttentionJob& job, int turns) : job_(&job) {
    page_bytes_ = 2 * round_up(job.heads[0].width, kPanel) * kPanel * 2;
    restart();
    int pages = 0;
    for (int m = 0; m < job.count; ++m)
      pages += job.heads[m].last_page() - (m > 0 ? job.shared : step_);
    skip_ = kAhead / page_bytes_;
    const int left = pages > skip_ ? pages - skip_ : 0;
    lines_ = (left + skip_) * page_bytes_ / 64 / (turns + 1) + 1;
  }

  void ask() {
    for (int line = 0; line < lines_; ++line, at_ += 64) {
      if (at_ == end_ && !turn()) return;
      __builtin_prefetch(at_, 0, 2);
    }
  }

 private:
  void restart() {
    step_ = page_ = job_->heads[0].first_step();
    member_ = 0;
  }

  // To the next page; false where there is none to ask for.
  bool turn() {
    while (job_) {
      const AttentionHead& head = job_->heads[member_];
      if (page_ < step_ + AttentionHead::kStepPages && page_ < head.last_page()) {
        at_ = head.page(page_++);
        end_ = at_ + page_bytes_;
        if (!following_ && skip_ > 0) {
          --skip_;
        } else if (!following_ || asked_++ < kAhead / page_bytes_) {
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
  int page_bytes_, lines_, skip_;
  int step_, member_, page_, asked_ = 0;
  bool following_ = false;
  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
};

}  // namespace counterbeam
