// The contexts that steer a search: ten named pairs, a neutral control, or the user's own pair.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "search/settings.h"

namespace counterbeam {

struct ContextPair {
  std::string_view name;
  std::string positive;
  std::string negative;
};

// The ten pairs of the paper and the neutral control, in its order.
std::span<const ContextPair> named_contexts();

// The pair the settings ask for; nothing for "none". Error lists the names.
std::optional<ContextPair> chosen_contexts(const Settings& settings);

// question + joiner + context; no joiner where the question ends in white space.
std::string with_context(std::string_view question, std::string_view joiner,
                         std::string_view context);

}  // namespace counterbeam
