#include "eval/halving.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"

namespace counterbeam {
namespace {

// The answers of contestants to the same problems.
using Records = std::map<std::string, std::vector<QuestionTally>>;

int halvings(int candidates, int finalists) {
  int rounds = 0;
  for (; candidates > finalists; ++rounds) candidates = survivors(candidates, finalists);
  return std::max(rounds, 1);
}

void add_answers(const Heat& heat, const HeatAnswers& answers, Records& records) {
  CB_CHECK(answers.size() == heat.contestants.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    CB_CHECK(answers[i].size() == static_cast<std::size_t>(heat.portion.count));
    auto& record = records[heat.contestants[i]];
    record.insert(record.end(), answers[i].begin(), answers[i].end());
  }
}

// The records of these contestants on the problems that all of them answered.
std::vector<std::vector<QuestionTally>> common(const Records& records,
                                               const std::vector<std::string>& names) {
  std::vector<std::vector<QuestionTally>> result(names.size());
  const std::size_t problems = records.at(names.front()).size();
  for (std::size_t i = 0; i < problems; ++i) {
    const bool all = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return records.at(name)[i].samples > 0;
    });
    for (std::size_t n = 0; all && n < names.size(); ++n)
      result[n].push_back(records.at(names[n])[i]);
  }
  if (result.front().empty())
    failed("there is no problem that every candidate answered, so nothing can be compared");
  return result;
}

std::optional<double> mean_separation(const std::vector<QuestionTally>& answers) {
  double sum = 0, count = 0;
  for (const QuestionTally& answer : answers) {
    if (!answer.separation) continue;
    sum += *answer.separation;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

// The contestants, candidates first and best first. The baseline is the first of `others`.
std::vector<Standing> standings_of(const Records& records, std::vector<std::string> candidates,
                                   const std::vector<std::string>& others, int& problems) {
  const std::size_t count = candidates.size();
  std::vector<std::string> names = std::move(candidates);
  names.insert(names.end(), others.begin(), others.end());
  const auto answers = common(records, names);
  problems = static_cast<int>(answers.front().size());
  std::vector<Standing> standings;
  for (std::size_t i = 0; i < names.size(); ++i)
    standings.push_back({names[i], accuracy(answers[i]), mean_separation(answers[i]),
                         paired_test(answers[count], answers[i]), i < count, false});
  // Rounded, so that sums in another order do not break ties.
  const auto key = [](const Standing& standing) {
    constexpr double kSteps = 1e9;
    return std::pair(std::llround(-kSteps * standing.accuracy.mean),
                     std::llround(-kSteps * standing.separation.value_or(0)));
  };
  std::stable_sort(standings.begin(), standings.begin() + static_cast<std::ptrdiff_t>(count),
                   [&](const Standing& a, const Standing& b) { return key(a) < key(b); });
  return standings;
}

std::vector<std::string> with(std::vector<std::string> names,
                              const std::vector<std::string>& others) {
  names.insert(names.end(), others.begin(), others.end());
  return names;
}

std::vector<Claim> claims_of(const Contest& contest, const Records& records,
                             const std::vector<std::string>& finalists) {
  std::vector<Claim> claims;
  for (const std::string& name : finalists)
    for (const std::string& against : {contest.baseline, contest.standard}) {
      if (against.empty() || against == name) continue;
      const auto answers = common(records, {name, against});
      claims.push_back({name, against, accuracy(answers[0]), accuracy(answers[1]),
                        paired_test(answers[1], answers[0]), 1, false,
                        static_cast<int>(answers[0].size())});
    }
  std::vector<double> p_values;
  for (const Claim& claim : claims) p_values.push_back(claim.test.p_value);
  const std::vector<double> corrected = holm_corrected(p_values);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    claims[i].corrected = corrected[i];
    claims[i].holds = claims[i].test.difference > 0 && corrected[i] < contest.level;
  }
  return claims;
}

class Run {
 public:
  Run(const Contest& contest, const ContestHooks& hooks) : contest_(contest), hooks_(hooks) {
    others_ = {contest.baseline};
    if (!contest.control.empty()) others_.push_back(contest.control);
  }

  ContestResult run() {
    std::vector<std::string> alive = contest_.candidates;
    const std::vector<Portion> portions = rounds_of(contest_);
    for (std::size_t i = 0; i < portions.size(); ++i)
      alive = round(static_cast<int>(i) + 1, portions[i], std::move(alive));
    result_.finalists = std::move(alive);
    confirm();
    return std::move(result_);
  }

 private:
  // Returns the candidates that go on, best first.
  std::vector<std::string> round(int number, Portion portion, std::vector<std::string> alive) {
    ask({number, portion, true, with(alive, others_)}, dev_);
    if (number == 1 && hooks_.newcomers) {
      const std::vector<std::string> added = hooks_.newcomers(standings(portion, alive));
      CB_CHECK(added.size() <= static_cast<std::size_t>(contest_.newcomers));
      if (!added.empty()) ask({number, portion, true, added}, dev_);
      alive = with(std::move(alive), added);
    }
    RoundResult result = standings(portion, alive);
    const int count = static_cast<int>(alive.size());
    const int kept = std::min(count, survivors(count, contest_.finalists));
    alive.clear();
    for (Standing& standing : result.standings) {
      standing.kept = !standing.candidate || static_cast<int>(alive.size()) < kept;
      if (standing.candidate && standing.kept) alive.push_back(standing.name);
    }
    if (hooks_.on_round) hooks_.on_round(result);
    result_.rounds.push_back(std::move(result));
    return alive;
  }

  void confirm() {
    const Portion portion = result_.confirmation = confirmation_of(contest_);
    std::vector<std::string> others = {contest_.baseline};
    const auto& finalists = result_.finalists;
    if (!contest_.standard.empty() &&
        std::find(finalists.begin(), finalists.end(), contest_.standard) == finalists.end())
      others.push_back(contest_.standard);
    Records records, again;
    int problems = 0;
    ask({0, portion, false, with(finalists, others)}, records);
    result_.claims = claims_of(contest_, records, finalists);
    result_.confirmed = standings_of(records, finalists, others, problems);
    ask({0, portion, true, with(finalists, {contest_.baseline})}, again);
    result_.screened_again = standings_of(again, finalists, {contest_.baseline}, problems);
    for (const std::string& name : finalists)
      for (const Claim& claim : result_.claims) {
        if (claim.name != name || !claim.holds) continue;
        if (claim.against == contest_.baseline && !result_.winner) result_.winner = name;
        if (claim.against == contest_.standard && result_.winner == name)
          result_.better_than_standard = true;
      }
  }

  void ask(const Heat& heat, Records& records) const {
    add_answers(heat, hooks_.answer(heat), records);
  }

  RoundResult standings(Portion portion, const std::vector<std::string>& alive) const {
    RoundResult result{portion, 0, {}};
    result.standings = standings_of(dev_, alive, others_, result.problems);
    return result;
  }

  const Contest& contest_;
  const ContestHooks& hooks_;
  std::vector<std::string> others_;  // the baseline, then the control
  Records dev_;                      // of everyone who has answered all rounds so far
  ContestResult result_;
};

}  // namespace

