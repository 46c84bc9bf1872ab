// The head: logits of a chunk of rows, summarised block by block while they are in the cache, then
// the jobs. Nothing of [rows, vocabulary] is meant to outlive the call; rows that are not drawn
// from never have more than a block of logits, and the one logit they are asked for is made again.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/cpu/cpu_ops.h"
#include "backend/cpu/scores.h"
#include "base/error.h"

namespace counterbeam {
namespace {

constexpr std::size_t kChunkRows = 64;  // of logits at once, where the jobs allow it
constexpr int kScoredRows = 128;        // that meet a block of the vocabulary together
// Of a block of logits: rows a power of two apart would share too few places in the cache.
constexpr int kBlockStride = Scores::kBlock + 16;

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

// These and what the job looks at.
std::vector<int> rows_with(std::vector<int> rows, const HeadJob& job) {
  add_row(rows, job.row);
  for (const auto& [row, share] : job.mix) add_row(rows, row);
  return rows;
}

// Which of the rows are drawn from: their places among those, -1 for the others.
std::vector<int> drawn_places(std::span<const HeadJob> jobs, std::span<const int> which,
                              std::span<const int> rows, int& count) {
  std::vector<int> places(rows.size(), -1);
  const auto keep = [&](int row) { places[RowPlaces(rows).of(row)] = 0; };
  for (const int j : which) {
    if (jobs[j].given >= 0 || jobs[j].follows >= 0) continue;
    keep(jobs[j].row);
    for (const auto& [row, share] : jobs[j].mix) keep(row);
  }
  count = 0;
  for (int& place : places) place = place < 0 ? -1 : count++;
  return places;
}

int drawable(const HeadJob& job, int vocab) {
  return job.vocab_limit > 0 ? std::min(job.vocab_limit, vocab) : vocab;
}

}  // namespace

std::vector<HeadResult> CpuOps::head(Matrix x, const PackedMatrix& weight,
                                     std::span<const HeadJob> jobs) {
  std::vector<HeadResult> results(jobs.size());
  std::vector<int> scored, others;
  for (int j = 0; j < static_cast<int>(jobs.size()); ++j)
    (jobs[j].given >= 0 && jobs[j].mix.empty() ? scored : others).push_back(j);
  if (scored.size() > kChunkRows) {
    score_given(results, x, weight, jobs, scored);
  } else {
    others.resize(jobs.size());
    std::iota(others.begin(), others.end(), 0);
  }
  std::vector<int> rows, chunk;
  for (const int j : others) {
    std::vector<int> with = rows_with(rows, jobs[j]);
    if (with.size() > kChunkRows && !chunk.empty()) {
      run_jobs(results, x, weight, jobs, chunk, rows);
      chunk.clear();
      with = rows_with({}, jobs[j]);
    }
    chunk.push_back(j);
    rows = std::move(with);
  }
  if (!chunk.empty()) run_jobs(results, x, weight, jobs, chunk, rows);
  return results;
}

// Log-probabilities of given tokens: every block of the vocabulary is read once for all rows.
void CpuOps::score_given(std::span<HeadResult> results, Matrix x, const PackedMatrix& weight,
                         std::span<const HeadJob> jobs, std::span<const int> which) {
  if (which.empty()) return;
  const ProductKernels& kernels = product_kernels();
  const int count = static_cast<int>(which.size()), vocab = weight.out;
  const int chunks = (count + kScoredRows - 1) / kScoredRows, blocks = score_blocks(vocab);
  std::vector<int> rows;
  for (const int j : which) rows.push_back(jobs[j].row);
  const Matrix picked = matrix(count, x.width);
  gather(picked, x, rows);
  Product product = product_of(weight);
  const std::size_t chunk_bytes = kernels.packed_bytes(kScoredRows, product.depth);
  inputs_.want(chunk_bytes * std::size_t(chunks));
  const auto rows_in = [&](int chunk) {
    return std::min(kScoredRows, count - chunk * kScoredRows);
  };
  pool_.each(chunks, [&](int chunk, int) {
    const Rows from{rows_of(picked).row(chunk * kScoredRows), picked.stride};
    kernels.pack(inputs_.data() + std::size_t(chunk) * chunk_bytes, from, rows_in(chunk), weight.in,
                 product.depth, 0, kernels.blocks(rows_in(chunk)));
  });

  std::vector<LogitBlock> summaries(std::size_t(count) * std::size_t(blocks));
  std::vector<float> chosen(std::size_t(count), 0.0f);
  constexpr int kPanels = Scores::kBlock / kPanel;
  const auto score_block = [&](int block, int worker) {
    const int column = block * Scores::kBlock, width = std::min(Scores::kBlock, vocab - column);
    Product part = product;
    part.out = {scratch(worker, std::size_t(kScoredRows) * kBlockStride), kBlockStride};
    part.first_column = column;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      part.inputs = inputs_.data() + std::size_t(chunk) * chunk_bytes;
      part.rows = rows_in(chunk);
      kernels.multiply(part, block * kPanels, (column + width + kPanel - 1) / kPanel);
      for (int r = 0; r < part.rows; ++r) {
        const int i = chunk * kScoredRows + r;
        const TokenId given = jobs[which[i]].given;
        if (given >= column && given < column + width) chosen[i] = part.out.row(r)[given - column];
        summaries[std::size_t(i) * std::size_t(blocks) + std::size_t(block)] =
            kernels_.logit_block(part.out.row(r), width, 1.0f);
      }
    }
  };
  pool_.split(blocks, 1, [&](int begin, int end, int worker) {
    for (int block = begin; block < end; ++block) score_block(block, worker);
  });

