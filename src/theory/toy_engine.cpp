#include "theory/toy_engine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

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

std::vector<double> log_probabilities(const ToyModel& model, const Sequence& sequence) {
  const ToyState& state = state_of(sequence);
  std::vector<double> logs;
  for (double p : model.probabilities(state.context, state.tokens)) logs.push_back(std::log(p));
  return logs;
}

constexpr double kNever = -std::numeric_limits<double>::infinity();

// Log-probabilities of the distribution that sampling draws from.
std::vector<double> shaped(std::vector<double> logs, const Sampling& sampling) {
  std::vector<std::size_t> order(logs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return logs[a] > logs[b]; });
  if (sampling.temperature == 0) {
    std::fill(logs.begin(), logs.end(), kNever);
    logs[order[0]] = 0;
    return logs;
  }
  const double top = logs[order[0]];
  double sum = 0;
  for (double& value : logs) sum += std::exp(value = (value - top) / sampling.temperature);
  double mass = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const bool cut = (sampling.top_k > 0 && place >= static_cast<std::size_t>(sampling.top_k)) ||
                     mass >= sampling.top_p * sum;
    if (cut && place > 0)
      logs[order[place]] = kNever;
    else
      mass += std::exp(logs[order[place]]);
  }
  for (double& value : logs) value -= std::log(mass);
  return logs;
}

std::size_t draw(const std::vector<double>& logs, double u) {
  std::size_t last = 0;
  for (std::size_t v = 0; v < logs.size(); ++v) {
    if (logs[v] == kNever) continue;
    last = v;
    u -= std::exp(logs[v]);
    if (u < 0) break;
  }
  return last;
}

std::vector<double> mixed(const ExtendRequest& request, const std::vector<double>& base,
                          const std::vector<std::vector<double>>& others) {
  if (request.mix.empty()) return base;
  std::vector<double> sum(base.size());
  const double top = *std::max_element(base.begin(), base.end());
  for (std::size_t v = 0; v < base.size(); ++v) {
    sum[v] = request.mix[0] * base[v];
    for (std::size_t i = 0; i < others.size(); ++i) sum[v] += request.mix[i + 1] * others[i][v];
    if (request.plausibility > 0 && base[v] < top + std::log(request.plausibility)) sum[v] = kNever;
  }
  return sum;
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
    const std::vector<double> base = log_probabilities(model_, *request.sequence);
    std::vector<std::vector<double>> others;
    for (const Sequence* follower : request.followers)
      others.push_back(log_probabilities(model_, *follower));
    const std::vector<double> policy = shaped(mixed(request, base, others), request.sampling);
    DrawKey key = request.key;
    key.position += static_cast<std::uint32_t>(i);
    const std::size_t v = draw(policy, uniform(key));
    const auto token = static_cast<TokenId>(v);
    ++tokens_drawn_;
    result.tokens.push_back(token);
    result.logprobs.push_back(static_cast<float>(base[v]));
    result.drawn_logprobs.push_back(static_cast<float>(policy[v]));
    state_of(*request.sequence).tokens.push_back(token);
    for (std::size_t f = 0; f < others.size(); ++f) {
      result.follower_logprobs[f].push_back(static_cast<float>(others[f][v]));
      state_of(*request.followers[f]).tokens.push_back(token);
    }
    result.stopped =
        std::find(request.stop.begin(), request.stop.end(), token) != request.stop.end();
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
      logprobs.push_back(static_cast<float>(
          log_probabilities(model_, *request.sequence)[static_cast<std::size_t>(token)]));
      state_of(*request.sequence).tokens.push_back(token);
    }
  }
  return results;
}

}  // namespace counterbeam
