// Answers in words: "an ellipse" is "\text{Ellipse}". Used only where an answer is words and not
// mathematics, so that letters keep their case there.
#pragma once

#include <string>
#include <string_view>

namespace counterbeam::grade {

// Without LaTeX styling, quotes, spaces, closing full stop and articles; lower case.
std::string folded_text(std::string_view answer);

// The letters and signs alone, styling removed, case kept: "\text{(C)}" -> "(C)".
std::string bare_text(std::string_view answer);

// Whether it holds \text-like words, or a word of three letters that is no function or Greek
// letter.
bool is_wordy(std::string_view answer);

}  // namespace counterbeam::grade
