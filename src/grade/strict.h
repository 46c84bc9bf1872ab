// The strict verdict: what prm800k's published grader says of two answers. Strings equal after
// Hendrycks' normalisation, or after a second one, or (element by element of a tuple) expressions
// of at most two letters whose difference simplifies to zero; both fractions must then match
// literally and an integer matches nothing but an integer. Its quirks are kept on purpose, except
// that nothing is evaluated and every answer is bounded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "grade/tree.h"

namespace counterbeam::grade {

bool strict_equal(std::string_view gold, std::string_view pred);

// The pieces, for tests.
std::string hendrycks_form(std::string_view answer);
std::string second_form(std::string_view answer);

// LaTeX as plain text, the way that grader's converter writes it: \frac{a}{b} as a/b, unknown
// macros dropped.
std::string latex_as_text(std::string_view latex);

// A Python-like expression with implicit products; nothing where it is none.
std::optional<Tree> parse_plain(std::string_view text);

}  // namespace counterbeam::grade
