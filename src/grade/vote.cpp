#include "grade/vote.h"

#include "grade/compare.h"
#include "grade/extract.h"

namespace counterbeam {

std::optional<std::string> math_vote(std::string_view text, Extraction extraction) {
  MathAnswer answer = extract_math(text, extraction);
  if (answer.source == AnswerSource::None) return std::nullopt;
  return std::move(answer.text);
}

bool same_math_vote(std::string_view a, std::string_view b) {
  return grade::same_answer(a, b) || grade::same_answer(b, a);
}

}  // namespace counterbeam
