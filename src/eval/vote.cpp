#include "eval/vote.h"

#include "base/error.h"
#include "grade/extract.h"

namespace counterbeam {

std::optional<std::string> math_vote(std::string_view text) {
  MathAnswer answer = extract_math(text);
  if (answer.source == AnswerSource::None) return std::nullopt;
  return std::move(answer.text);
}

std::optional<std::string> vote(const TaskData& task, const Problem& problem,
                                std::string_view text) {
  switch (task.judging) {
    case Judging::Math:
      return math_vote(text);
    case Judging::Choice: {
      const auto letter = extract_choice(text);
      return letter ? std::optional(std::string(1, *letter)) : std::nullopt;
    }
    case Judging::Code: {
      std::string code = extract_code(text, problem.code.prompt, problem.code.entry_point);
      return code.empty() ? std::nullopt : std::optional(std::move(code));
    }
  }
  CB_CHECK(false);
}

}  // namespace counterbeam
