// Which rows of a pass attend together. Sequences that begin with the same pages (beams forked from
// one) stand side by side, and where the kernel takes several rows at once they share a job, so
// that those pages are loaded once. How rows are grouped changes no result.
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
    int common;  // pages at the beginning that are those of the segment before
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
  int position;  // of the first of them
};

// Runs [first, first + count) of a plan.
struct AttentionGroup {
  int first;
  int count;
  int shared;  // pages that all of them begin with, and see to their end
};

struct AttentionPlan {
  std::vector<AttentionRun> runs;
  std::vector<AttentionGroup> groups;
};

struct AttentionLimits {
  int rows;       // tokens times query heads that one job takes
  int sequences;  // that one job takes
  int group;      // query heads of a key head
  int window;     // > 0: how far back a token sees, itself included
};

AttentionPlan plan_attention(const PageOrder& order, const AttentionLimits& limits);

}  // namespace counterbeam
