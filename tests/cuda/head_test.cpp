// Tests the head on the device: tokens and log-probabilities must equal those of backend/draw.h for
// the same logits, whatever other jobs are in the launch.
#include <algorithm>

#include "backend/cuda/head_job.h"
#include "backend/naive_draw.h"
#include "cuda_support.h"

namespace counterbeam {
namespace {

using CudaHead = CudaTest;

// Rows of logits of several kinds, on the host and on the device.
class Logits {
 public:
  Logits(int rows, int vocab, int stride) : rows_(rows), vocab_(vocab), stride_(stride) {
    values.assign(std::size_t(rows) * std::size_t(stride), std::nanf(""));
    Numbers numbers(31);
    for (int r = 0; r < rows; ++r) {
      for (int i = 0; i < vocab; ++i) at(r, i) = make(r % 6, numbers);
      if (r % 6 == 1) at(r, (r * 977) % vocab) = 40;
    }
  }
  float& at(int row, int id) { return values[std::size_t(row) * std::size_t(stride_) + id]; }
  std::span<const float> row(int r) const {
    return std::span(values).subspan(std::size_t(r) * std::size_t(stride_), std::size_t(vocab_));
  }
  int rows() const { return rows_; }
  int vocab() const { return vocab_; }
  int stride() const { return stride_; }

  std::vector<float> values;

