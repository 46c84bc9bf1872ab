// The head of the CPU back end. Logits are computed for up to 64 rows at a time, in blocks of the
// vocabulary that are summarised (maximum, sum of exponentials, finite or not) while they are in
// the cache. Only rows that are drawn from keep their logits. If many given tokens are scored, each
// block of the head's weights is read once for all rows.
#include <algorithm>
#include <numeric>

#include "backend/cpu/cpu_ops.h"
#include "backend/cpu/head_chunk.h"

namespace counterbeam {
namespace {

constexpr std::size_t kChunkRows = 64;  // rows of logits at once, unless one job needs more
constexpr int kScoredRows = 128;        // rows multiplied by a block of the vocabulary at once
void add_row(std::vector<int>& rows, int row) {
  const auto at = std::lower_bound(rows.begin(), rows.end(), row);
  if (at == rows.end() || *at != row) rows.insert(at, row);
}

// `rows` and those that the job refers to.
std::vector<int> rows_with(std::vector<int> rows, const HeadJob& job) {
  add_row(rows, job.row);
  for (const auto& [row, share] : job.mix) add_row(rows, row);
  return rows;
}

}  // namespace

std::vector<HeadResult> CpuOps::head(Matrix x, const PackedMatrix& weight,
                                     std::span<const HeadJob> jobs) {
  std::vector<HeadResult> results(jobs.size());
  std::vector<int> scored, others;
  for (int j = 0; j < static_cast<int>(jobs.size()); ++j)
    (jobs[j].given >= 0 && jobs[j].mix.empty() && jobs[j].top == 0 ? scored : others).push_back(j);
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

// Log-probabilities of given tokens: the weights of a block of the vocabulary are read once for all
// rows, and its logits never leave the cache.
void CpuOps::score_given(std::span<HeadResult> results, Matrix x, const PackedMatrix& weight,
                         std::span<const HeadJob> jobs, std::span<const int> which) {
  if (which.empty()) return;
  const int count = static_cast<int>(which.size()), vocab = weight.out;
  const int chunks = (count + kScoredRows - 1) / kScoredRows, blocks = score_blocks(vocab);
  std::vector<int> rows;
  for (const int j : which) rows.push_back(jobs[j].row);
  const Matrix picked = matrix(count, x.width);
  gather(picked, x, rows);
  Product product = product_of(weight);
  const std::size_t chunk_bytes = packed_bytes(product, kScoredRows);
  inputs_.want(chunk_bytes * std::size_t(chunks));
  const auto rows_in = [&](int chunk) {
    return std::min(kScoredRows, count - chunk * kScoredRows);
  };
  pool_.each(chunks, [&](int chunk, int) {
    const Rows from{rows_of(picked).row(chunk * kScoredRows), picked.stride};
    pack_inputs(inputs_.data() + std::size_t(chunk) * chunk_bytes, from, rows_in(chunk), weight.in,
                product, 0, product.depth);
  });

  std::vector<LogitBlock> summaries(std::size_t(count) * std::size_t(blocks));
  std::vector<float> chosen(std::size_t(count), 0.0f);
  constexpr int kPanels = Scores::kBlock / kPanel;
  const auto score_block = [&](int block, int worker) {
    const int column = block * Scores::kBlock, width = std::min(Scores::kBlock, vocab - column);
    Product part = product;
    constexpr std::size_t kLogits = std::size_t(kScoredRows) * HeadChunk::kBlockStride;
    part.out = {scratch(worker, kLogits + decode_floats(product, kScoredRows)),
                HeadChunk::kBlockStride};
    part.scratch = part.out.data + kLogits;
    part.first_column = column;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      part.inputs = inputs_.data() + std::size_t(chunk) * chunk_bytes;
      part.rows = rows_in(chunk);
      part.multiply(part, block * kPanels, (column + width + kPanel - 1) / kPanel);
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
  const Matrix picked = matrix(static_cast<int>(rows.size()), x.width);
  gather(picked, x, rows);
  const Product product = prepare(rows_of(picked), picked.rows, weight);
  HeadChunk chunk(kernels_, product, rows, jobs, which);
  logits_.want(chunk.kept_floats() * sizeof(float));
  chunk.keep_in(logits_.floats());
  const std::size_t decoding = decode_floats(product, picked.rows);
  pool_.split(chunk.blocks(), 1, [&](int begin, int end, int worker) {
    float* space = scratch(worker, rows.size() * HeadChunk::kBlockStride + decoding);
    for (int block = begin; block < end; ++block) chunk.make_block(block, space);
  });

  const auto finish = [&](int j, TokenId given, int worker) {
    results[j] = chunk.finish(jobs[j], given, scratch(worker, rows.size() * kPanel + decoding));
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
