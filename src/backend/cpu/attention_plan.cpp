#include "backend/cpu/attention_plan.h"

#include <algorithm>

#include "backend/cpu/kernels.h"

namespace counterbeam {
namespace {

constexpr int kTileRows = 16;  // the most rows per sequence in a job with several

int first_step(const AttentionRun& run, int window) {
  AttentionHead head;
  head.position = run.position;
  head.window = window;
  return head.first_step();
}

// Pages of which the first token, and so every token of the run, sees all keys.
int pages_seen(const AttentionRun& run) {
  return (run.position + 1) / kPanel;
}

// Whether adding a sequence that shares `common` pages makes one job read fewer pages than two jobs
// would. The job's `count` sequences share `shared` pages; each page that is no longer shared is
// read `count` times instead of once.
bool worthwhile(int count, int shared, int common) {
  return count == 1 || count * common > (count - 1) * shared;
}

}  // namespace

PageOrder::PageOrder(std::span<const Segment> segments) {
  for (const Segment& segment : segments) places_.push_back({&segment, 0});
  const auto before = [](const Place& a, const Place& b) {
    return std::lexicographical_compare(a.segment->pages.begin(), a.segment->pages.end(),
                                        b.segment->pages.begin(), b.segment->pages.end());
  };
  std::stable_sort(places_.begin(), places_.end(), before);
  for (std::size_t i = 1; i < places_.size(); ++i) {
    const auto& a = places_[i - 1].segment->pages;
    const auto& b = places_[i].segment->pages;
    const auto [end, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    places_[i].common = static_cast<int>(end - a.begin());
  }
}

AttentionPlan plan_attention(const PageOrder& order, const AttentionLimits& limits) {
  const int most = std::max(1, limits.rows / limits.group);
  const int together = limits.group <= kTileRows ? std::min(most, limits.sequences) : 1;
  AttentionPlan plan;
  // Adds a run of one token to the last group if that is allowed and worthwhile.
  const auto joins = [&](const AttentionRun& run, int common) {
    if (plan.groups.empty() || run.tokens > 1) return false;
    AttentionGroup& group = plan.groups.back();
    const AttentionRun& first = plan.runs[group.first];
    const int shared = std::min({group.shared, common, pages_seen(run)});
    const int step = first_step(run, limits.window);
    if (first.tokens > 1 || group.count >= together || shared <= step ||
        step != first_step(first, limits.window) ||
        !worthwhile(group.count, group.shared - step, shared - step)) {
      return false;
    }
    ++group.count;
    group.shared = shared;
    return true;
  };
  for (const auto& [segment, common] : order.places()) {
    for (int i = 0; i < segment->rows; i += most) {
      const AttentionRun run{segment->first_row + i, std::min(most, segment->rows - i),
                             segment->position + i};
      if (i > 0 || !joins(run, common))
        plan.groups.push_back({static_cast<int>(plan.runs.size()), 1, pages_seen(run)});
      plan.runs.push_back(run);
    }
  }
  return plan;
}

}  // namespace counterbeam
