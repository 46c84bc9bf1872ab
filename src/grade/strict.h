// The strict verdict, which agrees with prm800k's published grader. Answers are equal if their
// strings agree after Hendrycks' normalisation or after a second one, or if, for each element of a
// tuple, they are expressions of at most two letters whose difference simplifies to zero; then
// fractions must match literally and an integer matches only an integer. The quirks of that grader
// are kept on purpose, except that no code is executed and time is bounded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "grade/tree.h"

namespace counterbeam::grade {

bool strict_equal(std::string_view gold, std::string_view pred);

// The steps, exposed for tests.
std::string hendrycks_form(std::string_view answer);
std::string second_form(std::string_view answer);

// Converts LaTeX to plain text like that grader's converter: \frac{a}{b} becomes a/b, unknown
// macros are dropped.
std::string latex_as_text(std::string_view latex);

// Parses a Python-like expression with implicit products; empty if it is not one.
std::optional<Tree> parse_plain(std::string_view text);

}  // namespace counterbeam::grade
