// Tests the head of the CPU back end: the draws and log-probabilities must equal those of
// backend/draw.h for the same logits, whatever other jobs are in the call.
#include "backend/draw.h"
#include "cpu_support.h"

namespace counterbeam {
namespace {

class CpuHead : public CpuPaths {
 protected:
  static constexpr int kRows = 7, kIn = 40, kVocab = 3001;

  void SetUp() override {
    CpuPaths::SetUp();
    if (IsSkipped()) return;
    ops_ = fast();
    Numbers numbers(11);
    weights_ = numbers.many(std::size_t(kVocab) * kIn);
    for (float& w : weights_) w *= 4;
    inputs_ = numbers.many(std::size_t(kRows) * kIn);
    table_ = pack(*ops_, weights_, kVocab, kIn);
    logits_.resize(std::size_t(kRows) * kVocab);
    begin_rows(*ops_, kRows);
    ops_->logits(logits_, put(*ops_, inputs_, kRows, kIn), *table_);
  }

  std::span<const float> logits(int row) const {
    return std::span(logits_).subspan(std::size_t(row) * kVocab, kVocab);
  }
  std::vector<HeadResult> run(const std::vector<HeadJob>& jobs) {
    begin_rows(*ops_, kRows);
    return ops_->head(put(*ops_, inputs_, kRows, kIn), *table_, jobs);
  }
  void expect_as_drawn(const HeadJob& job, const HeadResult& got, TokenId drawn = -1) const {
    std::vector<std::span<const float>> mixed;
    for (const auto& [row, share] : job.mix) mixed.push_back(logits(row));
    const HeadResult expected = run_head_job(job, {logits(job.row), mixed}, drawn);
    EXPECT_EQ(got.token, expected.token);
    EXPECT_NEAR(got.logprob, expected.logprob, 2e-5);
    EXPECT_NEAR(got.drawn_logprob, expected.drawn_logprob, 1e-4);
    EXPECT_TRUE(got.finite);
  }

