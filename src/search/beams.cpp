#include "search/beams.h"

#include <algorithm>

#include "base/error.h"
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

void append(std::vector<float>& all, double& sum, const std::vector<float>& fresh) {
  all.insert(all.end(), fresh.begin(), fresh.end());
  for (float value : fresh) sum += value;
}

}  // namespace

Beam Beam::fork() const {
  Beam copy;
  static_cast<Candidate&>(copy) = *this;
  copy.base = base.fork();
  if (positive) {
    copy.positive = positive.fork();
    copy.negative = negative.fork();
  }
  return copy;
}

Beam open_beam(const Task& task, Ledger& ledger) {
  std::vector<std::vector<TokenId>> prompts = {task.prompts.base};
  if (task.prompts.contrast()) {
    prompts.push_back(task.prompts.positive);
    prompts.push_back(task.prompts.negative);
  }
  Opened opened = task.engine.open(prompts, task.cancellation);
  // The last token of a prompt is pending: it goes through the model with the first block.
  ledger.prompt_tokens +=
      opened.computed_tokens + static_cast<std::int64_t>(opened.sequences.size());
  ledger.cached_tokens += opened.cached_tokens;
  Beam beam;
  beam.base = std::move(opened.sequences[0]);
  if (task.prompts.contrast()) {
    beam.positive = std::move(opened.sequences[1]);
    beam.negative = std::move(opened.sequences[2]);
  }
  return beam;
}

void extend_beams(const Task& task, std::span<Beam> beams, int limit, const Settings& settings,
                  std::uint32_t block, Ledger& ledger, std::span<const std::uint32_t> places) {
  std::vector<ExtendRequest> requests;
  for (std::size_t i = 0; i < beams.size(); ++i) {
    Beam& beam = beams[i];
    ExtendRequest request;
    request.sequence = &beam.base;
    if (beam.positive) request.followers = {&beam.positive, &beam.negative};
    request.max_tokens = limit;
    request.sampling = sampling_of(settings);
    request.key = {task.seed, task.question, block,
                   places.empty() ? static_cast<std::uint32_t>(i) : places[i],
                   static_cast<std::uint32_t>(beam.tokens.size())};
    request.stop = task.engine.info().eos;
    if (settings.method->mixture) request.mix = settings.method->mixture(settings);
    request.plausibility = static_cast<float>(settings.plausibility);
    requests.push_back(std::move(request));
  }
  const std::vector<Extension> extensions = task.engine.extend(requests, task.cancellation);
  for (std::size_t i = 0; i < beams.size(); ++i) {
    Beam& beam = beams[i];
    const Extension& fresh = extensions[i];
    const auto count = static_cast<std::int64_t>(fresh.tokens.size());
    beam.block_start = beam.tokens.size();
    beam.tokens.insert(beam.tokens.end(), fresh.tokens.begin(), fresh.tokens.end());
    append(beam.logprobs.base, beam.sums.base, fresh.logprobs);
    beam.logprobs.drawn.insert(beam.logprobs.drawn.end(), fresh.drawn_logprobs.begin(),
                               fresh.drawn_logprobs.end());
    if (beam.positive) {
      append(beam.logprobs.positive, beam.sums.positive, fresh.follower_logprobs[0]);
      append(beam.logprobs.negative, beam.sums.negative, fresh.follower_logprobs[1]);
      ledger.scored_tokens += 2 * count;
    }
    beam.sums.tokens += count;
    beam.ended = fresh.stopped;
    beam.rank = beam.score = score(beam.sums, settings.steer);
    ledger.generated_tokens += count;
  }
}

int answer_limit(const Task& task, const Settings& settings) {
  const std::size_t longest = std::max(
      {task.prompts.base.size(), task.prompts.positive.size(), task.prompts.negative.size()});
  const std::int64_t room = task.engine.info().max_length - static_cast<std::int64_t>(longest);
  if (room < 1)
    bad_input("the prompt has {} tokens, and the model reads at most {}: shorten the question",
              longest, task.engine.info().max_length);
  return static_cast<int>(std::min<std::int64_t>(settings.max_tokens, room));
}

}  // namespace counterbeam
