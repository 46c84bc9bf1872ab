// The verdict on a pair. The intervals decide, never the means: a pair is said to help or to harm
// only if the interval of its AUC excludes 0.5.
#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "diagnose/diagnosis.h"

namespace counterbeam {
namespace {

constexpr int kFewest = 10;      // questions with right and wrong answers
constexpr double kUseful = 0.6;  // an AUC that an interval must exclude to say "no evidence"

std::string auc_text(const Interval& auc) {
  return fmt::format("AUC {:.2f}, {:.2f} to {:.2f}", auc.mean, auc.low, auc.high);
}

// The strength whose score does best; null unless one is surely better than likelihood.
const ScoreDiagnosis* best_gain(const std::vector<ScoreDiagnosis>& scores) {
  const ScoreDiagnosis* best = nullptr;
  for (const ScoreDiagnosis& score : scores)
    if (score.over_likelihood.low > 0 &&
        (!best || score.over_likelihood.mean > best->over_likelihood.mean))
      best = &score;
  return best;
}

}  // namespace

PairVerdict verdict_of(const PairDiagnosis& pair) {
  const Separation& reward = pair.reward;
  if (!reward.within || reward.questions < kFewest)
    return {PairEffect::Unclear,
            fmt::format("too few questions with both right and wrong answers ({}) to tell; raise "
                        "--limit or --samples",
                        reward.questions)};
  const Interval& auc = *reward.within;
  if (auc.low > 0.5) {
    if (const ScoreDiagnosis* best = best_gain(pair.scores))
      return {PairEffect::Helps,
              fmt::format("the reward separates right from wrong within questions ({}), and at "
                          "steer {} the score does so better than likelihood alone ({:+.2f}, "
                          "{:+.2f} to {:+.2f}): expect a gain",
                          auc_text(auc), best->steer, best->over_likelihood.mean,
                          best->over_likelihood.low, best->over_likelihood.high)};
    return {PairEffect::Separates,
            fmt::format("the reward separates right from wrong within questions ({}), but at these "
                        "strengths the score is not shown to do so better than likelihood alone: "
                        "a gain is possible, not shown",
                        auc_text(auc))};
  }
  if (auc.high < 0.5)
    return {PairEffect::Harms,
            fmt::format("the reward prefers wrong answers within questions ({}): expect a loss",
                        auc_text(auc))};
  if (auc.high < kUseful)
    return {PairEffect::NoEvidence,
            fmt::format("no evidence that this pair helps ({})", auc_text(auc))};
  return {
      PairEffect::Unclear,
      fmt::format("{} questions with both right and wrong answers do not tell whether this pair "
                  "helps ({}); raise --limit or --samples",
                  reward.questions, auc_text(auc))};
}

std::string_view to_string(PairEffect effect) {
  switch (effect) {
    case PairEffect::Helps:
      return "helps";
    case PairEffect::Separates:
      return "separates";
    case PairEffect::Harms:
      return "harms";
    case PairEffect::NoEvidence:
      return "no-evidence";
    case PairEffect::Unclear:
      return "unclear";
  }
  CB_CHECK(false);
}

}  // namespace counterbeam
