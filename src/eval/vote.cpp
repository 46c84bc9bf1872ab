#include "eval/vote.h"

#include "base/error.h"
#include "grade/extract.h"
#include "grade/vote.h"

namespace counterbeam {

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
