// Recomputes a trace from its log-probabilities: sums, scores, duplicates, survivors, replication,
// pool and choice. It is a separate implementation of the algorithm, independent of the search
// code.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "search/search.h"

namespace counterbeam::testing {

struct Replayed {
  std::vector<TokenId> tokens;
  double base = 0, positive = 0, negative = 0;
  double score(const Settings& s) const {
    const double total = base + s.steer * (positive - negative);
    return s.aggregate == "sum" ? total : total / static_cast<double>(tokens.size());
  }
};

inline void replay(const Trace& trace, const std::vector<TokenId>& eos) {
  const Settings& s = trace.settings;
  const auto beams = static_cast<std::size_t>(s.beams);
  const auto survivors = static_cast<std::size_t>(std::max(1, s.beams / s.prune));
  std::map<int, Replayed> answers;
  std::vector<int> parents(beams, -1), pool;
  for (std::size_t t = 0; t < trace.blocks.size(); ++t) {
    const auto& block = trace.blocks[t];
    ASSERT_EQ(block.size(), beams);
    std::vector<int> open;
    std::set<std::vector<TokenId>> seen;
    std::map<int, Fate> expected;
    for (std::size_t i = 0; i < block.size(); ++i) {
      const TraceCandidate& c = block[i];
      ASSERT_EQ(c.parent, parents[i]) << "block " << t << " beam " << i;
      ASSERT_FALSE(answers.count(c.id)) << "ids are unique";
      Replayed answer = c.parent < 0 ? Replayed{} : answers.at(c.parent);
      ASSERT_FALSE(c.tokens.empty());
      ASSERT_LE(c.tokens.size(), static_cast<std::size_t>(s.block));
      for (std::size_t k = 0; k < c.tokens.size(); ++k) {
        answer.tokens.push_back(c.tokens[k]);
        answer.base += c.logprobs.base[k];
        if (!c.logprobs.positive.empty()) {
          answer.positive += c.logprobs.positive[k];
          answer.negative += c.logprobs.negative[k];
          const bool no_negative = s.contrast == "positive", no_positive = s.contrast == "negative";
          EXPECT_TRUE(!no_negative || c.logprobs.negative[k] == c.logprobs.base[k]);
          EXPECT_TRUE(!no_positive || c.logprobs.positive[k] == c.logprobs.base[k]);
        }
      }
      EXPECT_NEAR(c.sums.base, answer.base, 1e-9);
      EXPECT_NEAR(c.sums.positive, answer.positive, 1e-9);
      EXPECT_NEAR(c.sums.negative, answer.negative, 1e-9);
      EXPECT_NEAR(c.score, answer.score(s), 1e-9);
      answers[c.id] = answer;
      const bool ended = std::count(eos.begin(), eos.end(), c.tokens.back()) > 0;
      // Only the last block may finish a beam that has not ended.
      const bool last = t + 1 == trace.blocks.size() && c.fate == Fate::Finished;
      if (ended || last) {
        expected[c.id] = Fate::Finished;
        pool.push_back(c.id);
      } else if (!seen.insert(answer.tokens).second) {
        expected[c.id] = Fate::Duplicate;
      } else {
        open.push_back(c.id);
      }
    }
    std::stable_sort(open.begin(), open.end(),
                     [&](int a, int b) { return answers[a].score(s) > answers[b].score(s); });
    for (std::size_t i = 0; i < open.size(); ++i)
      expected[open[i]] = i < survivors ? Fate::Kept : Fate::Pruned;
    for (const TraceCandidate& c : block) EXPECT_EQ(c.fate, expected[c.id]) << "candidate " << c.id;
    if (open.size() > survivors) open.resize(survivors);
    if (open.empty()) {
      EXPECT_EQ(t + 1, trace.blocks.size()) << "a search without open beams ends";
      break;
    }
    for (std::size_t i = 0; i < beams; ++i) parents[i] = open[i % open.size()];
  }
  EXPECT_EQ(trace.pool, pool);
  ASSERT_FALSE(pool.empty());
  int best = pool[0];
  for (int id : pool)
    if (answers[id].score(s) > answers[best].score(s)) best = id;
  EXPECT_EQ(trace.selected, best);
}

}  // namespace counterbeam::testing
