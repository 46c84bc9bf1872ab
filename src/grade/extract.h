// Extracts the answer from a model's output. The rules and their order are documented in
// docs/grading.md. If no rule applies there is no answer; nothing is guessed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace counterbeam {

// Whether an answer is looked for in a <think> block that is never closed.
enum class Extraction {
  Strict,   // no: such a completion has no answer
  Lenient,  // yes: the text after the tag is read like any other
};
std::string_view to_string(Extraction extraction);  // "strict", "lenient"
// Throws an Error for any other text.
Extraction extraction_named(std::string_view name);

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
MathAnswer extract_math(std::string_view text, Extraction extraction = Extraction::Strict);
// For reference answers: an unclosed box extends to the end of the text.
MathAnswer extract_gold(std::string_view text);

// The text after the last </think>, up to a chat marker such as <|im_end|>. If a <think> is not
// closed: what stands before it, or with Lenient what follows it.
std::string_view without_thinking(std::string_view text,
                                  Extraction extraction = Extraction::Strict);

// The letter (A to J, upper case) that a multiple-choice answer chooses.
std::optional<char> extract_choice(std::string_view text,
                                   Extraction extraction = Extraction::Strict);

// The answer as a text, for tasks whose answers are neither mathematics nor letters: what the last
// <answer> tag or else the last \boxed holds, otherwise the whole text after its thinking; trimmed.
std::string extract_text(std::string_view text, Extraction extraction = Extraction::Strict);

// Extracts a Python module from an answer: the fenced code, or the longest run of lines that can be
// Python, reduced to imports and the definitions that `entry_point` uses (all definitions if it is
// empty). A function body without its head is appended to `prompt`. Empty if there is no code.
std::string extract_code(std::string_view answer, std::string_view prompt,
                         std::string_view entry_point, Extraction extraction = Extraction::Strict);

}  // namespace counterbeam
