#include "eval/judge_report.h"

namespace counterbeam {

JudgeReport read_report(std::string_view text) {
  const std::size_t line = text.find('\n');
  const std::string_view state = text.substr(0, line);
  std::string detail(line == text.npos ? "" : text.substr(line + 1));
  if (state == "gone") return {.kind = JudgeReport::Kind::Gone};
  if (state == "unusable")
    return {JudgeReport::Kind::Unusable, {CodeState::Error, std::move(detail), 0}};
  for (const CodeState known :
       {CodeState::Pass, CodeState::Fail, CodeState::Error, CodeState::Memory})
    if (state == to_string(known))
      return {JudgeReport::Kind::Verdict, {known, std::move(detail), 0}};
  return {JudgeReport::Kind::Missing, {CodeState::Error, "the test ended without a verdict", 0}};
}

}  // namespace counterbeam
