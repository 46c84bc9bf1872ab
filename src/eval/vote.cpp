#include "eval/vote.h"

#include "base/error.h"
#include "grade/extract.h"
#include "grade/vote.h"

namespace counterbeam {

std::optional<std::string> vote(const TaskData& task, const Problem& problem,
                                std::string_view text) {
  switch (task.judging) {
    case Judging::Math:
      return math_vote(text, task.extraction);
    case Judging::Choice: {
      const auto letter = extract_choice(text, task.extraction);
      return letter ? std::optional(std::string(1, *letter)) : std::nullopt;
    }
    case Judging::Code: {
      std::string code =
          extract_code(text, problem.code.prompt, problem.code.entry_point, task.extraction);
      return code.empty() ? std::nullopt : std::optional(std::move(code));
    }
    case Judging::Exact:
    case Judging::Regex:
    case Judging::Own: {
      std::string answer = extract_text(text, task.extraction);
      return answer.empty() ? std::nullopt : std::optional(std::move(answer));
    }
  }
  CB_CHECK(false);
}

bool same_vote(const TaskData& task, std::string_view a, std::string_view b) {
  return task.judging == Judging::Math ? same_math_vote(a, b) : a == b;
}

}  // namespace counterbeam
