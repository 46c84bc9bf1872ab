#include "theory/toy_engine.h"

#include <algorithm>
#include <cmath>

#include "backend/draw.h"
#include "base/error.h"

namespace counterbeam {
namespace {

struct ToyState : SequenceState {
  ToyContext context = ToyContext::Base;
  std::vector<TokenId> tokens;  // of the answer

  std::unique_ptr<SequenceState> fork() const override { return std::make_unique<ToyState>(*this); }
  std::int64_t length() const override { return 1 + static_cast<std::int64_t>(tokens.size()); }
};

ToyState& state_of(const Sequence& sequence) {
  return *static_cast<ToyState*>(sequence.state());
}

// Of the next token. They serve as its logits too.
std::vector<float> log_probabilities(const ToyModel& model, const Sequence& sequence) {
  const ToyState& state = state_of(sequence);
  std::vector<float> logs;
  for (double p : model.probabilities(state.context, state.tokens))
    logs.push_back(static_cast<float>(std::log(p)));
  return logs;
}

// Draws token `index` of a request as the back ends do (backend/draw.h). Row 0 is the sequence, the
// others are its followers.
HeadResult draw(const ExtendRequest& request, int index, std::span<const std::vector<float>> rows) {
  std::vector<std::pair<int, float>> mix;
  std::vector<std::span<const float>> mixed_rows;
  for (std::size_t i = 0; i < request.mix.size(); ++i) {
    mix.emplace_back(static_cast<int>(i), request.mix[i]);
    mixed_rows.push_back(rows[i]);
  }
  HeadJob job;
  job.sampling = request.sampling;
  job.key = request.key;
  job.key.position += static_cast<std::uint32_t>(index);
  job.mix = mix;
  job.plausibility = request.plausibility;
  job.top = request.top;
  const HeadResult result = run_head_job(job, {rows[0], mixed_rows}, -1);
  if (!result.finite) bad_input("a toy model needs probabilities above 0 for every token");
  return result;
}

}  // namespace

ToyEngine::ToyEngine(ToyModel model, std::vector<TokenId> eos) : model_(std::move(model)) {
  info_.description = "toy model";
  info_.vocab_size = model_.vocab() + 3;
  info_.max_length = 1 + model_.horizon();
  info_.eos = std::move(eos);
}

Prompts ToyEngine::prompts(bool contrast) const {
  const TokenId first = model_.vocab();
  if (!contrast) return {{first}, {}, {}};
  return {{first}, {first + 1}, {first + 2}};
}

Opened ToyEngine::open(std::span<const std::vector<TokenId>> prompts, const Cancellation*) {
  Opened opened;
  for (const auto& prompt : prompts) {
    if (prompt.size() != 1 || prompt[0] < model_.vocab() || prompt[0] >= info_.vocab_size)
      bad_input("a toy prompt is one token, {} to {}", model_.vocab(), info_.vocab_size - 1);
    auto state = std::make_unique<ToyState>();
    state->context = static_cast<ToyContext>(prompt[0] - model_.vocab());
    opened.sequences.emplace_back(std::move(state));
  }
  return opened;
}

Extension ToyEngine::extend(const ExtendRequest& request) {
  Extension result;
  result.follower_logprobs.resize(request.followers.size());
  for (int i = 0; i < request.max_tokens && !result.stopped; ++i) {
    std::vector<std::vector<float>> rows = {log_probabilities(model_, *request.sequence)};
    for (const Sequence* follower : request.followers)
      rows.push_back(log_probabilities(model_, *follower));
    const HeadResult drawn = draw(request, i, rows);
    const auto v = static_cast<std::size_t>(drawn.token);
    ++tokens_drawn_;
    result.tokens.push_back(drawn.token);
    result.logprobs.push_back(rows[0][v]);
    result.drawn_logprobs.push_back(drawn.drawn_logprob);
    if (request.top > 0) result.top.push_back(drawn.top);
    if (request.on_token)
      request.on_token({drawn.token, rows[0][v], request.top > 0 ? &drawn.top : nullptr});
    state_of(*request.sequence).tokens.push_back(drawn.token);
    for (std::size_t f = 0; f < request.followers.size(); ++f) {
      result.follower_logprobs[f].push_back(rows[f + 1][v]);
      state_of(*request.followers[f]).tokens.push_back(drawn.token);
    }
    result.stopped =
        std::find(request.stop.begin(), request.stop.end(), drawn.token) != request.stop.end();
  }
  return result;
}

std::vector<Extension> ToyEngine::extend(std::span<const ExtendRequest> requests,
                                         const Cancellation*) {
  std::vector<Extension> results;
  for (const ExtendRequest& request : requests) results.push_back(extend(request));
  return results;
}

std::vector<std::vector<float>> ToyEngine::score(std::span<const ScoreRequest> requests,
                                                 const Cancellation*) {
  std::vector<std::vector<float>> results;
  for (const ScoreRequest& request : requests) {
    auto& logprobs = results.emplace_back();
    for (TokenId token : request.tokens) {
      if (token < 0 || token >= model_.vocab()) bad_input("token {} is not of the toy", token);
      const std::vector<float> row = log_probabilities(model_, *request.sequence);
      logprobs.push_back(row[static_cast<std::size_t>(token)]);
      if (request.top > 0) request.top_tokens->push_back(top_tokens(row, request.top, 0));
      state_of(*request.sequence).tokens.push_back(token);
    }
  }
  return results;
}

}  // namespace counterbeam
