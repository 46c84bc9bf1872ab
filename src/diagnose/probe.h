// What is measured of one question: answers drawn from the base prompt at temperature 1, their
// log-probabilities under every pair of contexts, and continuations of their beginnings. Contexts
// do not change what is drawn, so pairs are compared on the same answers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "search/beams.h"

namespace counterbeam {

// Per token of an answer, under the two contexts of a pair.
struct ContextLogprobs {
  std::vector<float> positive, negative;
};

struct ProbedAnswer {
  std::vector<TokenId> tokens;
  std::vector<float> base;             // per token
  std::vector<ContextLogprobs> pairs;  // in the order of the pairs
  bool ended = false;
  bool correct = false;  // set by whoever grades
};

// Rollouts from the base prompt that continue the first tokens of an answer to the end.
struct ProbedFuture {
  std::size_t answer = 0;        // the first of the question's answers that begins so
  int times = 1;                 // how many of them do
  std::vector<int> tokens = {};  // drawn, per rollout
  std::vector<std::vector<double>> rewards = {};  // [pair][rollout]: R of these tokens
};

// Where a search would rank its candidates: all have this many tokens and are unfinished.
enum class ScoringPlace { FirstBlock, Halfway };

struct ScoringPoint {
  ScoringPlace place = ScoringPlace::FirstBlock;
  int tokens = 0;
  std::vector<ProbedFuture> siblings = {};  // at least two, no two with the same tokens
};

struct ProbedQuestion {
  std::string id;
  std::vector<ProbedAnswer> answers;
  std::vector<ScoringPoint> points;  // empty where none was probed
};

struct ProbeSettings {
  int samples = 8;
  int block = 32;
  int max_tokens = 3072;
  int rollouts = 8;  // per sibling; 0: none
  int siblings = 4;  // at most, per scoring point
};

// Draws and reads the answers to a question; with `futures` also the rollouts of two scoring
// points: the end of the first block, and the block end nearest to half of the longest answer.
// Every draw is keyed by the seed and the question of the task. An answer has at most as many
// tokens as fit under the longest prompt. Error where a prompt leaves no room, or where the engine
// has no log-probabilities of given tokens. REQUIRES: task.prompts without contrast; they are the
// base of all pairs.
ProbedQuestion probe_question(const Task& task, std::span<const Prompts> pairs,
                              const ProbeSettings& settings, bool futures);

}  // namespace counterbeam
