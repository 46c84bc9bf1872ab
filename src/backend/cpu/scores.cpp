#include "backend/cpu/scores.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace counterbeam {

double log_sum_exp(std::span<const LogitBlock> blocks) {
  float top = Scores::kNever;
  for (const LogitBlock& block : blocks) top = std::max(top, block.largest);
  double total = 0;
  for (const LogitBlock& block : blocks)
    total += double(block.sum) * std::exp(double(block.largest) - double(top));
  return top + std::log(total);
}

bool Scores::finite() const {
  return std::all_of(blocks_.begin(), blocks_.end(), [](const LogitBlock& b) { return b.finite; });
}

std::span<const float> Scores::block(int index, int limit) const {
  const int first = index * kBlock;
  return scores_.subspan(std::size_t(first), std::size_t(std::min(kBlock, limit - first)));
}

// The summary of the part of a block below `limit`.
LogitBlock Scores::summary(int index, int limit) const {
  const auto part = block(index, limit);
  const auto whole = block(index, static_cast<int>(scores_.size()));
  if (part.size() == whole.size()) return blocks_[index];
  return kernels_.logit_block(part.data(), static_cast<int>(part.size()), 1.0f);
}

Scores::Mass Scores::mass(float temperature, int limit) const {
  std::vector<LogitBlock> summaries;
  for (int i = 0; i < score_blocks(limit); ++i) {
    summaries.push_back(summary(i, limit));
    if (temperature == 1.0f) continue;
    const auto part = block(i, limit);
    summaries[i].sum = kernels_.exp_terms(nullptr, part.data(), static_cast<int>(part.size()),
                                          1.0f / temperature, summaries[i].largest);
  }
  Mass mass;
  mass.top = kNever;
  for (const LogitBlock& summary : summaries) mass.top = std::max(mass.top, summary.largest);
  for (const LogitBlock& summary : summaries) {
    const double share = std::exp((double(summary.largest) - double(mass.top)) / temperature);
    mass.parts.push_back(double(summary.sum) * share);
    mass.total += mass.parts.back();
  }
  return mass;
}

TokenId Scores::likeliest(int limit) const {
  int best = -1;
  float top = 0;
  for (int i = 0; i < score_blocks(limit); ++i) {
    const float here = summary(i, limit).largest;
    if (best >= 0 && here <= top) continue;
    best = i;
    top = here;
  }
  const auto part = block(best, limit);
  return best * kBlock +
         static_cast<TokenId>(std::find(part.begin(), part.end(), top) - part.begin());
}

Scores::Drawn Scores::draw(const Sampling& sampling, int limit, double u) const {
  if (sampling.temperature == 0) return {likeliest(limit), 0.0};
  if (!filters(sampling, static_cast<int>(scores_.size())))
    return draw_from_all(sampling.temperature, limit, u);
  return draw_from(likely(sampling, limit), sampling.temperature, u);
}

// Inverse of the cumulative distribution in vocabulary order.
Scores::Drawn Scores::draw_from_all(float temperature, int limit, double u) const {
  const Mass all = mass(temperature, limit);
  const auto logprob = [&](TokenId token) {
    return (double(scores_[token]) - double(all.top)) / temperature - std::log(all.total);
  };
  double passed = 0;
  TokenId last = -1;
  alignas(64) float terms[kBlock];
  for (int i = 0; i < score_blocks(limit); ++i) {
    const double after = passed + all.parts[i] / all.total;
    const bool final_block = i + 1 == score_blocks(limit);
    if (u >= after && !final_block) {
      passed = after;
      continue;
    }
    const auto part = block(i, limit);
    kernels_.exp_terms(terms, part.data(), static_cast<int>(part.size()), 1.0f / temperature,
                       all.top);
    for (std::size_t j = 0; j < part.size(); ++j) {
      if (terms[j] == 0.0f) continue;
      passed += double(terms[j]) / all.total;
      last = i * kBlock + static_cast<TokenId>(j);
      if (u < passed) return {last, logprob(last)};
    }
  }
  // Rounding put u beyond the last token, or its block has no term that is not 0.
  if (last < 0) last = likeliest(limit);
  return {last, logprob(last)};
}

// The tokens with a score of `bound` or more, in vocabulary order.
std::vector<Scores::Candidate> Scores::at_least(double bound, int limit) const {
  std::vector<Candidate> found;
  for (int i = 0; i < score_blocks(limit); ++i) {
    if (blocks_[i].largest < bound) continue;
    const auto part = block(i, limit);
    for (std::size_t j = 0; j < part.size(); ++j) {
      if (part[j] >= bound && part[j] > kNever)
        found.push_back({i * kBlock + static_cast<TokenId>(j), part[j]});
    }
  }
  return found;
}

// The tokens that min-p, top-k and top-p keep, in vocabulary order.
std::vector<Scores::Candidate> Scores::likely(const Sampling& sampling, int limit) const {
  const auto [temperature, top_p, top_k, min_p] = sampling;
  const std::size_t count = top_k > 0 ? std::size_t(top_k) : scores_.size();
  const Mass all = mass(temperature, limit);
  const double floor = min_p > 0 ? double(all.top) - min_p_reach(sampling) : double(kNever);
  if (top_k == 0 && top_p >= 1.0f) return at_least(floor, limit);
  const auto term = [&, t = temperature](float score) {
    return std::exp((double(score) - double(all.top)) / t);
  };
  // Only tokens within `reach` temperatures of the largest score are considered. Nearly always the
  // first reach is enough; it grows until it is. Top-p after min-p without top-k needs the mass of
  // all that min-p keeps.
  for (double reach = 8;; reach *= 4) {
    const double bound = static_cast<float>(double(all.top) - reach * temperature);
    const bool everything = reach > 200 || bound <= floor || (min_p > 0 && top_k == 0);
    std::vector<Candidate> found = at_least(everything ? floor : bound, limit);
    const bool ranked = top_k == 0 || found.size() >= count;
    std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
      return a.score != b.score ? a.score > b.score : a.token < b.token;
    });
    found.resize(std::min(found.size(), count));
    // Top-p applies to the mass that min-p and top-k keep.
    double total = all.total;
    if (top_k > 0 || min_p > 0) {
      total = 0;
      for (const Candidate& candidate : found) total += term(candidate.score);
    }
    double reached = 0;
    std::size_t kept = 0;
    while (kept < found.size() && (top_p >= 1.0f || reached < top_p))
      reached += term(found[kept++].score) / total;
    const bool massive = top_p >= 1.0f || reached >= top_p;
    if (!everything && !(ranked && (massive || top_k > 0))) continue;
    found.resize(kept);
    std::sort(found.begin(), found.end(),
              [](const Candidate& a, const Candidate& b) { return a.token < b.token; });
    return found;
  }
}

Scores::Drawn Scores::draw_from(std::vector<Candidate> kept, float temperature, double u) const {
  CB_CHECK(!kept.empty());
  float top = kNever;
  for (const Candidate& candidate : kept) top = std::max(top, candidate.score);
  double total = 0;
  for (const Candidate& candidate : kept)
    total += std::exp((double(candidate.score) - double(top)) / temperature);
  double passed = 0;
  const Candidate* last = &kept.front();
  for (const Candidate& candidate : kept) {
    passed += std::exp((double(candidate.score) - double(top)) / temperature) / total;
    last = &candidate;
    if (u < passed) break;
  }
  return {last->token, (double(last->score) - double(top)) / temperature - std::log(total)};
}

}  // namespace counterbeam
