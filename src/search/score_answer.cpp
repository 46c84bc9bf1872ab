#include "search/score_answer.h"

#include <numeric>

#include "base/error.h"

namespace counterbeam {
namespace {

double sum_of(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

Candidate score_answer(const Task& task, std::span<const TokenId> tokens, double steer) {
  if (tokens.empty()) bad_input("the answer to score is empty");
  Ledger ledger;
  Beam beam = open_beam(task, ledger);
  std::vector<ScoreRequest> requests = {{&beam.base, tokens}};
  if (task.prompts.contrast()) {
    requests.push_back({&beam.positive, tokens});
    requests.push_back({&beam.negative, tokens});
  }
  auto logprobs = task.engine.score(requests, task.cancellation);
  Candidate answer;
  answer.tokens.assign(tokens.begin(), tokens.end());
  answer.logprobs.base = std::move(logprobs[0]);
  if (task.prompts.contrast()) {
    answer.logprobs.positive = std::move(logprobs[1]);
    answer.logprobs.negative = std::move(logprobs[2]);
  }
  answer.sums = {sum_of(answer.logprobs.base), sum_of(answer.logprobs.positive),
                 sum_of(answer.logprobs.negative), static_cast<std::int64_t>(tokens.size())};
  answer.rank = answer.score = score(answer.sums, steer);
  return answer;
}

}  // namespace counterbeam
