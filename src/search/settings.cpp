#include "search/settings.h"

#include <array>
#include <charconv>

#include "base/error.h"
#include "base/json.h"
#include "base/quote.h"
#include "search/contexts.h"
#include "search/methods.h"

namespace counterbeam {
namespace {

constexpr std::array<std::string_view, 3> kPolicies = {"tilt", "cfg", "cad"};
constexpr std::array<std::string_view, 3> kContrasts = {"both", "positive", "negative"};
constexpr std::array<std::string_view, 2> kAggregates = {"mean", "sum"};

constexpr std::array kSettings = {
    Setting{"beams", &Settings::beams, 1, 4096, {}, "Population N: answers searched at once"},
    Setting{"prune",
            &Settings::prune,
            1,
            4096,
            {},
            "Pruning factor W: the best N/W beams survive a block"},
    Setting{"block",
            &Settings::block,
            1,
            4096,
            {},
            "Tokens K of a block; beams are ranked after each block"},
    Setting{"iterations",
            &Settings::iterations,
            0,
            1000000,
            {},
            "Maximum number of blocks T (0: as many as max-tokens needs)"},
    Setting{"max-tokens",
            &Settings::max_tokens,
            1,
            1 << 20,
            {},
            "Maximum number of tokens of an answer"},
    Setting{"patience",
            &Settings::patience,
            0,
            1000000,
            {},
            "Stop when no living beam can still win, or after this many blocks without a better "
            "finished answer (0: off)"},
    Setting{"temperature",
            &Settings::temperature,
            0,
            100,
            {},
            "Sampling temperature (0: the likeliest token); scores are always at temperature 1"},
    Setting{"top-p",
            &Settings::top_p,
            1e-6,
            1,
            {},
            "Sample from the likeliest tokens that together reach this probability"},
    Setting{"top-k",
            &Settings::top_k,
            0,
            1 << 20,
            {},
            "Sample from this many likeliest tokens (0: all)"},
    Setting{"min-p",
            &Settings::min_p,
            0,
            1,
            {},
            "Sample only tokens whose probability is at least this share of that of the likeliest "
            "token (0: off)"},
    Setting{"steer", &Settings::steer, -1000, 1000, {}, "Steering strength 1/alpha of the reward"},
    Setting{"contexts",
            &Settings::contexts,
            0,
            0,
            {},
            "Context pair by name (docs/contexts.md lists them), neutral, or none"},
    Setting{"positive", &Settings::positive, 0, 0, {}, "Your own positive context"},
    Setting{"negative", &Settings::negative, 0, 0, {}, "Your own negative context"},
    Setting{"joiner",
            &Settings::joiner,
            0,
            0,
            {},
            "Text between question and context; left out if the question ends in white space"},
    Setting{"contrast", &Settings::contrast, 0, 0, kContrasts,
            "both: positive against negative context; positive, negative: only that context "
            "against the plain prompt, which saves a scoring pass"},
    Setting{"aggregate", &Settings::aggregate, 0, 0, kAggregates,
            "Score of an answer: mean over its tokens, or their sum, which favours short answers"},
    Setting{"lookahead",
            &Settings::lookahead,
            0,
            4096,
            {},
            "Rank with M rollouts per candidate (0: off)"},
    Setting{"horizon", &Settings::horizon, 1, 1 << 20, {}, "Tokens H of a rollout"},
    Setting{"alpha", &Settings::alpha, 1, 1000, {}, "Exponent of the target p^alpha"},
    Setting{"draws", &Settings::draws, 1, 4096, {}, "Chunks L drawn per block"},
    Setting{"candidates", &Settings::candidates, 1, 4096, {}, "Likeliest chunks K_t kept"},
    Setting{"rollouts", &Settings::rollouts, 1, 4096, {}, "Rollouts M_t per candidate"},
    Setting{"jackknife", &Settings::jackknife, 0, 0, {}, "Correct the bias of the estimate"},
    Setting{"steps", &Settings::steps, 0, 1000000, {}, "Metropolis steps per block"},
    Setting{"policy", &Settings::policy, 0, 0, kPolicies,
            "tilt: base * exp(steer * reward); cfg: guidance at scale steer (1 or more); cad: "
            "context-aware decoding"},
    Setting{"plausibility",
            &Settings::plausibility,
            0,
            1,
            {},
            "Draw only tokens whose probability under the base prompt is at least this share of "
            "that of the likeliest token"},
};

template <typename Number>
Number parse_number(std::string_view value, std::string_view origin, std::string_view kind) {
  Number number{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size())
    bad_input("{}: {} is not {}", origin, in_quotes(value), kind);
  return number;
}

void check_range(const Setting& setting, double value, std::string_view origin) {
  if (!(value >= setting.least && value <= setting.most))  // also catches NaN
    bad_input("{}: {} is out of range; allowed: {} to {}", origin, value, setting.least,
              setting.most);
}

void check_choice(const Setting& setting, const std::string& value, std::string_view origin) {
  for (const std::string_view choice : setting.choices)
    if (choice == value) return;
  if (!setting.choices.empty())
    bad_input("{}: {} is not known; allowed: {}", origin, in_quotes(value),
              fmt::join(setting.choices, ", "));
}

// Range or choices of the value that the settings hold.
void check_value(const Settings& settings, const Setting& setting, std::string_view origin) {
  std::visit(
      [&](auto member) {
        using Value = std::remove_cvref_t<decltype(settings.*member)>;
        if constexpr (std::is_same_v<Value, std::string>)
          check_choice(setting, settings.*member, origin);
        else if constexpr (!std::is_same_v<Value, bool>)
          check_range(setting, settings.*member, origin);
      },
      setting.member);
}

bool has_pair(const Settings& settings) {
  return settings.contexts != "none";
}

// The contexts that the contrast needs are there.
void check_contexts(const Settings& settings) {
  const std::optional<ContextPair> pair = chosen_contexts(settings);
  if (!pair) return;
  if (settings.contrast != "both") {
    const bool positive = settings.contrast == "positive";
    if ((positive ? pair->positive : pair->negative).empty())
      bad_input("--{0}: contrast={0} needs the {0} context; give it, or a named pair by --contexts",
                settings.contrast);
    return;
  }
  if (pair->positive.empty() != pair->negative.empty())
    bad_input("--positive and --negative go together: give both, or a named pair by --contexts");
  check_pair(*pair, settings.method->name);
}

}  // namespace

std::string_view Setting::type_name() const {
  if (std::holds_alternative<int Settings::*>(member)) return "INT";
  if (std::holds_alternative<double Settings::*>(member)) return "NUMBER";
  if (std::holds_alternative<bool Settings::*>(member)) return "true|false";
  return choices.empty() ? "TEXT" : "NAME";
}

std::span<const Setting> all_settings() {
  return kSettings;
}

const Setting& setting_named(std::string_view name) {
  for (const Setting& setting : kSettings)
    if (setting.name == name) return setting;
  CB_CHECK(false);
}

void set_value(Settings& settings, const Setting& setting, std::string_view value,
               std::string_view origin) {
  if (const auto* whole = std::get_if<int Settings::*>(&setting.member)) {
    settings.** whole = parse_number<int>(value, origin, "a whole number");
  } else if (const auto* real = std::get_if<double Settings::*>(&setting.member)) {
    settings.** real = parse_number<double>(value, origin, "a number");
  } else if (const auto* flag = std::get_if<bool Settings::*>(&setting.member)) {
    if (value != "true" && value != "false")
      bad_input("{}: {} is neither true nor false", origin, in_quotes(value));
    settings.** flag = value == "true";
  } else {
    settings.*std::get<std::string Settings::*>(setting.member) = value;
  }
  check_value(settings, setting, origin);
}

std::string value_text(const Settings& settings, const Setting& setting) {
  return std::visit([&](auto member) { return fmt::format("{}", settings.*member); },
                    setting.member);
}

void validate(const Settings& settings) {
  for (const SettingUse& use : settings.method->settings)
    check_value(settings, *use.setting, fmt::format("--{}", use.setting->name));
  if (settings.prune > settings.beams)
    bad_input("--prune: {} is more than --beams {}; allowed: 1 to {}", settings.prune,
              settings.beams, settings.beams);
  if (settings.method->find("contexts")) check_contexts(settings);
  if (settings.method->contrast == Contrast::Required && !has_pair(settings))
    bad_input("--contexts: {} draws from a contrast and needs a pair, not \"none\"",
              settings.method->name);
  if (settings.method->check) settings.method->check(settings);
}

Aggregate aggregate_of(const Settings& settings) {
  return settings.aggregate == "sum" ? Aggregate::Sum : Aggregate::Mean;
}

bool uses_contexts(const Settings& settings) {
  switch (settings.method->contrast) {
    case Contrast::None:
      return false;
    case Contrast::WhenSteered:
      return has_pair(settings) && settings.steer != 0;
    case Contrast::Required:
      return has_pair(settings);
  }
  CB_CHECK(false);
}

Json to_json(const Settings& settings) {
  Json json = {{"method", settings.method->name}};
  for (const SettingUse& use : settings.method->settings)
    std::visit([&](auto member) { json[std::string(use.setting->name)] = settings.*member; },
               use.setting->member);
  return json;
}

}  // namespace counterbeam
