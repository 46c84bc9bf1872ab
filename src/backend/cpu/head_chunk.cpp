#include "backend/cpu/head_chunk.h"

#include <algorithm>
#include <cmath>

#include "backend/cpu/packing.h"
#include "base/error.h"

namespace counterbeam {
namespace {

constexpr int kBlockPanels = Scores::kBlock / kPanel;

int drawable(const HeadJob& job, int vocab) {
  return job.vocab_limit > 0 ? std::min(job.vocab_limit, vocab) : vocab;
}

}  // namespace

HeadChunk::HeadChunk(const Kernels& kernels, const Product& product, std::span<const int> rows,
                     std::span<const HeadJob> jobs, std::span<const int> which)
    : kernels_(kernels),
      product_(product),
      vocab_(product.columns),
      rows_(rows),
      drawn_place_(rows.size(), -1),
      summaries_(rows.size() * std::size_t(score_blocks(product.columns))) {
  for (const int j : which) {
    if (jobs[j].top > 0) drawn_place_[place(jobs[j].row)] = 0;
    if (jobs[j].given >= 0 || jobs[j].follows >= 0) continue;
    drawn_place_[place(jobs[j].row)] = 0;
    for (const auto& [row, share] : jobs[j].mix) drawn_place_[place(row)] = 0;
  }
  int drawn = 0;
  for (int& place : drawn_place_) place = place < 0 ? -1 : drawn++;
  kept_.stride = (vocab_ + 15) / 16 * 16;
}

std::size_t HeadChunk::kept_floats() const {
  const auto drawn =
      std::count_if(drawn_place_.begin(), drawn_place_.end(), [](int place) { return place >= 0; });
  return std::size_t(drawn) * std::size_t(kept_.stride);
}

int HeadChunk::place(int row) const {
  return static_cast<int>(std::lower_bound(rows_.begin(), rows_.end(), row) - rows_.begin());
}

void HeadChunk::make_block(int block, float* space) {
  const int column = block * Scores::kBlock, width = std::min(Scores::kBlock, vocab_ - column);
  Product part = product_;
  part.out = {space, kBlockStride};
  part.scratch = space + std::size_t(count()) * kBlockStride;
  part.first_column = column;
  part.multiply(part, block * kBlockPanels, (column + width + kPanel - 1) / kPanel);
  for (int r = 0; r < count(); ++r) {
    const float* logits = part.out.row(r);
    summaries_[std::size_t(r) * std::size_t(blocks()) + std::size_t(block)] =
        kernels_.logit_block(logits, width, 1.0f);
    if (drawn_place_[r] >= 0) std::copy_n(logits, width, kept_.row(drawn_place_[r]) + column);
  }
}

Scores HeadChunk::scores(int row) const {
  const int at = place(row);
  std::span<const float> whole;
  if (drawn_place_[at] >= 0) whole = {kept_.row(drawn_place_[at]), std::size_t(vocab_)};
  return Scores(kernels_, whole,
                std::span(summaries_).subspan(std::size_t(at) * std::size_t(blocks()), blocks()));
}

float HeadChunk::logit(int row, TokenId token, float* space) const {
  const int at = place(row), panel = token / kPanel;
  if (drawn_place_[at] >= 0) return kept_.row(drawn_place_[at])[token];
  Product part = product_;
  part.out = {space, kPanel};
  part.scratch = space + std::size_t(count()) * kPanel;
  part.first_column = panel * kPanel;
  part.multiply(part, panel, panel + 1);
  return part.out.row(at)[token % kPanel];
}

// Draws from the sum of weighted log-probabilities, treated as another row of scores.
Scores::Drawn HeadChunk::draw_mixed(const HeadJob& job, int limit) const {
  std::vector<double> sums(std::size_t(vocab_), 0.0);
  for (const auto& [row, share] : job.mix) {
    const double total = scores(row).log_sum_exp();
    const float* from = whole_row(row);
    for (int i = 0; i < vocab_; ++i) sums[i] += double(share) * (double(from[i]) - total);
  }
  if (job.plausibility > 0) {
    const float* own = whole_row(job.row);
    const double floor =
        double(own[scores(job.row).likeliest(limit)]) + std::log(double(job.plausibility));
    for (int i = 0; i < limit; ++i) {
      if (own[i] < floor) sums[i] = Scores::kNever;
    }
  }
  const std::vector<float> mixed(sums.begin(), sums.end());
  std::vector<LogitBlock> of_mixed;
  for (int i = 0; i < vocab_; i += Scores::kBlock)
    of_mixed.push_back(
        kernels_.logit_block(mixed.data() + i, std::min(Scores::kBlock, vocab_ - i), 1.0f));
  return Scores(kernels_, mixed, of_mixed).draw(job.sampling, limit, uniform(job.key));
}

HeadResult HeadChunk::finish(const HeadJob& job, TokenId given, float* space) const {
  HeadResult result;
  const Scores own = scores(job.row);
  result.finite = own.finite() && std::all_of(job.mix.begin(), job.mix.end(), [&](const auto& m) {
                    return scores(m.first).finite();
                  });
  if (!result.finite) return result;
  if (given < 0) {
    const int limit = drawable(job, vocab_);
    const Scores::Drawn choice =
        job.mix.empty() ? own.draw(job.sampling, limit, uniform(job.key)) : draw_mixed(job, limit);
    given = choice.token;
    result.drawn_logprob = static_cast<float>(choice.logprob);
  }
  CB_CHECK(given < vocab_);
  result.token = given;
  result.logprob = static_cast<float>(double(logit(job.row, given, space)) - own.log_sum_exp());
  if (job.given >= 0 || job.follows >= 0) result.drawn_logprob = result.logprob;
  if (job.top > 0) {
    const std::span<const float> row(whole_row(job.row), std::size_t(drawable(job, vocab_)));
    result.top = top_tokens(row, job.top, own.log_sum_exp());
  }
  return result;
}

}  // namespace counterbeam
