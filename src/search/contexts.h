// The contexts that steer a search: ten named pairs, a neutral control, or the user's own pair.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "counterbeam/counterbeam.h"
#include "search/settings.h"

namespace counterbeam {

// The name of a pair that a user gave by its two texts.
inline constexpr std::string_view kOwnContexts = "own";

// The ten pairs of the paper and the neutral control, in its order.
std::span<const ContextPair> named_contexts();

// The pair of the settings; nothing for "none". The text that a one-sided contrast does not use is
// empty: the plain prompt takes its place. Settings without texts of their own name a pair of
// named_contexts(); the error lists the names.
std::optional<ContextPair> chosen_contexts(const Settings& settings);

// BadInput that opens with `place` where a text is blank or both are the same.
void check_pair(const ContextPair& pair, std::string_view place);

// question + joiner + context; no joiner where the question ends in white space.
std::string with_context(std::string_view question, std::string_view joiner,
                         std::string_view context);

}  // namespace counterbeam
