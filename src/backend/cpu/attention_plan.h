// Groups the rows of a pass into attention jobs. Sequences with a shared prefix (beams forked from
// one) are sorted next to each other. If the kernel takes several rows at once, they form one job,
// which loads the shared pages once. Grouping changes no result.
#pragma once

#include <span>
#include <vector>

#include "backend/ops.h"

namespace counterbeam {

// The sequences of a batch, sorted by their pages.
class PageOrder {
 public:
  struct Place {
    const Segment* segment;
    int common;  // leading pages shared with the place before
  };

  PageOrder() = default;
  explicit PageOrder(std::span<const Segment> segments);
  std::span<const Place> places() const { return places_; }

 private:
  std::vector<Place> places_;
};

// Consecutive rows of one sequence.
struct AttentionRun {
  int row;
  int tokens;
  int position;  // of the first row
};

// Runs [first, first + count) of a plan.
struct AttentionGroup {
  int first;
  int count;
  int shared;  // leading pages that all runs share and whose every token they all see
};

struct AttentionPlan {
  std::vector<AttentionRun> runs;
  std::vector<AttentionGroup> groups;
};

struct AttentionLimits {
  int rows;       // of a job: tokens times query heads
  int sequences;  // of a job
  int group;      // query heads per key head
  int window;     // > 0: how far back a token sees, itself included
};

AttentionPlan plan_attention(const PageOrder& order, const AttentionLimits& limits);

}  // namespace counterbeam
