// The table of methods: one row per method with all that the rest of the program needs to know of
// it. Nothing outside this table and the method's own file knows a method by its name.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "search/search.h"
#include "search/settings.h"

namespace counterbeam {

// When a method scores its candidates under the pair of contexts.
enum class Contrast {
  None,         // never: it has no contexts
  WhenSteered,  // unless the strength is 0 or the pair is "none"
  Required,     // always: it draws from the contrast and cannot do without a pair
};

using SettingValue = std::variant<int, double, bool, std::string>;

// The default of a setting where another setting of the method has a certain value.
struct DefaultWhen {
  const Setting* other;
  std::string_view value;
  SettingValue otherwise;
};

// A setting that a method has, with the method's default.
struct SettingUse {
  const Setting* setting;
  SettingValue otherwise;
  std::vector<DefaultWhen> when{};  // the first that applies takes the place of `otherwise`
};

struct Method {
  std::string_view name;
  std::string_view help;
  SearchResult (*run)(const Task& task, const Settings& settings, const SearchHooks& hooks);
  Contrast contrast = Contrast::None;
  // Token-level contrast: weights of the base, positive and negative log-probabilities that tokens
  // are drawn from. Null: tokens are drawn from the base prompt alone.
  std::array<float, 3> (*mixture)(const Settings& settings) = nullptr;
  void (*check)(const Settings& settings) =
      nullptr;           // BadInput for settings that do not go together
  bool traced = true;    // leaves a tree of candidates
  bool streams = false;  // with one beam, a token is final as soon as it is drawn
  bool ranked = false;   // chooses among candidates by score, so that a scorer of one's own applies
  bool votes = false;    // chooses by majority among the answers that candidates give
  bool weighs_draws = false;  // needs log-probs of the distribution that tokens were drawn from
  bool ranks_whole_samples = false;    // contexts rank finished samples and never change them
  std::vector<SettingUse> settings{};  // what a user may set, with the defaults
  std::vector<SettingUse> fixed{};     // what makes the method what it is; not the user's to set

  // The row's entry of that name; null where the method does not have the setting.
  const Setting* find(std::string_view setting) const;
};

std::span<const Method> methods();
const Method& default_method();  // the first row

// The row of that name. The error lists the names and suggests the nearest.
const Method& method_named(std::string_view name);
std::string method_names();  // "cbs, beam, ..."

// The published settings of a method.
Settings default_settings(const Method& method);
Settings default_settings(std::string_view method);

// Defaults that depend on other settings, put in for the settings that are not in `given`.
void set_dependent_defaults(Settings& settings, std::span<const std::string_view> given);

// What the samples of a method with ranks_whole_samples depend on: the settings without those that
// only rank.
Settings without_contexts(Settings settings);

}  // namespace counterbeam
