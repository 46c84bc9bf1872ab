// Grades one answer against its reference. There are two verdicts: `equal`, by value, and `strict`,
// which agrees with prm800k's published grader. Time and memory are bounded, no model output is
// executed, and no answer makes it throw.
#pragma once

#include <string>
#include <string_view>

#include "grade/extract.h"

namespace counterbeam {

struct Verdict {
  bool equal = false;
  bool strict = false;
  std::string extracted;  // the answer that was graded; empty if none was found
};

// Either side may be a bare answer or a whole completion.
Verdict grade_math(std::string_view gold, std::string_view pred,
                   Extraction extraction = Extraction::Strict);

// `gold` is a letter, or a text whose answer is a letter.
Verdict grade_choice(std::string_view gold, std::string_view pred,
                     Extraction extraction = Extraction::Strict);

// The text of the answer (extract_text) is the reference, white space around both aside.
Verdict grade_exact(std::string_view gold, std::string_view pred,
                    Extraction extraction = Extraction::Strict);

}  // namespace counterbeam
