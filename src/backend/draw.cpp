#include "backend/draw.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace counterbeam {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// The largest score; ties go to the lowest id.
TokenId likeliest(std::span<const double> scores) {
  return static_cast<TokenId>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

template <typename Number>
double sum_exponentials(std::span<const Number> scores) {
  const double top = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const Number score : scores) sum += std::exp(static_cast<double>(score) - top);
  return top + std::log(sum);
}

// The first `count` ids by descending score; ties by ascending id.
std::vector<TokenId> ranked(std::span<const double> scores, std::size_t count) {
  std::vector<TokenId> ids(scores.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto before = [&](TokenId a, TokenId b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  };
  count = std::min(count, ids.size());
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(),
                    before);
  ids.resize(count);
  return ids;
}

void keep_only(std::vector<double>& scores, std::span<const TokenId> ids) {
  std::vector<double> kept(scores.size(), kNever);
  for (const TokenId id : ids) kept[id] = scores[id];
  scores = std::move(kept);
}

void keep_min_p(std::vector<double>& scores, double reach) {
  const double floor = *std::max_element(scores.begin(), scores.end()) - reach;
  for (double& score : scores) {
    if (score < floor) score = kNever;
  }
}

void keep_top_k(std::vector<double>& scores, int top_k) {
  if (top_k <= 0 || static_cast<std::size_t>(top_k) >= scores.size()) return;
  keep_only(scores, ranked(scores, static_cast<std::size_t>(top_k)));
}

// The smallest set of likeliest tokens whose share of the mass in `scores` reaches top_p.
void keep_top_p(std::vector<double>& scores, float top_p) {
  if (top_p >= 1.0f) return;
  const double total = sum_exponentials<double>(scores);
  // Most rows reach the mass within a few tokens, so the whole vocabulary is rarely sorted.
  for (std::size_t count = 256;; count *= 16) {
    std::vector<TokenId> ids = ranked(scores, count);
    double mass = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      mass += std::exp(scores[ids[i]] - total);
      if (mass < top_p) continue;
      ids.resize(i + 1);
      return keep_only(scores, ids);
    }
    if (ids.size() == scores.size()) return;
  }
}

// The scores to draw from: logits of the row, or the log-probabilities of the mixture, before
// temperature; -inf for tokens that must not be drawn. A mixture is rounded to float32 as on the
// other back ends, so that tokens that tie there tie here.
std::vector<double> drawable_scores(const HeadJob& job, const JobLogits& logits) {
  const std::size_t vocab = logits.own.size();
  std::vector<double> scores(vocab, 0.0);
  if (job.mix.empty()) std::copy(logits.own.begin(), logits.own.end(), scores.begin());
  for (std::size_t m = 0; m < job.mix.size(); ++m) {
    const double total = log_sum_exp(logits.mix[m]);
    const double weight = job.mix[m].second;
    for (std::size_t i = 0; i < vocab; ++i) scores[i] += weight * (logits.mix[m][i] - total);
  }
  if (!job.mix.empty()) {
    for (double& score : scores) score = static_cast<float>(score);
  }
  const std::size_t limit =
      job.vocab_limit > 0 ? std::min<std::size_t>(vocab, job.vocab_limit) : vocab;
  std::fill(scores.begin() + static_cast<std::ptrdiff_t>(limit), scores.end(), kNever);
  if (!job.mix.empty() && job.plausibility > 0) {
    const double floor = *std::max_element(logits.own.begin(), logits.own.begin() + limit) +
                         std::log(static_cast<double>(job.plausibility));
    for (std::size_t i = 0; i < limit; ++i) {
      if (logits.own[i] < floor) scores[i] = kNever;
    }
  }
  return scores;
}

}  // namespace

TokenId invert_cdf(std::span<const double> logprobs, double u) {
  double mass = 0;
  TokenId last = likeliest(logprobs);
  for (std::size_t i = 0; i < logprobs.size(); ++i) {
    if (logprobs[i] == kNever) continue;
    mass += std::exp(logprobs[i]);
    last = static_cast<TokenId>(i);
    if (u < mass) break;
  }
  return last;
}

bool all_finite(std::span<const float> logits) {
  return std::all_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); });
}

double log_sum_exp(std::span<const float> logits) {
  return sum_exponentials(logits);
}

std::vector<double> draw_distribution(const HeadJob& job, const JobLogits& logits) {
  const auto [temperature, top_p, top_k, min_p] = job.sampling;
  std::vector<double> scores = drawable_scores(job, logits);
  if (temperature == 0) {
    const TokenId token = likeliest(scores);
    scores.assign(scores.size(), kNever);
    scores[token] = 0;
    return scores;
  }
  if (min_p > 0) keep_min_p(scores, min_p_reach(job.sampling));
  for (double& score : scores) score /= temperature;
  keep_top_k(scores, top_k);
  keep_top_p(scores, top_p);
  const double total = sum_exponentials<double>(scores);
  for (double& score : scores) score -= total;
  return scores;
}

HeadResult run_head_job(const HeadJob& job, const JobLogits& logits, TokenId drawn) {
  HeadResult result;
  result.finite =
      all_finite(logits.own) && std::all_of(logits.mix.begin(), logits.mix.end(), all_finite);
  if (!result.finite) return result;
  const double own_total = log_sum_exp(logits.own);
  if (job.top > 0) {
    const std::size_t limit =
        job.vocab_limit > 0 ? std::size_t(job.vocab_limit) : logits.own.size();
    result.top =
        top_tokens(logits.own.first(std::min(limit, logits.own.size())), job.top, own_total);
  }
  if (job.given >= 0 || job.follows >= 0) {
    result.token = job.given >= 0 ? job.given : drawn;
    CB_CHECK(result.token >= 0 && static_cast<std::size_t>(result.token) < logits.own.size());
    result.logprob = static_cast<float>(logits.own[result.token] - own_total);
    result.drawn_logprob = result.logprob;
    return result;
  }
  const std::vector<double> logprobs = draw_distribution(job, logits);
  result.token = invert_cdf(logprobs, uniform(job.key));
  result.drawn_logprob = static_cast<float>(logprobs[result.token]);
  result.logprob = static_cast<float>(logits.own[result.token] - own_total);
  return result;
}

}  // namespace counterbeam
