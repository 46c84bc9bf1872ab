// The logits of one chunk of rows. All rows are summarised; only rows that are drawn from, or whose
// likeliest tokens are wanted, keep all their logits. Of the others at most one block exists at a
// time: if a logit of theirs is needed (the token is known only after another row's draw), its
// panel is multiplied again, which gives the same bits.
#pragma once

#include <vector>

#include "backend/cpu/scores.h"

namespace counterbeam {

class HeadChunk {
 public:
  // The stride of a block of logits; a power of two would cause cache conflicts.
  static constexpr int kBlockStride = Scores::kBlock + 16;

  // `rows`, ascending: the row numbers that jobs use for rows 0, 1, ... of the product.
  HeadChunk(const Kernels& kernels, const Product& product, std::span<const int> rows,
            std::span<const HeadJob> jobs, std::span<const int> which);

  int count() const { return static_cast<int>(rows_.size()); }
  int blocks() const { return score_blocks(vocab_); }
  // Floats needed for the rows that are kept; give the memory with keep_in() before the first
  // make_block().
  std::size_t kept_floats() const;
  void keep_in(float* memory) { kept_.data = memory; }

  // Computes and summarises a block of the vocabulary. `space`: count() x kBlockStride floats, and
  // what the product needs as scratch.
  void make_block(int block, float* space);

  // REQUIRES all blocks to be made. Scores `given`, or draws if it is negative. `space`: count() x
  // kPanel floats, and what the product needs as scratch.
  HeadResult finish(const HeadJob& job, TokenId given, float* space) const;

 private:
  int place(int row) const;
  const float* whole_row(int row) const { return kept_.row(drawn_place_[place(row)]); }
  Scores scores(int row) const;
  float logit(int row, TokenId token, float* space) const;
  Scores::Drawn draw_mixed(const HeadJob& job, int limit) const;

  const Kernels& kernels_;
  Product product_;
  int vocab_;
  std::span<const int> rows_;
  std::vector<int> drawn_place_;  // [rows]: index among the kept rows; -1: not drawn from
  Rows kept_;
  std::vector<LogitBlock> summaries_;  // [rows][blocks]
};

}  // namespace counterbeam
