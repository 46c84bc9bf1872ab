// Grades one answer against its reference. Two verdicts: `equal`, by value, and `strict`, as
// prm800k's published grader would say. Bounded in time and memory, never evaluates what a model
// wrote, never throws for what an answer holds.
#pragma once

#include <string>
#include <string_view>

namespace counterbeam {

struct Verdict {
  bool equal = false;
  bool strict = false;
  std::string extracted;  // the answer that was judged; empty where none was found
};

// Either side may be a bare answer or a whole completion.
Verdict grade_math(std::string_view gold, std::string_view pred);

// `gold` is a letter, or a text that settles on one.
Verdict grade_choice(std::string_view gold, std::string_view pred);

}  // namespace counterbeam
