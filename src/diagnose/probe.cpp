#include "diagnose/probe.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "search/method_strings.h"
#include "search/rerank.h"

namespace counterbeam {
namespace {

Task with_prompts(const Task& task, const Prompts& prompts) {
  return {task.engine, prompts, task.seed, task.question, task.cancellation, task.stops};
}

Settings sampling_settings(const Task& task, std::span<const Prompts> pairs,
                           const ProbeSettings& probe) {
  Settings settings = parse_method(
      fmt::format("best-of-n:beams={}:block={}:max-tokens={}:temperature=1:steer=0:contexts=none",
                  probe.samples, probe.block, probe.max_tokens));
  settings.max_tokens = answer_limit(task, settings);
  for (const Prompts& prompts : pairs)
    settings.max_tokens = answer_limit(with_prompts(task, prompts), settings);
  return settings;
}

// Different beginnings of that length, of answers that go on.
std::vector<ProbedFuture> siblings_at(const std::vector<ProbedAnswer>& answers, std::size_t tokens,
                                      int most) {
  std::vector<ProbedFuture> siblings;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].tokens.size() <= tokens) continue;
    const auto same = std::find_if(siblings.begin(), siblings.end(), [&](const ProbedFuture& one) {
      return std::equal(answers[i].tokens.begin(),
                        answers[i].tokens.begin() + static_cast<std::ptrdiff_t>(tokens),
                        answers[one.answer].tokens.begin());
    });
    if (same != siblings.end())
      ++same->times;
    else if (siblings.size() < static_cast<std::size_t>(most))
      siblings.push_back({.answer = i});
  }
  return siblings;
}

// One rollout: which sibling it continues, and what was drawn after its beginning.
struct Rollout {
  std::size_t sibling = 0;
  Candidate drawn;  // tokens and log-probs of the continuation alone
};

// Extends beams to their end, block by block so that stop texts end them.
void run_to_end(const Task& task, std::vector<Beam>& beams, std::span<const std::uint32_t> places,
                const Settings& settings) {
  Ledger ledger;
  std::vector<std::size_t> open(beams.size());
  for (std::size_t i = 0; i < open.size(); ++i) open[i] = i;
  auto length = static_cast<int>(beams.front().tokens.size());
  while (!open.empty() && length < settings.max_tokens) {
    std::vector<Beam> alive;
    std::vector<std::uint32_t> alive_places;
    for (const std::size_t i : open) {
      alive.push_back(std::move(beams[i]));
      alive_places.push_back(places[i]);
    }
    const int block = std::min(settings.block, settings.max_tokens - length);
    extend_beams(task, alive, block, settings, static_cast<std::uint32_t>(length / settings.block),
                 ledger, alive_places);
    std::vector<std::size_t> still_open;
    for (std::size_t k = 0; k < open.size(); ++k) {
      // An engine that is full returns fewer tokens than asked for.
      const bool full = alive[k].tokens.size() < static_cast<std::size_t>(length + block);
      if (!alive[k].ended && !full) still_open.push_back(open[k]);
      beams[open[k]] = std::move(alive[k]);
    }
    open = std::move(still_open);
    length += block;
  }
}

std::vector<Rollout> draw_rollouts(const Task& task, const std::vector<ProbedAnswer>& answers,
                                   const ScoringPoint& point, const Settings& settings,
                                   int rollouts, std::uint32_t first_place) {
  Ledger ledger;
  const Beam empty = open_beam(task, ledger);
  const auto length = static_cast<std::size_t>(point.tokens);
  std::vector<Beam> beginnings;
  std::vector<ScoreRequest> requests;
  for (std::size_t i = 0; i < point.siblings.size(); ++i) beginnings.push_back(empty.fork());
  for (std::size_t i = 0; i < point.siblings.size(); ++i) {
    const std::span<const TokenId> tokens = answers[point.siblings[i].answer].tokens;
    beginnings[i].tokens.assign(tokens.begin(), tokens.begin() + point.tokens);
    requests.push_back({&beginnings[i].base, tokens.first(length)});
  }
  task.engine.score(requests, task.cancellation);
  std::vector<Beam> beams;
  std::vector<Rollout> drawn;
  std::vector<std::uint32_t> places;
  for (std::size_t i = 0; i < beginnings.size(); ++i)
    for (int m = 0; m < rollouts; ++m) {
      places.push_back(first_place + static_cast<std::uint32_t>(beams.size()));
      beams.push_back(beginnings[i].fork());
      drawn.push_back({i, {}});
    }
  run_to_end(task, beams, places, settings);
  for (std::size_t i = 0; i < beams.size(); ++i) {
    drawn[i].drawn.tokens.assign(beams[i].tokens.begin() + point.tokens, beams[i].tokens.end());
    drawn[i].drawn.logprobs.base = std::move(beams[i].logprobs.base);
  }
  return drawn;
}

