// A search for the best of several candidates on problems, independent of what candidates are and
// how they answer. Successive halving on development problems chooses finalists; whether a finalist
// is better than the baseline is tested on other problems, which it was not chosen on, and
// corrected for the number of tests made there. Deterministic for the answers it is given.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "eval/statistics.h"

namespace counterbeam {

struct Contest {
  std::vector<std::string> candidates;  // on ties the earlier one is ahead
  std::string baseline;                 // what a winner must be better than; never crowned
  std::string control{};                // takes part in every round, never crowned; empty: none
  std::string standard{};               // the default that a winner is compared with too
  int dev = 0;                          // problems 0 to dev - 1 choose
  int confirm = 0;                      // the next ones confirm
  int finalists = 1;
  int newcomers = 0;    // candidates that may enter in the first round
  double level = 0.05;  // of all tests of the confirmation together
};

// Problems `first` to `first + count - 1`.
struct Portion {
  int first = 0;
  int count = 0;
};

// The development problems by round. Portions are disjoint and do not shrink, and the number of
// problems seen so far doubles from round to round, while the candidates halve. Error where there
// are fewer problems than the rounds need.
std::vector<Portion> rounds_of(const Contest& contest);
// After the last development problem.
Portion confirmation_of(const Contest& contest);

// The fewest problems on which a claim can hold at all, if the candidate is better on every one.
int fewest_to_confirm(const Contest& contest);

// Who goes on: half of the candidates, rounded up, and at least the finalists.
int survivors(int candidates, int finalists);

// One set of answers that is asked for: who answers which problems.
struct Heat {
  int round = 0;          // from 1; 0: the confirmation
  Portion portion;        //
  bool screening = true;  // with the method of the rounds; otherwise with that of the confirmation
  std::vector<std::string> contestants;
};
// [contestant][problem of the portion]; `samples` is 0 where a problem failed.
using HeatAnswers = std::vector<std::vector<QuestionTally>>;

// A contestant on the development problems so far, or on those of the confirmation.
struct Standing {
  std::string name;
  Interval accuracy;
  std::optional<double> separation;  // mean over the problems that have one
  PairedTest gain;                   // against the baseline
  bool candidate = false;            // not the baseline or the control
  bool kept = false;                 // goes on to the next round, or is a finalist
};

struct RoundResult {
  Portion portion;
  int problems = 0;  // of all rounds so far that every contestant answered
  // Candidates first, by accuracy; those that are equally often right by their separation.
  std::vector<Standing> standings;
};

// "name is better than against", tested on the confirmation problems.
struct Claim {
  std::string name, against;
  Interval own, other;
  PairedTest test;
  double corrected = 1;  // p-value after Holm's correction over all claims
  bool holds = false;    // better, and below the level after the correction
  int problems = 0;      // that both answered
};

struct ContestResult {
  std::vector<RoundResult> rounds;
  std::vector<std::string> finalists;    // best first
  Portion confirmation;                  //
  std::vector<Claim> claims;             // per finalist: against the baseline, then the standard
  std::vector<Standing> confirmed;       // who answered the confirmation problems
  std::vector<Standing> screened_again;  // the finalists there with the method of the rounds
  std::optional<std::string> winner;     // the first finalist that is better than the baseline
  bool better_than_standard = false;     // the winner is
};

struct ContestHooks {
  std::function<HeatAnswers(const Heat&)> answer;
  // After the first round, before anyone is dropped: candidates that enter there, at most
  // Contest::newcomers. They answer the first portion too. Empty: none.
  std::function<std::vector<std::string>(const RoundResult&)> newcomers{};
  std::function<void(const RoundResult&)> on_round{};  // after who goes on is decided
};

// Runs the rounds and the confirmation. Problems that a contestant failed on are left out for all
// of the heat. Throws Failed where no problem is left. REQUIRES at least one candidate, and
// contestants of different names.
ContestResult run_contest(const Contest& contest, const ContestHooks& hooks);

}  // namespace counterbeam
