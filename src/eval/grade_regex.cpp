#include "eval/grade_regex.h"

#include "base/error.h"
#include "base/quote.h"
#include "base/trim.h"
#include "base/utf8.h"
#include "text/regex.h"

namespace counterbeam {
namespace {

Regex compiled(const std::string& pattern, const std::string& place) {
  if (!is_valid_utf8(pattern)) bad_input("{}: the pattern is not UTF-8", place);
  try {
    return Regex(pattern);
  } catch (const RegexProblem& problem) {
    bad_input("{}: the pattern {} cannot be read: {}", place, in_quotes(pattern), problem.what);
  }
}

}  // namespace

void check_pattern(const std::string& pattern, const std::string& place) {
  compiled(pattern, place);
}

Verdict grade_regex(const std::string& pattern, std::string_view pred, Extraction extraction) {
  const Regex regex = compiled(pattern, "gold");
  const std::string text = to_valid_utf8(trim(without_thinking(pred, extraction)));
  std::vector<TextSpan> matches;
  Regex::Scratch scratch;
  try {
    regex.find_all(text, matches, scratch);
  } catch (const RegexProblem& problem) {
    bad_input("gold: the pattern {} cannot be matched: {}", in_quotes(pattern), problem.what);
  }
  Verdict verdict;
  verdict.equal = verdict.strict = !matches.empty();
  if (!matches.empty())
    verdict.extracted = text.substr(matches[0].begin, matches[0].end - matches[0].begin);
  return verdict;
}

}  // namespace counterbeam
