// The verdict on a pair. The intervals decide, never the means: a pair is said to help or to harm
// only if the interval of its reward's AUC excludes 0.5 and that of the score's difference to
// likelihood excludes 0.
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

// The strength whose score is farthest above likelihood (sign 1) or below it (-1); null unless one
// surely is.
const ScoreDiagnosis* farthest(const std::vector<ScoreDiagnosis>& scores, int sign) {
  const ScoreDiagnosis* best = nullptr;
  for (const ScoreDiagnosis& score : scores) {
    const Interval& over = score.over_likelihood;
    if ((sign > 0 ? over.low : -over.high) > 0 &&
        (!best || sign * over.mean > sign * best->over_likelihood.mean))
      best = &score;
  }
  return best;
}

std::string difference_text(const Interval& difference) {
  return fmt::format("{:+.2f}, {:+.2f} to {:+.2f}", difference.mean, difference.low,
                     difference.high);
}

PairVerdict verdict_above(const PairDiagnosis& pair, const Interval& auc) {
  const std::string separates =
      fmt::format("the reward separates right from wrong within questions ({})", auc_text(auc));
  if (const ScoreDiagnosis* best = farthest(pair.scores, 1))
    return {PairEffect::Helps,
            fmt::format("{}, and at steer {} the score does so better than likelihood alone ({}): "
                        "expect a gain",
                        separates, best->steer, difference_text(best->over_likelihood))};
  return {PairEffect::Separates,
          fmt::format("{}, but at these strengths the score is not shown to do so better than "
                      "likelihood alone: a gain is possible, not shown",
                      separates)};
}

PairVerdict verdict_below(const PairDiagnosis& pair, const Interval& auc) {
  const std::string prefers =
      fmt::format("the reward prefers wrong answers within questions ({})", auc_text(auc));
  if (const ScoreDiagnosis* worst = farthest(pair.scores, -1))
    return {PairEffect::Harms,
            fmt::format("{}, and at steer {} the score does worse than likelihood alone ({}): "
                        "expect a loss",
                        prefers, worst->steer, difference_text(worst->over_likelihood))};
  return {PairEffect::Opposes,
          fmt::format("{}, but at these strengths the score is not shown to do worse than "
                      "likelihood alone: a loss is possible, not shown",
                      prefers)};
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
  if (auc.low > 0.5) return verdict_above(pair, auc);
  if (auc.high < 0.5) return verdict_below(pair, auc);
  if (auc.high < kUseful)
    return {PairEffect::NoEvidence,
            fmt::format("no evidence that this pair helps ({})", auc_text(auc))};
  return {PairEffect::Unclear,
          fmt::format("{} questions with both right and wrong answers do not tell whether this "
                      "pair helps ({}); raise --limit or --samples",
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
    case PairEffect::Opposes:
      return "opposes";
    case PairEffect::NoEvidence:
      return "no-evidence";
    case PairEffect::Unclear:
      return "unclear";
  }
  CB_CHECK(false);
}

}  // namespace counterbeam
