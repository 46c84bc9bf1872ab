// Grades an answer by the rules of its task.
#include "base/error.h"
#include "eval/grade_regex.h"
#include "eval/run.h"
#include "grade/extract.h"
#include "grade/grade.h"

namespace counterbeam {
namespace {

Verdict verdict_of(const TaskData& task, const Problem& problem, const std::string& answer) {
  switch (task.judging) {
    case Judging::Math:
      return grade_math(problem.gold, answer, task.extraction);
    case Judging::Choice:
      return grade_choice(problem.gold, answer, task.extraction);
    case Judging::Exact:
      return grade_exact(problem.gold, answer, task.extraction);
    case Judging::Regex:
      return grade_regex(problem.gold, answer, task.extraction);
    case Judging::Own:
      return task.own_grader.grade(problem.id, answer);
    case Judging::Code:
      break;  // by a judge
  }
  CB_CHECK(false);
}

}  // namespace

void grade_sample(const TaskData& task, const Problem& problem, const CodeJudge* judge,
                  Sample& sample) {
  if (task.judging == Judging::Code) {
    CB_CHECK(judge);
    sample.extracted =
        extract_code(sample.answer, problem.code.prompt, problem.code.entry_point, task.extraction);
    const CodeVerdict verdict = judge->judge(problem.code, sample.extracted);
    sample.state = to_string(verdict.state);
    sample.correct = sample.correct_strict = verdict.state == CodeState::Pass;
    return;
  }
  const Verdict verdict = verdict_of(task, problem, sample.answer);
  sample.extracted = verdict.extracted;
  sample.correct = verdict.equal;
  sample.correct_strict = verdict.strict;
}

}  // namespace counterbeam