int survivors(int candidates, int finalists) {
  return std::max(finalists, (candidates + 1) / 2);
}

std::vector<Portion> rounds_of(const Contest& contest) {
  const int candidates = static_cast<int>(contest.candidates.size()) + contest.newcomers;
  const int rounds = halvings(candidates, contest.finalists);
  if (contest.dev < 1 << (rounds - 1))
    bad_input(
        "{} candidates are halved in {} rounds, which need at least {} development problems, "
        "not {}",
        candidates, rounds, 1 << (rounds - 1), contest.dev);
  std::vector<Portion> portions;
  int seen = 0;
  for (int round = 1; round <= rounds; ++round) {
    const int end = contest.dev >> (rounds - round);
    portions.push_back({seen, end - seen});
    seen = end;
  }
  return portions;
}

Portion confirmation_of(const Contest& contest) {
  return {contest.dev, contest.confirm};
}

int fewest_to_confirm(const Contest& contest) {
  // All problems on one side: a two-sided p-value of 2 / 2^n, corrected for the most claims.
  const int claims = contest.finalists * (contest.standard.empty() ? 1 : 2);
  int problems = 1;
  for (double p = 1; p * claims >= contest.level; p /= 2) ++problems;
  return problems;
}

ContestResult run_contest(const Contest& contest, const ContestHooks& hooks) {
  CB_CHECK(!contest.candidates.empty() && contest.finalists >= 1);
  return Run(contest, hooks).run();
}

}  // namespace counterbeam
