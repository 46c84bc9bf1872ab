// Finds the answer in what a model wrote. The order of what is tried is fixed and documented in
// docs/grading.md; nothing found is an outcome of its own, never a guess.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace counterbeam {

enum class AnswerSource {
  None,
  Bare,         // the text is the answer
  Tag,          // <answer>...</answer>
  Boxed,        // \boxed, else \fbox
  FinalAnswer,  // "The final answer is ..."
  Hashes,       // "#### 42"
  AnswerIs,     // "the answer is ...", "Answer: ..."
  LastValue,    // the last formula or number
};

struct MathAnswer {
  AnswerSource source = AnswerSource::None;
  std::string text;      // what is judged; empty with None
  std::string last_box;  // the last box alone where several stand together, else `text`
};

// The answer in a completion, or the text itself where it is one already.
MathAnswer extract_math(std::string_view text);
// For reference answers: a box that is not closed is read to the end of the text.
MathAnswer extract_gold(std::string_view text);

// Behind the last </think>; nothing where a <think> was never closed. Cut at a chat marker such as
// <|im_end|>.
std::string_view without_thinking(std::string_view text);

// The letter (A to J, capital) that a multiple-choice answer settles on.
std::optional<char> extract_choice(std::string_view text);

// A Python module out of an answer: the fenced code or the longest run of lines that is Python,
// reduced to imports and the definitions that `entry_point` reaches (every definition where it is
// empty). A body without its function is put behind `prompt`. Empty where there is no code.
std::string extract_code(std::string_view answer, std::string_view prompt,
                         std::string_view entry_point);

}  // namespace counterbeam
