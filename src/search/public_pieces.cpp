// The parts of the public interface for searches of your own: sequences, logits, and the table of
// methods.
#include "base/error.h"
#include "counterbeam/methods.h"
#include "search/contexts.h"
#include "search/methods.h"
#include "search/public_model.h"

namespace counterbeam {
namespace {

Sequence* behind(const LiveSequence* live, std::size_t request) {
  if (!live || !live->sequence()) bad_input("request {}: the sequence is empty", request);
  return live->sequence();
}

ExtendRequest engine_request(const ContinueRequest& asked, std::size_t index) {
  ExtendRequest request;
  request.sequence = behind(asked.sequence, index);
  for (const LiveSequence* follower : asked.followers)
    request.followers.push_back(behind(follower, index));
  request.max_tokens = asked.max_tokens;
  auto& [temperature, top_p, top_k, min_p] = request.sampling;  // a new option must be set here
  temperature = static_cast<float>(asked.temperature);
  top_p = static_cast<float>(asked.top_p);
  top_k = asked.top_k;
  min_p = static_cast<float>(asked.min_p);
  const DrawName& draw = asked.draw;
  if (draw.beam >= kMostBeams)
    bad_input("request {}: beam {} is out of range; allowed: 0 to {}", index, draw.beam,
              kMostBeams - 1);
  request.key = {draw.seed, draw.question, draw.block, draw.beam, draw.position};
  request.stop = asked.stop;
  request.mix = asked.mix;
  request.plausibility = static_cast<float>(asked.plausibility);
  request.top = asked.top;
  return request;
}

std::vector<LikelyTokens> likely_tokens(std::span<const TopTokens> tops) {
  std::vector<LikelyTokens> all;
  for (const TopTokens& top : tops) {
    LikelyTokens& likely = all.emplace_back();
    for (const TokenLogprob& one : top) likely.emplace_back(one.token, one.logprob);
  }
  return all;
}

Continuation continuation_of(Extension&& drawn) {
  Continuation result;
  result.tokens = std::move(drawn.tokens);
  result.logprobs = std::move(drawn.logprobs);
  result.drawn_logprobs = std::move(drawn.drawn_logprobs);
  result.follower_logprobs = std::move(drawn.follower_logprobs);
  result.top = likely_tokens(drawn.top);
  result.stopped = drawn.stopped;
  result.full = drawn.full;
  return result;
}

std::string type_of(const Setting& setting) {
  if (std::holds_alternative<int Settings::*>(setting.member)) return "int";
  if (std::holds_alternative<double Settings::*>(setting.member)) return "float";
  return std::holds_alternative<bool Settings::*>(setting.member) ? "bool" : "str";
}

SettingInfo setting_info(const Setting& setting, const Settings& defaults) {
  return {.name = std::string(setting.name),
          .type = type_of(setting),
          .help = std::string(setting.help),
          .otherwise = value_text(defaults, setting),
          .least = setting.least,
          .most = setting.most,
          .choices = {setting.choices.begin(), setting.choices.end()}};
}

}  // namespace

LiveSequence::LiveSequence() = default;
LiveSequence::LiveSequence(std::unique_ptr<Sequence> sequence) : sequence_(std::move(sequence)) {}
LiveSequence::~LiveSequence() = default;
LiveSequence::LiveSequence(LiveSequence&&) noexcept = default;
LiveSequence& LiveSequence::operator=(LiveSequence&&) noexcept = default;

LiveSequence LiveSequence::fork() const {
  return LiveSequence(std::make_unique<Sequence>(sequence_->fork()));
}

std::int64_t LiveSequence::length() const {
  return sequence_->length();
}

OpenedPrompts LanguageModel::open(const std::vector<std::vector<std::int32_t>>& prompts,
                                  const Cancellation* cancellation) const {
  Opened opened = parts_->model.engine().open(prompts, cancellation);
  OpenedPrompts result{.computed_tokens = opened.computed_tokens,
                       .cached_tokens = opened.cached_tokens};
  for (Sequence& sequence : opened.sequences)
    result.sequences.emplace_back(std::make_unique<Sequence>(std::move(sequence)));
  return result;
}

std::vector<Continuation> LanguageModel::extend(std::span<const ContinueRequest> requests,
                                                const Cancellation* cancellation) const {
  std::vector<ExtendRequest> inner;
  for (std::size_t i = 0; i < requests.size(); ++i) inner.push_back(engine_request(requests[i], i));
  std::vector<Continuation> results;
  for (Extension& drawn : parts_->model.engine().extend(inner, cancellation))
    results.push_back(continuation_of(std::move(drawn)));
  return results;
}

std::vector<TokensRead> LanguageModel::read(std::span<const ReadRequest> requests,
                                            const Cancellation* cancellation) const {
  std::vector<ScoreRequest> inner;
  std::vector<std::vector<TopTokens>> tops(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ScoreRequest request{behind(requests[i].sequence, i), requests[i].tokens};
    request.top = requests[i].top;
    request.top_tokens = &tops[i];
    inner.push_back(request);
  }
  std::vector<std::vector<float>> logprobs = parts_->model.engine().score(inner, cancellation);
  std::vector<TokensRead> results;
  for (std::size_t i = 0; i < requests.size(); ++i)
    results.push_back({std::move(logprobs[i]), likely_tokens(tops[i])});
  return results;
}

void LanguageModel::logits(
    std::span<const std::int32_t> ids,
    const std::function<void(std::size_t position, std::span<const float> row)>& row,
    const Cancellation* cancellation) const {
  parts_->model.engine().logits(
      ids,
      [&](int position, std::span<const float> values) {
        row(static_cast<std::size_t>(position), values);
      },
      cancellation);
}

std::vector<MethodInfo> method_table() {
  std::vector<MethodInfo> table;
  for (const Method& method : methods()) {
    const Settings defaults = default_settings(method);
    MethodInfo& info = table.emplace_back();
    info.name = method.name;
    info.help = method.help;
    info.traced = method.traced;
    info.ranked = method.ranked;
    info.votes = method.votes;
    for (const SettingUse& use : method.settings)
      info.settings.push_back(setting_info(*use.setting, defaults));
  }
  return table;
}

std::vector<ContextPair> known_context_pairs() {
  const auto pairs = named_contexts();
  return {pairs.begin(), pairs.end()};
}

}  // namespace counterbeam
