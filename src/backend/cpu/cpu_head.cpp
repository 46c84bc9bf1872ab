// The head: logits of a chunk of rows, summarised block by block while they are in the cache, then
// the jobs. Nothing of [rows, vocabulary] is meant to outlive the call.
#include <algorithm>
#include <cmath>

#include "backend/cpu/cpu_ops.h"
#include "backend/cpu/scores.h"
#include "base/error.h"

namespace counterbeam {
namespace {

constexpr std::size_t kChunkRows = 64;  // of logits at once, where the jobs allow it

// Which of the chunk's rows hold the logits of a row of x.
class RowPlaces {
 public:
  explicit RowPlaces(std::span<const int> rows) : rows_(rows) {}
  int of(int row) const {
    return static_cast<int>(std::lower_bound(rows_.begin(), rows_.end(), row) - rows_.begin());
  }

 private:
  std::span<const int> rows_;  // ascending
};

void add_row(std::vector<int>& rows, int row) {
  const auto at = std::lower_bound(rows.begin(), rows.end(), row);
  if (at == rows.end() || *at != row) rows.insert(at, row);
}

int drawable(const HeadJob& job, int vocab) {
  return job.vocab_limit > 0 ? std::min(job.vocab_limit, vocab) : vocab;
}

}  // namespace

std::vector<HeadResult> CpuOps::head(Matrix x, const PackedMatrix& weight,
                                     std::span<const HeadJob> jobs) {
  std::vector<HeadResult> results(jobs.size());
  std::vector<int> rows;
  std::size_t first = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    std::vector<int> with = rows;
    add_row(with, jobs[j].row);
    for (const auto& [row, share] : jobs[j].mix) add_row(with, row);
    if (with.size() > kChunkRows && j > first) {
      run_jobs(results, x, weight, jobs, int(first), int(j), rows);
      first = j--;
      rows.clear();
      continue;
    }
    rows = std::move(with);
  }
  if (first < jobs.size()) run_jobs(results, x, weight, jobs, int(first), int(jobs.size()), rows);
  return results;
}

void CpuOps::run_jobs(std::span<HeadResult> results, Matrix x, const PackedMatrix& weight,
                      std::span<const HeadJob> jobs, int first, int last,
                      std::span<const int> rows) {
  const int count = static_cast<int>(rows.size()), vocab = weight.out;
  const int blocks = score_blocks(vocab), stride = round_up(vocab, 16);
  Matrix picked = matrix(count, x.width);
  gather(picked, x, rows);
  logits_.want(std::size_t(count) * std::size_t(stride) * sizeof(float));
  Product product = prepare(rows_of(picked), count, weight);
  product.out = {logits_.floats(), stride};
  std::vector<LogitBlock> summaries(std::size_t(count) * std::size_t(blocks));
  constexpr int kPanels = Scores::kBlock / kPanel;
  const int panels = round_up(vocab, kPanel) / kPanel;
  pool_.split(blocks, 1, [&](int begin, int end) {
    for (int block = begin; block < end; ++block) {
      product_kernels().multiply(product, block * kPanels, std::min((block + 1) * kPanels, panels));
      const int column = block * Scores::kBlock;
      for (int r = 0; r < count; ++r) {
        summaries[std::size_t(r) * std::size_t(blocks) + std::size_t(block)] = kernels_.logit_block(
            product.out.row(r) + column, std::min(Scores::kBlock, vocab - column), 1.0f);
      }
    }
  });

  const RowPlaces places(rows);
  const auto scores = [&](int row) {
    const int place = places.of(row);
    return Scores(kernels_, {product.out.row(place), std::size_t(vocab)},
                  std::span(summaries).subspan(std::size_t(place) * std::size_t(blocks), blocks));
  };
  const auto logit = [&](int row, TokenId token) { return product.out.row(places.of(row))[token]; };

  // The sum of weighted log-probabilities, as another row of scores.
  const auto draw_mixed = [&](const HeadJob& job) {
    std::vector<double> sums(std::size_t(vocab), 0.0);
    for (const auto& [row, share] : job.mix) {
      const double total = scores(row).log_sum_exp();
      const float* from = product.out.row(places.of(row));
      for (int i = 0; i < vocab; ++i) sums[i] += double(share) * (double(from[i]) - total);
    }
    const int limit = drawable(job, vocab);
    if (job.plausibility > 0) {
      const double floor = double(logit(job.row, scores(job.row).likeliest(limit))) +
                           std::log(double(job.plausibility));
      const float* own = product.out.row(places.of(job.row));
      for (int i = 0; i < limit; ++i) {
        if (own[i] < floor) sums[i] = Scores::kNever;
      }
    }
    const std::vector<float> mixed(sums.begin(), sums.end());
    std::vector<LogitBlock> of_mixed;
    for (int i = 0; i < vocab; i += Scores::kBlock)
      of_mixed.push_back(
          kernels_.logit_block(mixed.data() + i, std::min(Scores::kBlock, vocab - i), 1.0f));
    return Scores(kernels_, mixed, of_mixed).draw(job.sampling, limit, uniform(job.key));
  };

  const auto finish = [&](int j, TokenId given) {
    const HeadJob& job = jobs[j];
    HeadResult& result = results[j];
    const Scores own = scores(job.row);
    result.finite = own.finite() && std::all_of(job.mix.begin(), job.mix.end(), [&](const auto& m) {
                      return scores(m.first).finite();
                    });
    if (!result.finite) return;
    double drawn = 0;
    if (given < 0) {
      const Scores::Drawn choice =
          job.mix.empty() ? own.draw(job.sampling, drawable(job, vocab), uniform(job.key))
                          : draw_mixed(job);
      given = choice.token;
      drawn = choice.logprob;
      result.drawn_logprob = static_cast<float>(drawn);
    }
    CB_CHECK(given < vocab);
    result.token = given;
    result.logprob = static_cast<float>(double(logit(job.row, given)) - own.log_sum_exp());
    if (job.given >= 0 || job.follows >= 0) result.drawn_logprob = result.logprob;
  };

  pool_.each(last - first, [&](int i, int) {
    const int j = first + i;
    if (jobs[j].follows < 0 || jobs[j].given >= 0) finish(j, jobs[j].given);
  });
  for (int j = first; j < last; ++j) {
    if (jobs[j].follows < 0 || jobs[j].given >= 0) continue;
    const HeadResult& leader = results[jobs[j].follows];
    if (leader.finite) {
      finish(j, leader.token);
    } else {
      results[j].finite = false;
    }
  }
}

}  // namespace counterbeam
