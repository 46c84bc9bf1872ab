// The log-probabilities of a given answer under the prompts of a question.
#pragma once

#include <span>
#include <string_view>

#include "search/beams.h"
#include "search/loaded_model.h"

namespace counterbeam {

// Tokens, log-probs, sums and score of the answer. REQUIRES at least one token.
Candidate score_answer(const Task& task, std::span<const TokenId> tokens, double steer,
                       Aggregate aggregate = Aggregate::Mean);

struct ScoreText {
  Settings settings;  // contexts, joiner, contrast and strength; the pair counts at strength 0 too
  bool end = false;   // append the end-of-sequence token that the model finds likeliest there
  const Cancellation* cancellation = nullptr;
};

// The same for a text that answers a question.
Candidate score_text(const LoadedModel& model, const Question& question, std::string_view answer,
                     const ScoreText& options);

}  // namespace counterbeam
