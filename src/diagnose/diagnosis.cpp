#include "diagnose/diagnosis.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace counterbeam {
namespace {

using AnswerScore = std::function<double(const ProbedAnswer&)>;

// The sum over the first tokens of an answer, divided by their number.
double mean_of_first(std::span<const float> values, std::size_t limit) {
  const std::span<const float> first = values.first(std::min(limit, values.size()));
  return sum_of(first) / static_cast<double>(first.size());
}

constexpr std::size_t kWhole = static_cast<std::size_t>(-1);

double mean_likelihood(const ProbedAnswer& answer, std::size_t limit = kWhole) {
  return mean_of_first(answer.base, limit);
}

double mean_reward(const ProbedAnswer& answer, std::size_t pair, std::size_t limit = kWhole) {
  return mean_of_first(answer.pairs[pair].positive, limit) -
         mean_of_first(answer.pairs[pair].negative, limit);
}

std::vector<ScoredAnswers> scored(std::span<const ProbedQuestion> questions,
                                  const AnswerScore& score) {
  std::vector<ScoredAnswers> result;
  for (const ProbedQuestion& question : questions) {
    ScoredAnswers& answers = result.emplace_back();
    for (const ProbedAnswer& answer : question.answers)
      answers.push_back({score(answer), answer.correct});
  }
  return result;
}

// Whether the best of all samples is right, per question.
std::vector<QuestionTally> best_are_right(std::span<const ScoredAnswers> questions) {
  std::vector<QuestionTally> tallies;
  for (const ScoredAnswers& answers : questions) {
    const auto best = std::max_element(
        answers.begin(), answers.end(),
        [](const ScoredSample& a, const ScoredSample& b) { return a.score < b.score; });
    tallies.push_back({best->correct, 1});
  }
  return tallies;
}

RankedChoice choice_by(std::span<const ScoredAnswers> questions,
                       std::span<const ScoredAnswers> by_likelihood) {
  RankedChoice choice;
  for (int k = 1; k <= static_cast<int>(questions.front().size()); ++k)
    if (const auto accuracy = best_of_k(questions, k)) choice.best_of.push_back(*accuracy);
  choice.gain = paired_test(best_are_right(by_likelihood), best_are_right(questions));
  return choice;
}

Interval auc_difference(std::span<const ScoredAnswers> questions,
                        std::span<const ScoredAnswers> others) {
  const std::vector<double> a = question_aucs(others), b = question_aucs(questions);
  if (a.empty()) return {};
  std::vector<ClusterSum> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back({b[i] - a[i], 1});
  return clustered_mean(differences);
}

int longest_of(std::span<const ProbedQuestion> questions) {
  std::size_t longest = 0;
  for (const ProbedQuestion& question : questions) {
    for (const ProbedAnswer& answer : question.answers)
      longest = std::max(longest, answer.tokens.size());
    for (const ScoringPoint& point : question.points)
      for (const ProbedFuture& sibling : point.siblings)
        for (const int tokens : sibling.tokens)
          longest = std::max(longest, static_cast<std::size_t>(point.tokens + tokens));
  }
  return static_cast<int>(longest);
}

std::vector<BlockSeparation> block_separations(std::span<const ProbedQuestion> questions,
                                               std::size_t pair, int block) {
  std::size_t longest = 0;
  for (const ProbedQuestion& question : questions)
    for (const ProbedAnswer& answer : question.answers)
      longest = std::max(longest, answer.tokens.size());
  std::vector<BlockSeparation> result;
  for (const int b : shown_blocks((static_cast<int>(longest) + block - 1) / block)) {
    const auto limit = static_cast<std::size_t>(b * block);
    result.push_back({b, b * block,
                      separation(scored(questions,
                                        [&](const ProbedAnswer& answer) {
                                          return mean_reward(answer, pair, limit);
                                        })),
                      separation(scored(questions, [&](const ProbedAnswer& answer) {
                        return mean_likelihood(answer, limit);
                      }))});
  }
  return result;
}

PairDiagnosis diagnose_pair(std::span<const ProbedQuestion> questions, std::size_t index,
                            const DiagnosisSettings& settings, const TokenTexts& texts,
                            std::span<const ScoredAnswers> by_likelihood, int longest) {
  constexpr std::size_t kShownTokens = 8;
  PairDiagnosis result;
  result.pair = settings.pairs[index];
  result.rewards = reward_distribution(questions, index);
  result.tokens = rewarded_tokens(questions, index, kShownTokens, texts);
  result.divergence = divergences(questions, index);
  const auto by_reward =
      scored(questions, [&](const ProbedAnswer& answer) { return mean_reward(answer, index); });
  result.reward = separation(by_reward);
  for (const ScoredAnswers& answers : by_reward)
    for (const ScoredSample& answer : answers) {
      (answer.correct ? result.right_reward : result.wrong_reward) += answer.score;
      (answer.correct ? result.right_rewards : result.wrong_rewards).push_back(answer.score);
    }
  result.right_reward /= std::max(1.0, static_cast<double>(result.right_rewards.size()));
  result.wrong_reward /= std::max(1.0, static_cast<double>(result.wrong_rewards.size()));
  for (const double steer : settings.steers) {
    const auto by_score = scored(questions, [&](const ProbedAnswer& answer) {
      return mean_likelihood(answer) + steer * mean_reward(answer, index);
    });
    result.scores.push_back({steer, separation(by_score), auc_difference(by_score, by_likelihood),
                             choice_by(by_score, by_likelihood)});
  }
  result.blocks = block_separations(questions, index, settings.probe.block);
  result.futures = summarise_futures(
      questions, index, settings.steers,
      {settings.probe.block, longest, result.rewards.largest, result.rewards.usual});
  result.verdict = verdict_of(result);
  return result;
}

}  // namespace

std::vector<int> shown_blocks(int blocks) {
  std::vector<int> shown;
  for (int step = 1, b = 1; b < blocks; b += step) {
    shown.push_back(b);
    if (b >= 4 * step) step *= 2;
  }
  if (blocks > 0) shown.push_back(blocks);
  return shown;
}

TaskDiagnosis diagnose_task(const std::string& task, std::span<const ProbedQuestion> questions,
                            const DiagnosisSettings& settings, const TokenTexts& texts) {
  CB_CHECK(!questions.empty());
  TaskDiagnosis result;
  result.task = task;
  result.questions = static_cast<int>(questions.size());
  result.samples = settings.probe.samples;
  std::vector<QuestionTally> tallies;
  double answers = 0;
  for (const ProbedQuestion& question : questions) {
    QuestionTally tally;
    for (const ProbedAnswer& answer : question.answers) {
      tally.correct += answer.correct;
      ++tally.samples;
      answers += 1;
      result.truncated += !answer.ended;
      result.answer_tokens += static_cast<double>(answer.tokens.size());
    }
    result.mixed += tally.correct > 0 && tally.correct < tally.samples;
    tallies.push_back(tally);
  }
  result.accuracy = accuracy(tallies);
  result.truncated /= answers;
  result.answer_tokens /= answers;
  result.longest = longest_of(questions);
  const auto by_likelihood =
      scored(questions, [](const ProbedAnswer& answer) { return mean_likelihood(answer); });
  result.likelihood = separation(by_likelihood);
  result.likelihood_choice = choice_by(by_likelihood, by_likelihood);
  for (std::size_t i = 0; i < settings.pairs.size(); ++i)
    result.pairs.push_back(
        diagnose_pair(questions, i, settings, texts, by_likelihood, result.longest));
  return result;
}

}  // namespace counterbeam
