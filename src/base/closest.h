// "did you mean": the known name that a mistyped one is nearest to.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace counterbeam {

// The candidate with the fewest edits (one character inserted, removed or replaced, or two
// neighbours swapped; case and leading dashes do not count). Nothing where even the nearest needs
// more than a third of the name's length, at least one, in edits. The first candidate wins a tie.
std::optional<std::string_view> closest(std::string_view name,
                                        std::span<const std::string_view> candidates);

// "; did you mean NAME?" for the end of an error, or nothing.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace counterbeam
