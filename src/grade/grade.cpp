#include "grade/grade.h"

#include "base/trim.h"
#include "grade/compare.h"
#include "grade/extract.h"
#include "grade/strict.h"

namespace counterbeam {

Verdict grade_math(std::string_view gold, std::string_view pred, Extraction extraction) {
  const MathAnswer reference = extract_gold(gold), answer = extract_math(pred, extraction);
  Verdict verdict;
  verdict.extracted = answer.text;
  if (reference.source == AnswerSource::None || answer.source == AnswerSource::None) return verdict;
  verdict.equal = grade::same_answer(reference.text, answer.text);
  verdict.strict = grade::strict_equal(reference.last_box, answer.last_box);
  return verdict;
}

Verdict grade_choice(std::string_view gold, std::string_view pred, Extraction extraction) {
  const auto reference = extract_choice(gold), answer = extract_choice(pred, extraction);
  Verdict verdict;
  if (answer) verdict.extracted = *answer;
  verdict.equal = verdict.strict = reference && answer && *reference == *answer;
  return verdict;
}

Verdict grade_exact(std::string_view gold, std::string_view pred, Extraction extraction) {
  Verdict verdict;
  verdict.extracted = extract_text(pred, extraction);
  verdict.equal = verdict.strict = !verdict.extracted.empty() && trim(gold) == verdict.extracted;
  return verdict;
}

}  // namespace counterbeam
