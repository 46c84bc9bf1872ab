// One row of scores over the vocabulary with its block summaries, and draws from it: a fast version
// of backend/draw.h, by the rules of backend/sampling.h. A draw finds its block by the summaries
// and reads only that block. Sums run over fixed blocks of the vocabulary in order.
#pragma once

#include <span>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/ops.h"

namespace counterbeam {

// The log of the sum of exponentials of all scores that the blocks summarise at scale 1.
double log_sum_exp(std::span<const LogitBlock> blocks);

class Scores {
 public:
  static constexpr int kBlock = 512;
  static constexpr float kNever = -3.0e38f;  // the score of a token that may not be drawn

  // `blocks` summarise `scores` at scale 1.
  Scores(const Kernels& kernels, std::span<const float> scores, std::span<const LogitBlock> blocks)
      : kernels_(kernels), scores_(scores), blocks_(blocks) {}

  bool finite() const;
  double log_sum_exp() const { return counterbeam::log_sum_exp(blocks_); }

  struct Drawn {
    TokenId token = -1;
    double logprob = 0;
  };
  // Both look at the tokens below `limit` only; likeliest() gives the lowest id on ties.
  TokenId likeliest(int limit) const;
  Drawn draw(const Sampling& sampling, int limit, double u) const;

 private:
  struct Mass {
    float top = 0;              // the largest score
    std::vector<double> parts;  // the sum of exp((score - top) / temperature), block by block
    double total = 0;
  };
  struct Candidate {
    TokenId token;
    float score;
  };

  std::span<const float> block(int index, int limit) const;
  LogitBlock summary(int index, int limit) const;
  Mass mass(float temperature, int limit) const;
  Drawn draw_from_all(float temperature, int limit, double u) const;
  Drawn draw_from(std::vector<Candidate> kept, float temperature, double u) const;
  std::vector<Candidate> at_least(double bound, int limit) const;
  std::vector<Candidate> likely(const Sampling& sampling, int limit) const;

  const Kernels& kernels_;
  std::span<const float> scores_;
  std::span<const LogitBlock> blocks_;
};

inline int score_blocks(int vocab) {
  return (vocab + Scores::kBlock - 1) / Scores::kBlock;
}

}  // namespace counterbeam