 private:
  static float make(int kind, Numbers& numbers) {
    const float x = numbers.next(), y = numbers.next();
    switch (kind) {
      case 0:
        return 3 * x + 0.01f * y;  // wide
      case 1:
        return 5 * x + 0.1f * y;  // one far above all others
      case 2:
        return 0.25f;  // all the same
      case 3:
        return std::round(4 * x);  // many ties
      case 4:
        return 30 * x * x * x + y;  // peaked, some far below
      default:
        return 1e-3f * x - 200 + y / 8;  // flat, far from 0
    }
  }
  int rows_, vocab_, stride_;
};

std::vector<HeadResult> run(const Logits& logits, const std::vector<HeadJob>& jobs,
                            int padding = 0) {
  cuda::DeviceJobs device;
  for (const HeadJob& job : jobs) device.add(job, logits.vocab(), 0, 0);
  for (int i = 0; i < padding; ++i) device.jobs.emplace_back();
  const int count = static_cast<int>(device.jobs.size());
  const DeviceArray<float> device_logits(logits.values);
  const DeviceArray<cuda::DeviceJob> in(device.jobs);
  const DeviceArray<cuda::DeviceMix> in_mixes(device.mixes);
  const DeviceArray<cuda::DeviceResult> out(device.jobs.size());
  const DeviceArray<char> workspace(
      cuda::head_workspace(logits.rows(), count, logits.vocab(), device.kind));
  cuda::head_jobs(nullptr, device_logits.data(), logits.rows(), logits.stride(), logits.vocab(),
                  in.data(), count, in_mixes.data(), device.kind, out.data(), workspace.data());
  std::vector<HeadResult> results;
  for (const cuda::DeviceResult& result : out.get())
    results.push_back(
        {TokenId{result.token}, result.logprob, result.drawn_logprob, result.finite != 0});
  results.resize(jobs.size());
  return results;
}

void expect_as_drawn(const Logits& logits, const HeadJob& job, const HeadResult& got,
                     TokenId drawn = -1) {
  std::vector<std::span<const float>> mixed;
  for (const auto& [row, share] : job.mix) mixed.push_back(logits.row(row));
  expect_as_drawn(job, {logits.row(job.row), mixed}, got, drawn);
}

constexpr Sampling kSamplings[] = {
    {1.0f, 1.0f, 0},
    {0.7f, 1.0f, 0},
    {0.0f, 1.0f, 0},
    {3.0f, 1.0f, 0},
    {0.05f, 1.0f, 0},
    {1.0f, 0.9f, 0},
    {0.8f, 0.95f, 0},
    {2.0f, 0.999f, 0},
    {1.0f, 1e-6f, 0},
    {1.0f, 0.5031f, 5000},
    {1.0f, 1.0f, 1},
    {1.0f, 1.0f, 20},
    {0.6f, 0.8f, 50},
    {1.5f, 0.3f, 2},
    {1.0f, 1.0f, 700},
    {1.0f, 0.99f, 64},
    {0.0f, 0.5f, 3},
    {1e-3f, 0.9f, 40},
    // With min-p: alone, with each of the others and with both.
    {1.0f, 1.0f, 0, 0.05f},
    {0.7f, 1.0f, 0, 0.9f},
    {3.0f, 1.0f, 0, 1.0f},
    {1.0f, 1.0f, 0, 1e-30f},
    {1.0f, 0.9f, 0, 0.02f},
    {2.0f, 0.999f, 0, 1e-6f},
    {0.5f, 0.3f, 0, 0.5f},
    {1.0f, 1.0f, 20, 0.1f},
    {1.0f, 1.0f, 700, 0.01f},
    {0.6f, 0.8f, 50, 0.03f},
    {1.0f, 0.5031f, 5000, 0.2f},
    {1e-3f, 0.9f, 40, 0.4f},
    {0.0f, 1.0f, 0, 0.5f},
};

// `count` draws with every sampling above.
std::vector<HeadJob> draws(const Logits& logits, int count, bool filtered) {
  std::vector<HeadJob> jobs;
  for (std::uint32_t i = 0; i < std::uint32_t(count); ++i) {
    for (const Sampling& sampling : kSamplings) {
      if (!filtered && filters(sampling, logits.vocab())) continue;
      HeadJob job;
      job.row = static_cast<int>(i) % logits.rows();
      job.sampling = sampling;
      job.key = {.seed = 5, .position = i};
      if (i % 3 == 0) job.vocab_limit = std::max(1, logits.vocab() - 1 - static_cast<int>(i) * 7);
      jobs.push_back(job);
    }
  }
  return jobs;
}

TEST_F(CudaHead, DrawsLikeThePlainCode) {
  constexpr struct {
    int vocab, stride, count;
  } kSizes[] = {{3001, 3008, 90}, {1024, 1024, 30}, {37, 41, 12}, {1, 8, 2}, {5003, 5003, 30}};
  for (const auto& size : kSizes) {
    const Logits logits(12, size.vocab, size.stride);
    for (const bool filtered : {false, true}) {
      const auto jobs = draws(logits, size.count, filtered);
      const auto results = run(logits, jobs, 3);
      for (std::size_t i = 0; i < jobs.size(); ++i) expect_as_drawn(logits, jobs[i], results[i]);
    }
  }
}

TEST_F(CudaHead, DrawsFromAWholeVocabulary) {
  const Logits logits(6, 151936, 152064);
  const auto jobs = draws(logits, 6, true);
  const auto results = run(logits, jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) expect_as_drawn(logits, jobs[i], results[i]);
}

// Every path of the filter (few scores in a bin, ties to the last digit, all of a bin, by count and
// by mass), in few jobs because racecheck is slow.
TEST_F(CudaHead, AFewCutsThroughSmallRankings) {
  const Logits logits(6, 1100, 1100);
  std::vector<HeadJob> jobs;
  for (const int row : {0, 2, 3}) {
    for (const Sampling& sampling :
         {Sampling{1.0f, 0.9f, 0}, Sampling{1.0f, 1.0f, 20}, Sampling{0.6f, 0.5f, 700},
          Sampling{1.0f, 1.0f, 0, 0.1f}, Sampling{0.8f, 0.7f, 0, 0.05f},
          Sampling{1.0f, 0.6f, 30, 0.2f}}) {
      HeadJob job;
      job.row = row;
      job.sampling = sampling;
      job.key = {.seed = 8, .position = std::uint32_t(jobs.size())};
      jobs.push_back(job);
    }
  }
  const auto results = run(logits, jobs, 1);
  for (std::size_t i = 0; i < jobs.size(); ++i) expect_as_drawn(logits, jobs[i], results[i]);
}

// Of equally likely tokens exactly those with the lowest ids are kept.
TEST_F(CudaHead, CutsBetweenTies) {
  Logits logits(1, 2500, 2500);
  for (int id = 0; id < 2500; ++id) logits.at(0, id) = id % 50 == 7 ? 3.0f : -1.0f - float(id % 9);
  const auto tokens = [&](const Sampling& sampling) {
    std::vector<HeadJob> jobs(200);
    for (std::uint32_t i = 0; i < jobs.size(); ++i) {
      jobs[i].sampling = sampling;
      jobs[i].key = {.seed = 9, .position = i};
    }
    std::vector<int> drawn;
    for (const HeadResult& result : run(logits, jobs)) drawn.push_back(int(result.token));
    std::sort(drawn.begin(), drawn.end());
    drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
    return drawn;
  };
  EXPECT_EQ(tokens({1.0f, 1.0f, 3}), (std::vector<int>{7, 57, 107}));
  EXPECT_EQ(tokens({0.5f, 0.49f, 4}), (std::vector<int>{7, 57}));
  EXPECT_EQ(tokens({0.1f, 0.05f, 0}), (std::vector<int>{7, 57, 107}));
  // min-p keeps all of the 50 likeliest, and as many of them as the filters after it leave.
  EXPECT_EQ(tokens({0.1f, 0.05f, 0, 0.5f}), (std::vector<int>{7, 57, 107}));
  EXPECT_EQ(tokens({1.0f, 1.0f, 3, 1.0f}), (std::vector<int>{7, 57, 107}));
  EXPECT_EQ(tokens({1.0f, 0.49f, 4, 1.0f}), (std::vector<int>{7, 57}));
  for (const int token : tokens({1.0f, 1.0f, 0, 1.0f})) EXPECT_EQ(token % 50, 7) << token;
  for (const int token : tokens({1.0f, 1.0f, 0, 0.02f})) EXPECT_EQ(token % 50, 7) << token;
}

// The token just above the floor of min-p is kept and the one just below is not: the neighbours of
// the floor among float32 numbers, found on the host.
TEST_F(CudaHead, MinPCutsBetweenNeighbouringNumbers) {
  for (const Sampling sampling : {Sampling{1.0f, 1.0f, 0, 0.1f}, Sampling{0.7f, 1.0f, 0, 0.03f},
                                  Sampling{1.0f, 0.999f, 0, 0.3f}, Sampling{2.0f, 1.0f, 2, 0.5f}}) {
    for (const float top : {-300.0f, 0.0f, 17.3f}) {
      Logits logits(1, 2100, 2100);
      for (int id = 0; id < 2100; ++id) logits.at(0, id) = top - 60;
      const double floor = double(top) - min_p_reach(sampling);
      float kept = static_cast<float>(floor);
      if (double(kept) < floor) kept = std::nextafter(kept, INFINITY);
      logits.at(0, 100) = std::nextafter(kept, -INFINITY);
      logits.at(0, 1500) = top;
      logits.at(0, 2000) = kept;
      std::vector<HeadJob> jobs(400);
      for (std::uint32_t i = 0; i < jobs.size(); ++i) {
        jobs[i].sampling = sampling;
        jobs[i].key = {.seed = 19, .position = i};
      }
      std::vector<int> drawn;
      for (const HeadResult& result : run(logits, jobs)) drawn.push_back(int(result.token));
      EXPECT_GT(std::count(drawn.begin(), drawn.end(), 1500), 0) << sampling.min_p;
      EXPECT_GT(std::count(drawn.begin(), drawn.end(), 2000), 0) << sampling.min_p;
      EXPECT_EQ(std::count_if(drawn.begin(), drawn.end(),
                              [](int id) { return id != 1500 && id != 2000; }),
                0)
          << sampling.min_p;
    }
  }
}

TEST_F(CudaHead, MixesRowsAndKeepsPlausibleTokens) {
  const Logits logits(12, 3001, 3008);
  const std::pair<int, float> mix[] = {{4, 1.5f}, {0, -0.5f}, {6, 0.25f}};
  std::vector<HeadJob> jobs;
  for (std::uint32_t i = 0; i < 300; ++i) {
    HeadJob job;
    job.row = i % 7 == 6 ? 0 : 4;
    if (i % 7 != 5) job.mix = std::span(mix).first(1 + i % 3);
    job.plausibility = i % 2 == 0 ? 0.05f : 0.0f;
    job.sampling = {i % 5 == 0 ? 0.0f : 0.9f, i % 4 == 0 ? 0.9f : 1.0f, i % 3 == 0 ? 30 : 0,
                    i % 8 < 3 ? 0.04f : 0.0f};
    job.vocab_limit = i % 11 == 0 ? 2500 : 0;
    job.key = {.seed = 6, .position = i};
    jobs.push_back(job);
  }
  const auto results = run(logits, jobs, 1);
  for (std::size_t i = 0; i < jobs.size(); ++i) expect_as_drawn(logits, jobs[i], results[i]);
}

TEST_F(CudaHead, ScoresGivenAndFollowedTokens) {
  const Logits logits(6, 3001, 3001);
  std::vector<HeadJob> jobs(5);
  jobs[0].row = 0;
  jobs[0].key = {.seed = 7};
  jobs[1].row = 5;
  jobs[1].follows = 0;
  jobs[2].row = 3;
  jobs[2].given = 2999;
  jobs[3].row = 4;
  jobs[3].follows = 1;
  jobs[4].row = 1;
  jobs[4].follows = 2;
  const auto results = run(logits, jobs);
  EXPECT_EQ(results[1].token, results[0].token);
  EXPECT_EQ(results[4].token, 2999);
  expect_as_drawn(logits, jobs[0], results[0]);
  expect_as_drawn(logits, jobs[1], results[1], results[0].token);
  expect_as_drawn(logits, jobs[2], results[2]);
  expect_as_drawn(logits, jobs[3], results[3], results[0].token);
  expect_as_drawn(logits, jobs[4], results[4], 2999);
}

TEST_F(CudaHead, AJobDoesNotDependOnTheOthers) {
  const Logits logits(12, 5003, 5008);
  const std::pair<int, float> mix[] = {{0, 1.0f}, {3, 0.5f}};
  auto jobs = draws(logits, 6, true);
  for (std::size_t i = 0; i < jobs.size(); i += 9) jobs[i].mix = mix;
  const auto together = run(logits, jobs, 5);
  const auto again = run(logits, jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const HeadResult alone = run(logits, {jobs[i]})[0];
    for (const HeadResult& other : {together[i], again[i]}) {
      EXPECT_EQ(alone.token, other.token) << i;
      EXPECT_EQ(alone.logprob, other.logprob) << i;
      EXPECT_EQ(alone.drawn_logprob, other.drawn_logprob) << i;
    }
  }
}

TEST_F(CudaHead, RowsThatAreNotFiniteFailAlone) {
  for (const float value : {std::nanf(""), float(INFINITY), float(-INFINITY)}) {
    for (const int place : {0, 1500, 3000}) {
      Logits logits(8, 3001, 3004);
      logits.at(3, place) = value;
      std::vector<HeadJob> jobs(8);
      for (int r = 0; r < 8; ++r) {
        jobs[std::size_t(r)].row = r;
        if (r % 2 == 1) jobs[std::size_t(r)].sampling = {1.0f, 0.9f, 40};
      }
      jobs[3].vocab_limit = 1000;
      const std::pair<int, float> mix[] = {{3, 1.0f}};
      jobs[5].mix = mix;
      jobs[6].follows = 3;
      jobs[7].follows = 6;
      const auto results = run(logits, jobs);
      for (int r = 0; r < 8; ++r)
        EXPECT_EQ(results[std::size_t(r)].finite, r != 3 && r < 5) << "row " << r;
    }
  }
}

}  // namespace
}  // namespace counterbeam
