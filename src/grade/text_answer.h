// Comparison of answers in words: "an ellipse" equals "\text{Ellipse}". Used only if an answer is
// words rather than mathematics, where case matters.
#pragma once

#include <string>
#include <string_view>

namespace counterbeam::grade {

// The answer in lower case without LaTeX styling, quotes, spaces, final full stop and articles.
std::string folded_text(std::string_view answer);

// The answer without styling; case is kept: "\text{(C)}" -> "(C)".
std::string bare_text(std::string_view answer);

// Whether it contains words in \text or a similar command, or a word of three letters that is
// neither a function nor a Greek letter.
bool is_wordy(std::string_view answer);

}  // namespace counterbeam::grade
