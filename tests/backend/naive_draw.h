// The rules of backend/sampling.h once more, by probabilities in double and a full sort, to check
// the code that draws against; and the comparison of a result with backend/draw.h, which allows for
// a uniform number on the edge between two tokens.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "backend/draw.h"

namespace counterbeam {

struct NaiveDraw {
  std::vector<TokenId> kept;          // in vocabulary order
  std::vector<double> probabilities;  // of those
  double margin = 1;                  // how far the closest decision of a filter was from a tie

  // How far `u` is from the part of [0, 1) that belongs to `token`; 2 if the token is not kept.
  double distance(TokenId token, double u) const {
    double passed = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const double after = passed + probabilities[i];
      if (kept[i] == token) return std::max({0.0, passed - u, u - after});
      passed = after;
    }
    return 2;
  }
};

// Scores of -inf are never drawn. REQUIRES temperature > 0.
inline NaiveDraw naive_draw(const std::vector<double>& scores, const Sampling& sampling) {
  const auto [temperature, top_p, top_k, min_p] = sampling;
  const double top = *std::max_element(scores.begin(), scores.end());
  std::vector<double> p;
  double sum = 0;
  for (const double score : scores) {
    p.push_back(std::exp((score - top) / temperature));
    sum += p.back();
  }
  for (double& value : p) value /= sum;
  const double largest = *std::max_element(p.begin(), p.end());

  NaiveDraw draw;
  std::vector<TokenId> ranked;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (std::isinf(scores[i])) continue;
    const double least = double(min_p) * largest;
    if (min_p > 0 && scores[i] != top)
      draw.margin = std::min(draw.margin, std::abs(p[i] / least - 1));
    if (p[i] >= least) ranked.push_back(static_cast<TokenId>(i));
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](TokenId a, TokenId b) { return scores[a] > scores[b]; });
  if (top_k > 0 && std::size_t(top_k) < ranked.size()) ranked.resize(std::size_t(top_k));
  double left = 0, reached = 0;
  for (const TokenId id : ranked) left += p[id];
  std::size_t kept = 0;
  while (kept < ranked.size() && (top_p >= 1 || kept == 0 || reached / left < top_p)) {
    reached += p[ranked[kept++]];
    if (top_p < 1) draw.margin = std::min(draw.margin, std::abs(reached / left - top_p));
  }
  ranked.resize(kept);
  std::sort(ranked.begin(), ranked.end());
  for (const TokenId id : ranked) draw.probabilities.push_back(p[id] / reached);
  draw.kept = ranked;
  return draw;
}

// The scores that a job draws by.
inline std::vector<double> naive_scores(const HeadJob& job, const JobLogits& logits) {
  std::vector<double> scores(logits.own.begin(), logits.own.end());
  if (!job.mix.empty()) std::fill(scores.begin(), scores.end(), 0.0);
  for (std::size_t m = 0; m < job.mix.size(); ++m) {
    const double total = log_sum_exp(logits.mix[m]);
    for (std::size_t i = 0; i < scores.size(); ++i)
      scores[i] += double(job.mix[m].second) * (double(logits.mix[m][i]) - total);
  }
  const std::size_t limit =
      job.vocab_limit > 0 ? std::min(scores.size(), std::size_t(job.vocab_limit)) : scores.size();
  const double likeliest = *std::max_element(logits.own.begin(), logits.own.begin() + limit);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const bool plausible =
        job.mix.empty() || std::exp(logits.own[i] - likeliest) >= double(job.plausibility);
    scores[i] = i < limit && plausible ? static_cast<float>(scores[i])
                                       : -std::numeric_limits<double>::infinity();
  }
  return scores;
}

inline std::string describe(const HeadJob& job, std::size_t vocab) {
  const auto [temperature, top_p, top_k, min_p] = job.sampling;
  return fmt::format(
      "row {}, temperature {}, top-p {}, top-k {}, min-p {}, limit {}, {} mixed, plausibility {}, "
      "vocabulary {}, u {}",
      job.row, temperature, top_p, top_k, min_p, job.vocab_limit, job.mix.size(), job.plausibility,
      vocab, uniform(job.key));
}

// That `got` is what backend/draw.h makes of the job. Two roundings of one distribution may give
// different tokens where the uniform number lies on the edge between them.
inline void expect_as_drawn(const HeadJob& job, const JobLogits& logits, const HeadResult& got,
                            TokenId drawn = -1) {
  const HeadResult expected = run_head_job(job, logits, drawn);
  const std::string what = describe(job, logits.own.size());
  ASSERT_TRUE(got.finite) << what;
  if (got.token != expected.token) {
    ASSERT_TRUE(job.given < 0 && job.follows < 0 && job.sampling.temperature > 0) << what;
    const NaiveDraw naive = naive_draw(naive_scores(job, logits), job.sampling);
    EXPECT_LE(naive.distance(got.token, uniform(job.key)), 1e-6)
        << what << ": " << got.token << " for " << expected.token;
    return;
  }
  EXPECT_NEAR(got.logprob, expected.logprob, 2e-5) << what;
  EXPECT_NEAR(got.drawn_logprob, expected.drawn_logprob, 1e-4) << what;
}

}  // namespace counterbeam
