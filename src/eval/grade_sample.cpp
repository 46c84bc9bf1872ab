// Grades an answer by the rules of its task.
#include "base/error.h"
#include "eval/run.h"
#include "grade/extract.h"
#include "grade/grade.h"

namespace counterbeam {

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
  const auto grade = task.judging == Judging::Math ? grade_math : grade_choice;
  const Verdict verdict = grade(problem.gold, sample.answer, task.extraction);
  sample.extracted = verdict.extracted;
  sample.correct = verdict.equal;
  sample.correct_strict = verdict.strict;
}

}  // namespace counterbeam
