// The logits of one chunk of rows: summaries of all of them, whole rows of those that are drawn
// from. Of the others no more than a block ever exists; the one logit that is asked for is made
// again, with the same bits.
#pragma once

#include <vector>

#include "backend/cpu/scores.h"

namespace counterbeam {

class HeadChunk {
 public:
  // Of a block of logits: rows a power of two apart would share too few places in the cache.
  static constexpr int kBlockStride = Scores::kBlock + 16;

  // `rows`, ascending: what rows 0, 1, ... of the product are called in jobs.
  HeadChunk(const Kernels& kernels, const ProductKernels& products, const Product& product,
            std::span<const int> rows, std::span<const HeadJob> jobs, std::span<const int> which);

  int count() const { return static_cast<int>(rows_.size()); }
  int blocks() const { return score_blocks(vocab_); }
  // Floats for whole rows, to be given before the first block is made.
  std::size_t kept_floats() const;
  void keep_in(float* memory) { kept_.data = memory; }

  // Makes a block of the vocabulary. `space`: count() x kBlockStride.
  void make_block(int block, float* space);

  // Once all blocks are made: scores `given`, or draws where it is negative. `space`: count() x
  // kPanel.
  HeadResult finish(const HeadJob& job, TokenId given, float* space) const;

 private:
  int place(int row) const;
  const float* whole_row(int row) const { return kept_.row(drawn_place_[place(row)]); }
  Scores scores(int row) const;
  float logit(int row, TokenId token, float* space) const;
  Scores::Drawn draw_mixed(const HeadJob& job, int limit) const;

  const Kernels& kernels_;
  const ProductKernels& products_;
  Product product_;
  int vocab_;
  std::span<const int> rows_;
  std::vector<int> drawn_place_;  // [rows]: among those that are drawn from; -1: it is not
  Rows kept_;
  std::vector<LogitBlock> summaries_;  // [rows][blocks]
};

}  // namespace counterbeam
