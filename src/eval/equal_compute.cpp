#include "eval/equal_compute.h"

#include <set>

namespace counterbeam {
namespace {

void offer(EqualCompute& row, double accuracy, const std::string& cheaper,
           const std::string& costlier, double share) {
  if (row.has_rival && accuracy <= row.rival) return;
  row.has_rival = true;
  row.rival = accuracy;
  row.cheaper = cheaper;
  row.costlier = costlier;
  row.costlier_share = share;
}

}  // namespace

std::vector<EqualCompute> equal_compute(const std::vector<CostPoint>& points) {
  std::vector<EqualCompute> rows;
  std::set<std::string> seen;
  for (const CostPoint& own : points) {
    if (!seen.insert(own.method).second) continue;
    EqualCompute& row = rows.emplace_back();
    row.method = own.method;
    row.tokens = own.tokens;
    row.accuracy = own.accuracy;
    for (const CostPoint& low : points) {
      if (low.method == own.method || low.tokens > own.tokens) continue;
      offer(row, low.accuracy, low.name, "", 0);
      for (const CostPoint& high : points) {
        if (high.method == own.method || high.tokens <= own.tokens) continue;
        const double share = (own.tokens - low.tokens) / (high.tokens - low.tokens);
        if (share > 0)
          offer(row, low.accuracy + share * (high.accuracy - low.accuracy), low.name, high.name,
                share);
      }
    }
  }
  return rows;
}

}  // namespace counterbeam
