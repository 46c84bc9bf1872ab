// The questions and answers of a report, in the compact form that its page reads.
//
// What the table of questions needs is small and is parsed when the page opens. The texts of
// answers can be many megabytes; they are kept apart, in pieces of a few questions, and the page
// parses a piece when one of its questions is opened.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "eval/problem_texts.h"
#include "eval/samples.h"

namespace counterbeam {

struct ReportData {
  // [{task, id, question, gold, samples: [[method, sample, flags, score, answer tokens, generated
  // tokens, scored tokens, extracted, rest]]}]. `method` is an index into `methods`; the bits of
  // `flags` are 1 correct, 2 correct by the strict grader, 4 truncated, 8 no answer found; `rest`
  // holds error, state and trace where there are any.
  std::vector<std::string> methods;
  std::string questions;
  // Per piece: [[answer]] by question and sample. An answer is a text, or a number n that stands
  // for the text of sample n of the same question, or [text or number, lengths, rewards]: per token
  // its UTF-16 code units in the text, and its reward in hundredths (null: not a token).
  std::vector<std::string> pieces;
};

// The questions of a piece; the last has fewer.
inline constexpr std::size_t kQuestionsPerPiece = 25;

// All JSON is escaped for script elements. Samples of a question need not be adjacent.
ReportData report_data(const std::vector<Sample>& samples,
                       const std::vector<ProblemText>& problems);

}  // namespace counterbeam
