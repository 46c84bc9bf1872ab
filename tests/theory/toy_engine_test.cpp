// The toy engine draws as the back ends do.
#include "theory/toy_engine.h"

#include <set>

#include "backend/every_sampling.h"

namespace counterbeam {
namespace {

struct Drawn {
  TokenId token;
  float logprob, drawn_logprob;
};

// The first token of an answer.
Drawn draw(ToyEngine& engine, ExtendRequest request) {
  const Prompts prompts = engine.prompts(true);
  const std::vector<std::vector<TokenId>> all = {prompts.base, prompts.positive, prompts.negative};
  auto sequences = engine.open(all, nullptr).sequences;
  request.sequence = &sequences[0];
  if (!request.mix.empty()) request.followers = {&sequences[1], &sequences[2]};
  request.max_tokens = 1;
  const Extension result = engine.extend({&request, 1}, nullptr)[0];
  return {result.tokens[0], result.logprobs[0], result.drawn_logprobs[0]};
}

TEST(ToyEngine, DrawsWithEverySamplingAsTheBackEndsDo) {
  const ToyModel model = ToyModel::random(37, 1, 6, 1.0);
  ToyEngine engine(model, {});
  std::vector<std::vector<float>> rows;
  for (const ToyContext context : {ToyContext::Base, ToyContext::Positive, ToyContext::Negative}) {
    rows.emplace_back();
    for (const double p : model.probabilities(context, {}))
      rows.back().push_back(static_cast<float>(std::log(p)));
  }
  const std::vector<std::span<const float>> spans(rows.begin(), rows.end());
  const std::pair<int, float> mix[] = {{0, 1.0f}, {1, 0.7f}, {2, -0.7f}};
  std::uint32_t position = 0;
  for (const Sampling& sampling : every_sampling()) {
    for (int i = 0; i < 20; ++i) {
      HeadJob job;
      job.sampling = sampling;
      job.key = {.seed = 51, .position = ++position};
      ExtendRequest request{.sampling = sampling, .key = job.key};
      JobLogits logits{rows[0], {}};
      if (i % 2 == 1) {
        job.mix = mix;
        job.plausibility = request.plausibility = i % 4 == 1 ? 0.2f : 0.0f;
        request.mix = {1.0f, 0.7f, -0.7f};
        logits.mix = spans;
      }
      const Drawn drawn = draw(engine, request);
      expect_as_drawn(job, logits, {drawn.token, drawn.logprob, drawn.drawn_logprob, true});
    }
  }
}

// It was relative to the whole vocabulary, as if top-k had taken nothing away.
TEST(ToyEngine, TopPIsRelativeToWhatTopKLeft) {
  ToyModel model(4, 1);
  const auto p = model.probabilities(ToyContext::Base, {});
  p[0] = 0.4, p[1] = 0.3, p[2] = 0.2, p[3] = 0.1;
  ToyEngine engine(model, {});
  std::set<TokenId> seen;
  for (std::uint32_t i = 0; i < 200; ++i)
    seen.insert(
        draw(engine, {.sampling = {.top_p = 0.55f, .top_k = 2}, .key = {.position = i}}).token);
  EXPECT_EQ(seen, (std::set<TokenId>{0}));  // 4/7 of what is left
}

}  // namespace
}  // namespace counterbeam