  std::unique_ptr<Ops> ops_;
  std::vector<float> weights_, inputs_, logits_;
  std::unique_ptr<PackedMatrix> table_;
};
INSTANTIATE_TEST_SUITE_P(Paths, CpuHead, ::testing::ValuesIn(all_paths()), path_name);

TEST_P(CpuHead, DrawsLikeThePlainCode) {
  const Sampling samplings[] = {{1.0f, 1.0f, 0},        {0.7f, 1.0f, 0},        {0.0f, 1.0f, 0},
                                {1.0f, 0.9f, 0},        {0.8f, 0.95f, 0},       {1.0f, 1.0f, 20},
                                {0.6f, 0.8f, 50},       {2.0f, 0.999f, 0},      {1.0f, 0.5f, 5000},
                                {1.0f, 1.0f, 0, 0.05f}, {0.6f, 0.8f, 50, 0.03f}};
  std::vector<HeadJob> jobs;
  for (std::uint32_t i = 0; i < 40; ++i) {
    for (const Sampling& sampling : samplings) {
      HeadJob job;
      job.row = static_cast<int>(i) % kRows;
      job.sampling = sampling;
      job.key = {.seed = 5, .position = i};
      job.vocab_limit = i % 3 == 0 ? 2500 : 0;
      jobs.push_back(job);
    }
  }
  const auto results = run(jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) expect_as_drawn(jobs[i], results[i]);
}

TEST_P(CpuHead, GivesTheLikeliestTokens) {
  std::vector<HeadJob> jobs;
  for (int i = 0; i < 200; ++i) {  // more rows than a chunk holds, and jobs of all kinds
    HeadJob job;
    job.row = i % kRows;
    if (i % 3 == 1) job.given = 17 * i % kVocab;
    job.sampling = {i % 3 == 0 ? 0.0f : 1.0f};
    job.key = {.seed = 8, .position = static_cast<std::uint32_t>(i)};
    job.vocab_limit = i % 2 == 0 ? 2500 : 0;
    job.top = i % 4 == 3 ? 0 : 1 + i % 20;
    jobs.push_back(job);
  }
  const auto results = run(jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    expect_as_drawn(jobs[i], results[i]);
    const HeadResult expected = run_head_job(jobs[i], {logits(jobs[i].row), {}}, -1);
    ASSERT_EQ(results[i].top.size(), static_cast<std::size_t>(jobs[i].top));
    for (std::size_t k = 0; k < expected.top.size(); ++k) {
      EXPECT_EQ(results[i].top[k].token, expected.top[k].token);
      EXPECT_NEAR(results[i].top[k].logprob, expected.top[k].logprob, 2e-5);
      if (results[i].top[k].token == results[i].token) {
        EXPECT_EQ(results[i].top[k].logprob, results[i].logprob) << "the same number";
      }
    }
    HeadJob alone = jobs[i];
    alone.top = 0;
    EXPECT_EQ(run({alone})[0].logprob, results[i].logprob) << "asking for them changes no bit";
  }
}

TEST_P(CpuHead, MixesRowsAndKeepsPlausibleTokens) {
  const std::pair<int, float> mix[] = {{1, 1.5f}, {4, -0.5f}};
  std::vector<HeadJob> jobs;
  for (std::uint32_t i = 0; i < 30; ++i) {
    HeadJob job;
    job.row = 1;
    job.mix = mix;
    job.plausibility = i % 2 == 0 ? 0.05f : 0.0f;
    job.sampling = {i % 5 == 0 ? 0.0f : 0.9f, i % 4 == 0 ? 0.9f : 1.0f, i % 3 == 0 ? 30 : 0};
    job.key = {.seed = 6, .position = i};
    jobs.push_back(job);
  }
  const auto results = run(jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) expect_as_drawn(jobs[i], results[i]);
}

TEST_P(CpuHead, ScoresGivenAndFollowedTokens) {
  std::vector<HeadJob> jobs(3);
  jobs[0].row = 2;
  jobs[0].key = {.seed = 7};
  jobs[1].row = 5;
  jobs[1].follows = 0;
  jobs[2].row = 3;
  jobs[2].given = 2999;
  const auto results = run(jobs);
  EXPECT_EQ(results[1].token, results[0].token);
  expect_as_drawn(jobs[1], results[1], results[0].token);
  expect_as_drawn(jobs[2], results[2]);
}

TEST_P(CpuHead, AJobDoesNotDependOnTheOthers) {
  // More jobs than fit in one chunk of logits, some with a given token, compared with each job
  // alone.
  const int rows = 450;
  Numbers numbers(12);
  const auto inputs = numbers.many(std::size_t(rows) * kIn);
  const std::pair<int, float> far[] = {{0, 1.0f}, {149, 0.5f}};
  std::vector<HeadJob> jobs;
  for (int r = 0; r < rows; ++r) {
    HeadJob job;
    job.row = r;
    job.key = {.seed = 8, .position = std::uint32_t(r)};
    if (r % 10 == 9) {
      job.follows = r - 9;
    } else if (r % 3 == 1) {
      job.given = r;
    } else if (r % 50 == 2) {
      job.mix = far;
    }
    jobs.push_back(job);
  }
  const auto run_rows = [&](Ops& ops, std::span<const HeadJob> some) {
    begin_rows(ops, rows);
    const auto table = pack(ops, weights_, kVocab, kIn);
    return ops.head(put(ops, inputs, rows, kIn), *table, some);
  };
  const auto together = run_rows(*ops_, jobs);
  const auto single = fast(1);
  for (int j = 0; j < rows; j += 7) {
    HeadJob job = jobs[j];
    if (job.follows >= 0) {
      job.given = together[job.follows].token;
      job.follows = -1;
    }
    const HeadResult alone = run_rows(*single, {&job, 1})[0];
    EXPECT_EQ(alone.token, together[j].token);
    EXPECT_EQ(alone.logprob, together[j].logprob);
    EXPECT_EQ(alone.drawn_logprob, together[j].drawn_logprob);
  }
}

TEST_P(CpuHead, OnlyNonFiniteRowsFail) {
  const float bad[] = {std::nanf(""), INFINITY, -INFINITY};
  for (const float value : bad) {
    auto inputs = inputs_;
    inputs[3 * kIn] = value;
    std::vector<HeadJob> jobs(kRows);
    for (int r = 0; r < kRows; ++r) jobs[r].row = r;
    const std::pair<int, float> mix[] = {{3, 1.0f}};
    jobs[5].mix = mix;
    jobs[6].follows = 3;
    begin_rows(*ops_, kRows);
    const auto results = ops_->head(put(*ops_, inputs, kRows, kIn), *table_, jobs);
    for (int r = 0; r < kRows; ++r) EXPECT_EQ(results[r].finite, r != 3 && r < 5) << r;
  }
}

}  // namespace
}  // namespace counterbeam
