// A beam: one partial or finished answer, the sequences that hold it under each prompt, and its
// sums. Beams are extended together, in one engine call per block.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "search/prompts.h"
#include "search/score.h"
#include "search/settings.h"
#include "search/stops.h"

namespace counterbeam {

// Per token of an answer. Without contrast, positive and negative are empty; the side that a
// one-sided contrast leaves out holds the values of the base prompt.
struct TokenLogprobs {
  std::vector<float> base, positive, negative;  // temperature 1
  std::vector<float> drawn;                     // under the distribution the token was drawn from
  std::vector<TopTokens> top;  // the likeliest under the base prompt, where Task::top asks for them
};

// What a search leaves of an answer.
struct Candidate {
  std::vector<TokenId> tokens;
  TokenLogprobs logprobs;
  Sums sums;
  double score = 0;
  double rank = 0;              // what pruning compares: the score, and what look-ahead adds to it
  bool ended = false;           // by an end token or a stop text
  std::size_t dropped = 0;      // tokens that were drawn after a stop text, and are left out above
  std::size_t block_start = 0;  // tokens it had before the current block
  int id = -1;                  // in the trace
  int parent = -1;              // in the trace; -1 in the first block
};

struct Beam : Candidate {
  Sequence base;
  Sequence positive, negative;  // empty without contrast, and where the base prompt is that side
  Beam fork() const;
};

// What was computed for an answer, all candidates counted.
struct Ledger {
  std::int64_t prompt_tokens = 0;     // through the model
  std::int64_t cached_tokens = 0;     // prompt tokens that were shared instead
  std::int64_t generated_tokens = 0;  // sampled, over every candidate
  std::int64_t scored_tokens = 0;     // read under other prompts or re-read
  double seconds = 0;
};

// What a search works with: the engine, the question's prompts and keys, and who may stop it.
struct Task {
  Engine& engine;
  const Prompts& prompts;
  std::uint64_t seed = 0;
  std::uint32_t question = 0;
  const Cancellation* cancellation = nullptr;
  const Stops* stops = nullptr;  // null: the engine's end tokens alone
  int top = 0;                   // likeliest tokens to keep per token of an answer
  // Told of every token of a single beam as it is drawn (ExtendRequest::on_token), those after a
  // stop text included. run_search() passes it on only where no token is ever taken back.
  std::function<void(const DrawnToken&)> on_token{};
};

// The empty answer, prompts prefilled.
Beam open_beam(const Task& task, Ledger& ledger);

// Samples up to `limit` tokens for every beam and reads them under its other prompts: tokens,
// log-probs, sums, score and ended are brought up to date. A beam that completes a stop text ends
// with the token that completes it; what was drawn after that token counts in the ledger only.
// `block` and a number per beam (its place in the list unless `places` says otherwise) key the
// draws. Throws Failed if a beam that has not ended reaches the end of a cache that is shorter than
// the model's context.
void extend_beams(const Task& task, std::span<Beam> beams, int limit, const Settings& settings,
                  std::uint32_t block, Ledger& ledger, std::span<const std::uint32_t> places = {});

// Counts what an engine read beside the tokens of a call; those it remembered were not scored.
void add_read(const ReadTokens& read, Ledger& ledger);

// The sequences of a beam that read its tokens under contexts: none, one or both.
std::vector<Sequence*> context_sequences(Beam& beam);

// Sets the positive and negative values of an answer, per token and as sums, from what the
// context_sequences() of the beam read of it. REQUIRES contrast, and the values of the base prompt.
void set_context_logprobs(Candidate& answer, const Beam& beam, std::span<std::vector<float>> read);

// The sum of log-probabilities, in double.
double sum_of(std::span<const float> logprobs);

// Tokens that an answer may have: max_tokens, less where the model's context ends first. Error when
// the prompt leaves no room. A smaller cache does not make it less, since no decision of a search
// may depend on the cache: extend_beams() fails where an answer reaches the cache's end.
int answer_limit(const Task& task, const Settings& settings);

}  // namespace counterbeam
