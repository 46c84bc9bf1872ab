// Extracts the answer from a model's output. The rules and their order are documented in
// docs/grading.md. If no rule applies there is no answer; nothing is guessed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace counterbeam {

enum class AnswerSource {
  None,
  Bare,         // the whole text is the answer
  Tag,          // <answer>...</answer>
  Boxed,        // \boxed, or else \fbox
  FinalAnswer,  // "The final answer is ..."
  Hashes,       // "#### 42"
  AnswerIs,     // "the answer is ...", "Answer: ..."
  LastValue,    // the last formula or number
};

struct MathAnswer {
  AnswerSource source = AnswerSource::None;
  std::string text;      // the answer to grade; empty with None
  std::string last_box;  // the last of several adjacent boxes, otherwise `text`
};

// The answer in a completion, or the text itself if it is a bare answer.
MathAnswer extract_math(std::string_view text);
// For reference answers: an unclosed box extends to the end of the text.
MathAnswer extract_gold(std::string_view text);

// The text after the last </think>, up to a chat marker such as <|im_end|>. Empty if a <think> is
// not closed.
std::string_view without_thinking(std::string_view text);

// The letter (A to J, upper case) that a multiple-choice answer chooses.
std::optional<char> extract_choice(std::string_view text);

// Extracts a Python module from an answer: the fenced code, or the longest run of lines that can be
// Python, reduced to imports and the definitions that `entry_point` uses (all definitions if it is
// empty). A function body without its head is appended to `prompt`. Empty if there is no code.
std::string extract_code(std::string_view answer, std::string_view prompt,
                         std::string_view entry_point);

}  // namespace counterbeam
