// The log-probabilities of a given answer under the prompts of a question.
#pragma once

#include <span>

#include "search/beams.h"

namespace counterbeam {

// Tokens, log-probs, sums and score of the answer. REQUIRES at least one token.
Candidate score_answer(const Task& task, std::span<const TokenId> tokens, double steer);

}  // namespace counterbeam
