// The diagnosis of context pairs on a task: everything that is computed from the probed questions,
// as numbers. diagnosis_json.cpp, diagnosis_table.cpp and diagnosis_page.cpp show it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "diagnose/future_correction.h"
#include "diagnose/rewards.h"
#include "diagnose/separation.h"
#include "eval/summary.h"
#include "search/contexts.h"

namespace counterbeam {

// Choosing the answer with the highest number.
struct RankedChoice {
  std::vector<double> best_of;  // k = 1, 2, ...: the accuracy of the best of k samples
  // With all samples, against choosing by likelihood.
  PairedTest gain;
};

// The score s at one strength.
struct ScoreDiagnosis {
  double steer = 0;
  Separation separation;
  // Mean over questions of AUC(s) - AUC(likelihood); without questions all 0.
  Interval over_likelihood;
  RankedChoice choice;
};

// With the first `block` blocks of every answer only.
struct BlockSeparation {
  int block = 0;
  int tokens = 0;
  Separation reward, likelihood;
};

enum class PairEffect {
  Helps,       // the reward separates, and with it the score does better than likelihood
  Separates,   // the reward separates, but the score is not shown to do better
  Harms,       // the reward prefers wrong answers, and with it the score does worse
  Opposes,     // the reward prefers wrong answers, but the score is not shown to do worse
  NoEvidence,  // the interval contains 0.5 and excludes a useful AUC
  Unclear,     // too few questions to tell
};
std::string_view to_string(PairEffect effect);  // "helps", "no-evidence", ...

struct PairVerdict {
  PairEffect effect = PairEffect::Unclear;
  std::string sentence;
};

struct PairDiagnosis {
  ContextPair pair;
  RewardDistribution rewards;
  RewardedTokens tokens;
  DivergencePair divergence;
  double right_reward = 0, wrong_reward = 0;  // mean R/|a| of right and of wrong answers
  Separation reward;                          // of R/|a|
  std::vector<ScoreDiagnosis> scores;         // per strength
  std::vector<BlockSeparation> blocks;
  std::vector<FutureSummary> futures;
  PairVerdict verdict;
  std::vector<double> right_rewards{}, wrong_rewards{};  // R/|a| of every answer, for charts
};

struct TaskDiagnosis {
  std::string task;
  int questions = 0, samples = 0;  // samples: per question
  int mixed = 0;                   // questions with right and with wrong answers
  Interval accuracy;
  double answer_tokens = 0, truncated = 0;  // mean, share
  int longest = 0;                          // tokens of the longest answer or rollout
  Separation likelihood;                    // of the mean log-likelihood
  RankedChoice likelihood_choice;
  std::vector<PairDiagnosis> pairs;
  std::vector<Failure> failures;  // samples: questions that failed
};

struct DiagnosisSettings {
  std::vector<ContextPair> pairs;
  std::vector<double> steers;
  ProbeSettings probe;
};

// REQUIRES: at least one question, each with settings.probe.samples graded answers.
TaskDiagnosis diagnose_task(const std::string& task, std::span<const ProbedQuestion> questions,
                            const DiagnosisSettings& settings, const TokenTexts& texts);

// What the intervals say about a pair, in a sentence.
PairVerdict verdict_of(const PairDiagnosis& pair);

// The numbers of blocks that are shown, out of `blocks`: all small ones, then fewer and fewer.
std::vector<int> shown_blocks(int blocks);

Json to_json(const TaskDiagnosis& diagnosis);

// For the terminal.
std::string to_table(const TaskDiagnosis& diagnosis);

// "0.81 (0.77 to 0.85)"; "-" without a value, and no ends where they are not finite.
std::string interval_text(const Interval& interval, int digits = 3);
std::string interval_text(const std::optional<Interval>& interval, int digits = 3);
// With as many digits as give half of its width two significant ones.
std::string fine_interval_text(const Interval& interval);

}  // namespace counterbeam
