#include "eval/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace counterbeam {
namespace {

constexpr double kNormal95 = 1.959963984540054;
constexpr int kPermutations = 20000;

double share(const QuestionTally& question) {
  return static_cast<double>(question.correct) / question.samples;
}

Interval wilson(double mean, double count, double z = kNormal95) {
  const double z2 = z * z;
  const double centre = (mean + z2 / (2 * count)) / (1 + z2 / count);
  const double half =
      z / (1 + z2 / count) * std::sqrt(mean * (1 - mean) / count + z2 / (4 * count * count));
  return {mean, std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

// Two-sided exact test: the probability of a split at least as uneven under a fair coin.
double mcnemar(int only_a, int only_b) {
  const int n = only_a + only_b;
  if (n == 0) return 1;
  const int less = std::min(only_a, only_b);
  double tail = 0;
  for (int i = 0; i <= less; ++i)
    tail += std::exp(std::lgamma(n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1.0) -
                     n * std::log(2.0));
  return std::min(1.0, 2 * tail);
}

// A sum as far from 0 as the observed one counts half (mid-p). Counted in full, the few values that
// the sums of few questions can take would make the test too strict.
double sign_flip(std::vector<double> differences) {
  std::erase(differences, 0.0);
  if (differences.empty()) return 1;
  double observed = 0;
  for (double difference : differences) observed += difference;
  double as_extreme = 0.5;            // the observed sum itself
  constexpr std::size_t kBits = 128;  // signs of one random block
  for (std::uint32_t trial = 0; trial < kPermutations; ++trial) {
    double sum = 0;
    for (std::size_t first = 0; first < differences.size(); first += kBits) {
      const Words4 signs = random_words({.question = trial,
                                         .block = static_cast<std::uint32_t>(first),
                                         .use = DrawUse::SignFlips});
      const std::size_t count = std::min(kBits, differences.size() - first);
      for (std::size_t i = 0; i < count; ++i)
        sum += signs[i / 32] >> (i % 32) & 1 ? differences[first + i] : -differences[first + i];
    }
    const double beyond = std::abs(sum) - std::abs(observed);
    as_extreme += beyond > 1e-12 ? 1 : beyond >= -1e-12 ? 0.5 : 0;
  }
  return as_extreme / (kPermutations + 1);
}

// The probability that k of the question's samples hold a correct one.
double pass_share(const QuestionTally& question, int k) {
  if (question.samples - question.correct < k) return 1;
  double all_wrong = 1;
  for (int i = question.samples - question.correct + 1; i <= question.samples; ++i)
    all_wrong *= 1 - static_cast<double>(k) / i;
  return 1 - all_wrong;
}

}  // namespace

// By bisection of the distribution function (Simpson's rule).
double student_95(double freedom) {
  const double peak = std::exp(std::lgamma((freedom + 1) / 2) - std::lgamma(freedom / 2)) /
                      std::sqrt(freedom * M_PI);
  const auto density = [&](double t) {
    return peak * std::pow(1 + t * t / freedom, -(freedom + 1) / 2);
  };
  const auto below = [&](double t) {  // P(0 < T < t)
    constexpr int kSteps = 400;
    const double h = t / kSteps;
    double sum = density(0) + density(t);
    for (int i = 1; i < kSteps; ++i) sum += (i % 2 ? 4 : 2) * density(i * h);
    return sum * h / 3;
  };
  double low = 1.9, high = 13;  // 12.706 at one degree of freedom
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (below(middle) < 0.475 ? low : high) = middle;
  }
  return low;
}

Interval share_interval(double mean, double variance, double freedom, double most) {
  const double count = variance > 0 ? mean * (1 - mean) / variance : freedom + 1;
  return wilson(mean, std::clamp(count, 1.0, std::max(1.0, most)), student_95(freedom));
}

Interval mean_share(std::span<const double> values, double most) {
  CB_CHECK(!values.empty());
  const auto n = static_cast<double>(values.size());
  double mean = 0, square = 0;
  for (const double value : values) mean += value;
  mean /= n;
  if (n == 1) return wilson(mean, n);
  for (const double value : values) square += std::pow(value - mean, 2);
  return share_interval(mean, square / (n * (n - 1)), n - 1, most);
}

Interval accuracy(std::span<const QuestionTally> questions) {
  CB_CHECK(!questions.empty());
  const auto n = static_cast<double>(questions.size());
  double mean = 0, samples = 0;
  std::vector<double> shares;
  for (const QuestionTally& question : questions) {
    shares.push_back(share(question));
    mean += shares.back();
    samples += question.samples;
  }
  mean /= n;
  return samples == n ? wilson(mean, n) : mean_share(shares, samples);
}

std::optional<Interval> pass_at_k(std::span<const QuestionTally> questions, int k) {
  CB_CHECK(k >= 1 && !questions.empty());
  if (k == 1) return accuracy(questions);
  double samples = 0;
  std::vector<double> shares;
  for (const QuestionTally& question : questions) {
    if (question.samples < k) return std::nullopt;
    shares.push_back(pass_share(question, k));
    samples += question.samples;
  }
  return mean_share(shares, samples / k);
}

std::optional<double> best_of_k(std::span<const std::vector<ScoredSample>> questions, int k) {
  CB_CHECK(k >= 1 && !questions.empty());
  double sum = 0;
  for (std::vector<ScoredSample> samples : questions) {
    const auto n = static_cast<int>(samples.size());
    if (n < k) return std::nullopt;
    std::stable_sort(samples.begin(), samples.end(),
                     [](const auto& a, const auto& b) { return a.score > b.score; });
    // The i-th best is selected if it is drawn and no better one is: with probability C(n - 1 - i,
    // k - 1) / C(n, k), which is k / n for the best.
    double taken = static_cast<double>(k) / n;
    for (int i = 0; i < n && taken > 0; ++i) {
      sum += samples[static_cast<std::size_t>(i)].correct ? taken : 0;
      if (i < n - 1) taken *= static_cast<double>(n - k - i) / (n - 1 - i);
    }
  }
  return sum / static_cast<double>(questions.size());
}

PairedTest paired_test(std::span<const QuestionTally> a, std::span<const QuestionTally> b) {
  CB_CHECK(a.size() == b.size() && !a.empty());
  PairedTest test;
  test.exact = true;
  int only_a = 0, only_b = 0;
  double weights = 0;
  for (const QuestionTally& question : a) weights += question.weight;
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) {
    CB_CHECK(a[i].weight == b[i].weight);
    differences.push_back((share(b[i]) - share(a[i])) * a[i].weight / weights);
    test.difference += differences.back();
    test.exact = test.exact && a[i].samples == 1 && b[i].samples == 1 && a[i].weight == a[0].weight;
    only_a += a[i].correct > b[i].correct;
    only_b += b[i].correct > a[i].correct;
  }
  test.p_value = test.exact ? mcnemar(only_a, only_b) : sign_flip(differences);
  return test;
}

std::vector<double> holm_corrected(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> corrected(p_values.size());
  double so_far = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double scaled = p_values[order[rank]] * static_cast<double>(order.size() - rank);
    corrected[order[rank]] = so_far = std::max(so_far, std::min(1.0, scaled));
  }
  return corrected;
}

}  // namespace counterbeam
