// Draws with every sampling option, alone and together, that each back end must make alike. All
// back ends get the same logits to the bit: the head's weights are the logits, exact in bf16, and
// its inputs are rows of the identity.
#pragma once

#include "backend/cpu_support.h"
#include "backend/naive_draw.h"

namespace counterbeam {

// Every subset of the options, each at a mild, a usual and a strict value, and the extremes.
inline std::vector<Sampling> every_sampling() {
  std::vector<Sampling> all = {
      {.temperature = 0.0f, .top_p = 0.5f, .top_k = 3, .min_p = 0.9f},
      {.top_p = 1e-6f},
      {.top_k = 1},
      {.min_p = 1.0f},
      {.min_p = 1e-30f},
      {.top_p = 0.99f, .min_p = 1e-30f},
      {.temperature = 1e-3f, .min_p = 0.5f},
      {.top_k = 5000, .min_p = 0.2f},
      {.top_p = 0.7f, .top_k = 5000, .min_p = 0.01f},
  };
  for (const Sampling& on :
       {Sampling{1.5f, 0.999f, 700, 0.001f}, {0.7f, 0.9f, 20, 0.05f}, {0.3f, 0.503f, 2, 0.6f}}) {
    for (int options = 0; options < 16; ++options) {
      Sampling some;
      auto& [temperature, top_p, top_k, min_p] = some;
      if (options & 1) temperature = on.temperature;
      if (options & 2) top_p = on.top_p;
      if (options & 4) top_k = on.top_k;
      if (options & 8) min_p = on.min_p;
      all.push_back(some);
    }
  }
  return all;
}

class EveryDraw {
 public:
  static constexpr int kRows = 6, kWidth = 16;

  explicit EveryDraw(int vocab) : vocab_(vocab) {
    Numbers numbers(41);
    for (int r = 0; r < kRows; ++r) {
      auto& row = rows_.emplace_back();
      for (int i = 0; i < vocab; ++i) {
        const float x = numbers.next(), y = numbers.next();
        row.push_back(from_bf16(to_bf16(logit(r, x, y))));
      }
    }
    rows_[1][977 % vocab] = 40;
    std::uint32_t number = 0;
    for (int r = 0; r < kRows; ++r) {
      for (const Sampling& sampling : every_sampling()) {
        for (int i = 0; i < 4; ++i, ++number) {
          HeadJob job;
          job.row = r;
          job.sampling = sampling;
          job.key = {.seed = 43, .position = number};
          if (i == 1) job.vocab_limit = vocab - vocab / 5;
          if (i == 2) job.mix = kMix;
          if (i == 2 && number % 3 > 0) job.plausibility = number % 3 == 1 ? 0.01f : 0.3f;
          jobs_.push_back(job);
        }
      }
    }
  }

  // Makes all draws by the head of `ops`.
  void expect_from(Ops& ops) const {
    std::vector<float> identity(std::size_t(kWidth) * kWidth), weights;
    for (std::size_t i = 0; i < kWidth; ++i) identity[i * kWidth + i] = 1;
    for (int i = 0; i < vocab_; ++i) {
      for (int r = 0; r < kWidth; ++r) weights.push_back(r < kRows ? rows_[r][i] : 0.0f);
    }
    const auto table = pack(ops, identity, kWidth, kWidth);
    const auto head = pack(ops, weights, vocab_, kWidth);
    TestBatch batch;
    for (int r = 0; r < kRows; ++r) {
      batch.add(0, 1, {PageId{0}});
      batch.ids.back() = static_cast<TokenId>(r);
    }
    ops.begin(batch.batch());
    const Matrix x = ops.matrix(kRows, kWidth);
    ops.embed(x, *table, 1.0f);
    std::vector<float> made(std::size_t(kRows) * std::size_t(vocab_));
    ops.logits(made, x, *head);
    for (int r = 0; r < kRows; ++r) {
      ASSERT_TRUE(same_bits(
          rows_[r], std::span(made).subspan(std::size_t(r) * rows_[r].size(), rows_[r].size())))
          << "logits of row " << r;
    }
    const auto results = ops.head(x, *head, jobs_);
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      std::vector<std::span<const float>> mixed;
      for (const auto& [row, share] : jobs_[j].mix) mixed.push_back(rows_[row]);
      expect_as_drawn(jobs_[j], {rows_[jobs_[j].row], mixed}, results[j]);
    }
  }

 private:
  static constexpr std::pair<int, float> kMix[] = {{0, 1.5f}, {4, -0.5f}};

  static float logit(int kind, float x, float y) {
    switch (kind) {
      case 0:
        return 3 * x + 0.01f * y;  // wide
      case 1:
        return 5 * x;  // one far above all others
      case 2:
        return 0.25f;  // all the same
      case 3:
        return std::round(4 * x) + 0.0f;  // many ties, no negative zero
      case 4:
        return 30 * x * x * x + y;  // peaked
      default:
        return y / 8 - 200;  // flat, far from 0
    }
  }

  int vocab_;
  std::vector<std::vector<float>> rows_;  // of logits
  std::vector<HeadJob> jobs_;
};

// Vocabularies within a block of the CPU's and a tile of the GPU's head, and across several. Each
// on a back end of its own, since steps may be replayed with the weights of the first.
template <typename MakeOps>
void expect_every_draw(const MakeOps& make_ops) {
  for (const int vocab : {37, 3001}) EveryDraw(vocab).expect_from(*make_ops());
}

}  // namespace counterbeam