  pool_.each(count, [&](int i, int) {
    const std::span<const LogitBlock> own(summaries.data() + std::size_t(i) * std::size_t(blocks),
                                          std::size_t(blocks));
    HeadResult& result = results[which[i]];
    result.finite = Scores(kernels_, {}, own).finite();
    if (!result.finite) return;
    result.token = jobs[which[i]].given;
    result.logprob = static_cast<float>(double(chosen[i]) - log_sum_exp(own));
    result.drawn_logprob = result.logprob;
  });
}

void CpuOps::run_jobs(std::span<HeadResult> results, Matrix x, const PackedMatrix& weight,
                      std::span<const HeadJob> jobs, std::span<const int> which,
                      std::span<const int> rows) {
  const int count = static_cast<int>(rows.size()), vocab = weight.out;
  const int blocks = score_blocks(vocab), stride = round_up(vocab, 16);
  Matrix picked = matrix(count, x.width);
  gather(picked, x, rows);
  int drawn_rows = 0;
  const std::vector<int> drawn_place = drawn_places(jobs, which, rows, drawn_rows);
  logits_.want(std::size_t(drawn_rows) * std::size_t(stride) * sizeof(float));
  const Rows kept{logits_.floats(), stride};
  const Product product = prepare(rows_of(picked), count, weight);
  std::vector<LogitBlock> summaries(std::size_t(count) * std::size_t(blocks));
  constexpr int kPanels = Scores::kBlock / kPanel;
  const auto make_block = [&](int block, float* to) {
    const int column = block * Scores::kBlock, width = std::min(Scores::kBlock, vocab - column);
    Product part = product;
    part.out = {to, kBlockStride};
    part.first_column = column;
    product_kernels().multiply(part, block * kPanels, (column + width + kPanel - 1) / kPanel);
    for (int r = 0; r < count; ++r) {
      const float* logits = part.out.row(r);
      summaries[std::size_t(r) * std::size_t(blocks) + std::size_t(block)] =
          kernels_.logit_block(logits, width, 1.0f);
      if (drawn_place[r] >= 0) std::copy_n(logits, width, kept.row(drawn_place[r]) + column);
    }
  };
  pool_.split(blocks, 1, [&](int begin, int end, int worker) {
    float* space = scratch(worker, std::size_t(count) * kBlockStride);
    for (int block = begin; block < end; ++block) make_block(block, space);
  });

  const RowPlaces places(rows);
  const auto scores = [&](int row) {
    const int place = places.of(row), at = drawn_place[place];
    return Scores(kernels_,
                  at < 0 ? std::span<const float>{} : std::span<const float>(kept.row(at), vocab),
                  std::span(summaries).subspan(std::size_t(place) * std::size_t(blocks), blocks));
  };
  const auto logit = [&](int row, TokenId token, int worker) {
    const int place = places.of(row), panel = token / kPanel;
    if (drawn_place[place] >= 0) return kept.row(drawn_place[place])[token];
    Product part = product;
    part.out = {scratch(worker, std::size_t(count) * kPanel), kPanel};
    part.first_column = panel * kPanel;
    product_kernels().multiply(part, panel, panel + 1);
    return part.out.row(place)[token % kPanel];
  };

  // The sum of weighted log-probabilities, as another row of scores.
  const auto draw_mixed = [&](const HeadJob& job, int worker) {
    std::vector<double> sums(std::size_t(vocab), 0.0);
    for (const auto& [row, share] : job.mix) {
      const double total = scores(row).log_sum_exp();
      const float* from = kept.row(drawn_place[places.of(row)]);
      for (int i = 0; i < vocab; ++i) sums[i] += double(share) * (double(from[i]) - total);
    }
    const int limit = drawable(job, vocab);
    if (job.plausibility > 0) {
      const double floor = double(logit(job.row, scores(job.row).likeliest(limit), worker)) +
                           std::log(double(job.plausibility));
      const float* own = kept.row(drawn_place[places.of(job.row)]);
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

  const auto finish = [&](int j, TokenId given, int worker) {
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
                          : draw_mixed(job, worker);
      given = choice.token;
      drawn = choice.logprob;
      result.drawn_logprob = static_cast<float>(drawn);
    }
    CB_CHECK(given < vocab);
    result.token = given;
    result.logprob = static_cast<float>(double(logit(job.row, given, worker)) - own.log_sum_exp());
    if (job.given >= 0 || job.follows >= 0) result.drawn_logprob = result.logprob;
  };

  const auto leads = [&](int j) { return jobs[j].follows < 0 || jobs[j].given >= 0; };
  const int asked = static_cast<int>(which.size());
  pool_.each(asked, [&](int i, int worker) {
    if (leads(which[i])) finish(which[i], jobs[which[i]].given, worker);
  });
  pool_.each(asked, [&](int i, int worker) {
    const int j = which[i];
    if (leads(j)) return;
    const HeadResult& leader = results[jobs[j].follows];
    if (leader.finite) {
      finish(j, leader.token, worker);
    } else {
      results[j].finite = false;
    }
  });
}

}  // namespace counterbeam
