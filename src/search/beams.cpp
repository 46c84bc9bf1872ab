#include "search/beams.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/error.h"
#include "engine/validate.h"
#include "search/methods.h"

namespace counterbeam {
namespace {

Sampling sampling_of(const Settings& settings) {
  Sampling sampling;
  auto& [temperature, top_p, top_k, min_p] = sampling;  // a new option must be set here
  temperature = static_cast<float>(settings.temperature);
  top_p = static_cast<float>(settings.top_p);
  top_k = settings.top_k;
  min_p = static_cast<float>(settings.min_p);
  return sampling;
}

std::int64_t longest_prompt(const Prompts& prompts) {
  return static_cast<std::int64_t>(
      std::max({prompts.base.size(), prompts.positive.size(), prompts.negative.size()}));
}

void append(std::vector<float>& all, double& sum, std::span<const float> fresh) {
  all.insert(all.end(), fresh.begin(), fresh.end());
  for (float value : fresh) sum += value;
}

// Weights of the base sequence and its followers; a side that is the base prompt adds to its
// weight.
std::vector<float> mixture_of(const Beam& beam, const Settings& settings) {
  const std::array<float, 3> weights = settings.method->mixture(settings);
  std::vector<float> mix = {weights[0]};
  if (beam.positive)
    mix.push_back(weights[1]);
  else
    mix[0] += weights[1];
  if (beam.negative)
    mix.push_back(weights[2]);
  else
    mix[0] += weights[2];
  return mix;
}

// Appends what was drawn, up to the first stop text. `contrast`: the beam has values of the
// contexts; a side without a sequence is the base prompt.
void take(Beam& beam, const Extension& fresh, const Stops* stops, bool contrast) {
  beam.block_start = beam.tokens.size();
  beam.tokens.insert(beam.tokens.end(), fresh.tokens.begin(), fresh.tokens.end());
  beam.ended = fresh.stopped;
  beam.dropped = 0;
  if (const auto end = stops ? stops->end_of(beam.tokens, beam.block_start) : std::nullopt) {
    beam.ended = true;
    beam.dropped = beam.tokens.size() - *end;
    beam.tokens.resize(*end);
  }
  const std::size_t kept = beam.tokens.size() - beam.block_start;
  append(beam.logprobs.base, beam.sums.base, std::span(fresh.logprobs).first(kept));
  const auto drawn = std::span(fresh.drawn_logprobs).first(kept);
  beam.logprobs.drawn.insert(beam.logprobs.drawn.end(), drawn.begin(), drawn.end());
  const auto top = std::span(fresh.top).first(std::min(kept, fresh.top.size()));
  beam.logprobs.top.insert(beam.logprobs.top.end(), top.begin(), top.end());
  if (contrast) {
    std::size_t follower = 0;
    const auto read = [&](const Sequence& side) {
      return std::span(side ? fresh.follower_logprobs[follower++] : fresh.logprobs).first(kept);
    };
    append(beam.logprobs.positive, beam.sums.positive, read(beam.positive));
    append(beam.logprobs.negative, beam.sums.negative, read(beam.negative));
  }
  beam.sums.tokens += static_cast<std::int64_t>(kept);
}

}  // namespace

Beam Beam::fork() const {
  Beam copy;
  static_cast<Candidate&>(copy) = *this;
  copy.base = base.fork();
  if (positive) copy.positive = positive.fork();
  if (negative) copy.negative = negative.fork();
  return copy;
}

Beam open_beam(const Task& task, Ledger& ledger) {
  Beam beam;
  std::vector<std::vector<TokenId>> prompts = {task.prompts.base};
  std::vector<Sequence*> sequences = {&beam.base};
  const auto add = [&](const std::vector<TokenId>& prompt, Sequence& sequence) {
    if (prompt.empty() || prompt == task.prompts.base) return;
    prompts.push_back(prompt);
    sequences.push_back(&sequence);
  };
  add(task.prompts.positive, beam.positive);
  add(task.prompts.negative, beam.negative);
  Opened opened = task.engine.open(prompts, task.cancellation);
  // The last token of a prompt is pending: it goes through the model with the first block.
  const auto pending = static_cast<std::int64_t>(opened.sequences.size());
  ledger.prompt_tokens += opened.computed_tokens + (opened.counted_later ? 0 : pending);
  ledger.cached_tokens += opened.cached_tokens;
  for (std::size_t i = 0; i < sequences.size(); ++i) *sequences[i] = std::move(opened.sequences[i]);
  return beam;
}

void extend_beams(const Task& task, std::span<Beam> beams, int limit, const Settings& settings,
                  std::uint32_t block, Ledger& ledger, std::span<const std::uint32_t> places) {
  const EngineInfo& engine = task.engine.info();
  const bool cache_is_shorter = engine.max_length < engine.model_length;
  const std::int64_t held = engine.max_length - longest_prompt(task.prompts);
  std::vector<ExtendRequest> requests;
  for (std::size_t i = 0; i < beams.size(); ++i) {
    Beam& beam = beams[i];
    ExtendRequest request;
    request.sequence = &beam.base;
    request.followers = context_sequences(beam);
    request.max_tokens = limit;
    // Asks for no more than the cache holds, because a stop text may end the answer first. A beam
    // without any room is refused by the engine.
    if (cache_is_shorter)
      request.max_tokens = static_cast<int>(
          std::clamp<std::int64_t>(held - static_cast<std::int64_t>(beam.tokens.size()), 1, limit));
    request.sampling = sampling_of(settings);
    request.key = {task.seed, task.question, block,
                   places.empty() ? static_cast<std::uint32_t>(i) : places[i],
                   static_cast<std::uint32_t>(beam.tokens.size())};
    request.stop = task.stops ? task.stops->ids() : engine.eos;
    if (settings.method->mixture) request.mix = mixture_of(beam, settings);
    request.plausibility = static_cast<float>(settings.plausibility);
    request.top = task.top;
    if (beams.size() == 1) request.on_token = task.on_token;
    requests.push_back(std::move(request));
  }
  const std::vector<Extension> extensions = task.engine.extend(requests, task.cancellation);
  for (std::size_t i = 0; i < beams.size(); ++i) {
    Beam& beam = beams[i];
    const Extension& fresh = extensions[i];
    const auto count = static_cast<std::int64_t>(fresh.tokens.size());
    take(beam, fresh, task.stops, task.prompts.contrast());
    if (requests[i].max_tokens < limit && !beam.ended) refuse_cut_answer(engine);
    beam.rank = beam.score = score(beam.sums, settings.steer, aggregate_of(settings));
    ledger.generated_tokens += count;
    ledger.scored_tokens += count * static_cast<std::int64_t>(fresh.follower_logprobs.size());
    add_read(fresh.read, ledger);
  }
}

void add_read(const ReadTokens& read, Ledger& ledger) {
  ledger.prompt_tokens += read.computed;
  ledger.cached_tokens += read.cached;
  ledger.scored_tokens -= read.remembered;
}

std::vector<Sequence*> context_sequences(Beam& beam) {
  std::vector<Sequence*> sequences;
  for (Sequence* side : {&beam.positive, &beam.negative})
    if (*side) sequences.push_back(side);
  return sequences;
}

void set_context_logprobs(Candidate& answer, const Beam& beam, std::span<std::vector<float>> read) {
  std::size_t next = 0;
  answer.logprobs.positive = beam.positive ? std::move(read[next++]) : answer.logprobs.base;
  answer.logprobs.negative = beam.negative ? std::move(read[next++]) : answer.logprobs.base;
  answer.sums.positive = sum_of(answer.logprobs.positive);
  answer.sums.negative = sum_of(answer.logprobs.negative);
}

double sum_of(std::span<const float> logprobs) {
  return std::accumulate(logprobs.begin(), logprobs.end(), 0.0);
}

int answer_limit(const Task& task, const Settings& settings) {
  const std::int64_t longest = longest_prompt(task.prompts);
  const EngineInfo& engine = task.engine.info();
  const std::int64_t most = std::max(engine.max_length, engine.model_length);
  const std::int64_t room = most - longest;
  if (room < 1)
    bad_input("the prompt has {} tokens, and the model reads at most {}: shorten the question",
              longest, most);
  return static_cast<int>(std::min<std::int64_t>(settings.max_tokens, room));
}

}  // namespace counterbeam
