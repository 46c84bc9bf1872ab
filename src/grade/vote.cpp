#include "grade/vote.h"

#include "grade/extract.h"

namespace counterbeam {

std::optional<std::string> math_vote(std::string_view text) {
  MathAnswer answer = extract_math(text);
  if (answer.source == AnswerSource::None) return std::nullopt;
  return std::move(answer.text);
}

}  // namespace counterbeam