// The reward of every rollout under the contexts of the task's prompts.
std::vector<double> read_rollouts(const Task& task, const std::vector<ProbedAnswer>& answers,
                                  const ScoringPoint& point, std::vector<Rollout>& rollouts) {
  Ledger ledger;
  const Beam empty = open_beam(task, ledger);
  std::vector<Beam> beginnings;
  for (std::size_t i = 0; i < point.siblings.size(); ++i) beginnings.push_back(empty.fork());
  std::vector<ScoreRequest> requests;
  for (std::size_t i = 0; i < point.siblings.size(); ++i)
    for (Sequence* side : context_sequences(beginnings[i]))
      requests.push_back({side, std::span(answers[point.siblings[i].answer].tokens)
                                    .first(static_cast<std::size_t>(point.tokens))});
  task.engine.score(requests, task.cancellation);
  std::vector<Beam> beams;
  for (const Rollout& rollout : rollouts) beams.push_back(beginnings[rollout.sibling].fork());
  requests.clear();
  for (std::size_t i = 0; i < beams.size(); ++i)
    for (Sequence* side : context_sequences(beams[i]))
      requests.push_back({side, rollouts[i].drawn.tokens});
  auto read = task.engine.score(requests, task.cancellation);
  const std::size_t sides = requests.size() / rollouts.size();
  std::vector<double> rewards;
  for (std::size_t i = 0; i < rollouts.size(); ++i) {
    set_context_logprobs(rollouts[i].drawn, beams[i], std::span(read).subspan(sides * i, sides));
    rewards.push_back(rollouts[i].drawn.sums.reward());
  }
  return rewards;
}

void add_futures(const Task& task, std::span<const Prompts> pairs, const Settings& settings,
                 const ProbeSettings& probe, std::uint32_t first_place,
                 const std::vector<ProbedAnswer>& answers, ScoringPoint& point) {
  std::vector<Rollout> rollouts =
      draw_rollouts(task, answers, point, settings, probe.rollouts, first_place);
  for (ProbedFuture& sibling : point.siblings) sibling.rewards.resize(pairs.size());
  for (const Rollout& rollout : rollouts)
    point.siblings[rollout.sibling].tokens.push_back(static_cast<int>(rollout.drawn.tokens.size()));
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const std::vector<double> rewards =
        read_rollouts(with_prompts(task, pairs[p]), answers, point, rollouts);
    for (std::size_t i = 0; i < rollouts.size(); ++i)
      point.siblings[rollouts[i].sibling].rewards[p].push_back(rewards[i]);
  }
}

std::vector<ScoringPoint> points_of(const std::vector<ProbedAnswer>& answers,
                                    const ProbeSettings& probe) {
  std::size_t longest = 0;
  for (const ProbedAnswer& answer : answers) longest = std::max(longest, answer.tokens.size());
  const auto half = static_cast<int>(std::lround(static_cast<double>(longest) / 2 / probe.block));
  std::vector<ScoringPoint> points = {{ScoringPlace::FirstBlock, probe.block}};
  if (half > 1) points.push_back({ScoringPlace::Halfway, half * probe.block});
  for (ScoringPoint& point : points)
    point.siblings = siblings_at(answers, static_cast<std::size_t>(point.tokens), probe.siblings);
  std::erase_if(points, [](const ScoringPoint& point) { return point.siblings.size() < 2; });
  return points;
}

}  // namespace

ProbedQuestion probe_question(const Task& task, std::span<const Prompts> pairs,
                              const ProbeSettings& probe, bool futures) {
  CB_CHECK(!task.prompts.contrast() && !pairs.empty());
  if (!task.engine.info().abilities.given_logprobs)
    bad_input("diagnose needs log-probabilities of given tokens, which {} does not offer",
              task.engine.info().description);
  const Settings settings = sampling_settings(task, pairs, probe);
  std::vector<Ranking> rankings;
  for (const Prompts& prompts : pairs) rankings.push_back({prompts, 0, Aggregate::Mean});
  std::vector<SearchResult> read = rerank(task, settings, rankings);
  ProbedQuestion question;
  for (std::size_t i = 0; i < read.front().pool.size(); ++i) {
    ProbedAnswer answer;
    answer.tokens = read.front().pool[i].tokens;
    answer.base = read.front().pool[i].logprobs.base;
    answer.ended = read.front().pool[i].ended;
    for (SearchResult& result : read) {
      TokenLogprobs& logprobs = result.pool[i].logprobs;
      answer.pairs.push_back({std::move(logprobs.positive), std::move(logprobs.negative)});
    }
    question.answers.push_back(std::move(answer));
  }
  if (!futures || probe.rollouts == 0) return question;
  question.points = points_of(question.answers, probe);
  auto place = static_cast<std::uint32_t>(probe.samples);  // rollouts draw beside the answers
  for (ScoringPoint& point : question.points) {
    add_futures(task, pairs, settings, probe, place, question.answers, point);
    place += static_cast<std::uint32_t>(probe.siblings * probe.rollouts);
  }
  return question;
}

}  // namespace counterbeam
