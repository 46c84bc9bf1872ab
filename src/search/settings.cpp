#include "search/settings.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/json.h"

namespace counterbeam {
namespace {

constexpr std::array<std::string_view, 9> kMethodNames = {
    "cbs",   "beam",       "sample",        "low-temperature", "best-of-n", "self-consistency",
    "power", "mcmc-power", "token-contrast"};

template <typename... Methods>
constexpr std::uint32_t only(Methods... methods) {
  return ((1u << static_cast<int>(methods)) | ...);
}

using enum Method;
constexpr std::uint32_t kAll = (1u << kMethodNames.size()) - 1;
constexpr std::uint32_t kTree = only(Cbs, Beam, Sample, LowTemperature);
constexpr std::uint32_t kSamples = only(BestOfN, SelfConsistency);
constexpr std::uint32_t kContrast = only(Cbs, BestOfN, SelfConsistency, TokenContrast);

constexpr std::array<SettingField, 23> kFields = {{
    {"beams", &Settings::beams, 1, 4096, kTree | kSamples, "Population N"},
    {"prune", &Settings::prune, 1, 4096, kTree, "Pruning factor W: the best N/W survive a block"},
    {"block", &Settings::block, 1, 4096, kAll, "Tokens K between two rankings"},
    {"iterations", &Settings::iterations, 0, 1000000, kTree,
     "Blocks T at most (0: as many as max-tokens needs)"},
    {"max-tokens", &Settings::max_tokens, 1, 1 << 20, kAll, "Tokens of an answer at most"},
    {"temperature", &Settings::temperature, 0, 100, kAll & ~only(McmcPower),
     "Sampling temperature; scores are always at temperature 1"},
    {"top-p", &Settings::top_p, 1e-6, 1, kAll & ~only(Power, McmcPower),
     "Sample from the likeliest tokens that reach this mass"},
    {"top-k", &Settings::top_k, 0, 1 << 20, kAll & ~only(Power, McmcPower),
     "Sample from this many likeliest tokens (0: all)"},
    {"steer", &Settings::steer, -1000, 1000, kContrast, "Steering strength 1/alpha"},
    {"contexts", &Settings::contexts, 0, 0, kContrast,
     "Context pair by name (see docs/search.md), neutral, or none"},
    {"positive", &Settings::positive, 0, 0, kContrast, "Your own positive context"},
    {"negative", &Settings::negative, 0, 0, kContrast, "Your own negative context"},
    {"joiner", &Settings::joiner, 0, 0, kContrast,
     "Between question and context, where the question does not end in white space"},
    {"lookahead", &Settings::lookahead, 0, 4096, only(Cbs),
     "Rank with M rollouts per candidate (0: off)"},
    {"horizon", &Settings::horizon, 1, 1 << 20, only(Cbs, Power), "Tokens H of a rollout"},
    {"alpha", &Settings::alpha, 1, 1000, only(Power, McmcPower), "Exponent of the target p^alpha"},
    {"draws", &Settings::draws, 1, 4096, only(Power), "Chunks L drawn per block"},
    {"candidates", &Settings::candidates, 1, 4096, only(Power), "Likeliest chunks K_t kept"},
    {"rollouts", &Settings::rollouts, 1, 4096, only(Power), "Rollouts M_t per candidate"},
    {"jackknife", &Settings::jackknife, 0, 0, only(Power), "Correct the bias of the estimate"},
    {"steps", &Settings::steps, 0, 1000000, only(McmcPower), "Metropolis steps per block"},
    {"policy", &Settings::policy, 0, 0, only(TokenContrast),
     "tilt: base * exp(steer * reward); cfg: guidance at scale steer; cad: context-aware decoding"},
    {"plausibility", &Settings::plausibility, 0, 1, only(TokenContrast),
     "Only tokens with p >= this share of the likeliest"},
}};

template <typename Number>
Number parse_number(std::string_view value, std::string_view origin, std::string_view kind) {
  Number number{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size())
    bad_input("{}: \"{}\" is not {}", origin, value, kind);
  return number;
}

void check_range(const SettingField& field, double value, std::string_view origin) {
  if (!(value >= field.least && value <= field.most))  // also catches NaN
    bad_input("{}: {} is out of range; allowed: {} to {}", origin, value, field.least, field.most);
}

std::string fields_of(Method method) {
  std::string names;
  for (const SettingField& field : setting_fields())
    if (field.used_by(method)) names += (names.empty() ? "" : ", ") + std::string(field.name);
  return names;
}

}  // namespace

std::span<const SettingField> setting_fields() {
  return kFields;
}

std::string_view method_name(Method method) {
  return kMethodNames[static_cast<std::size_t>(method)];
}

std::string method_names() {
  return fmt::format("{}", fmt::join(kMethodNames, ", "));
}

Method method_named(std::string_view name) {
  for (std::size_t i = 0; i < kMethodNames.size(); ++i)
    if (kMethodNames[i] == name) return static_cast<Method>(i);
  bad_input("method \"{}\" is not known; known: {}", name, method_names());
}

Settings default_settings(Method method) {
  Settings settings;
  settings.method = method;
  switch (method) {
    case Cbs:
    case TokenContrast:
      break;
    case Beam:
      settings.steer = 0;
      break;
    case Sample:
    case LowTemperature:
      settings.beams = settings.prune = 1;
      settings.steer = 0;
      if (method == LowTemperature) settings.temperature = 0.25;
      break;
    case BestOfN:
    case SelfConsistency:
      settings.prune = 1;
      settings.steer = 0;
      break;
    case Power:
      settings.temperature = 0.25;
      break;
    case McmcPower:
      settings.block = 192;
      break;
  }
  return settings;
}

void set_field(Settings& settings, const SettingField& field, std::string_view value,
               std::string_view origin) {
  if (const auto* member = std::get_if<int Settings::*>(&field.member)) {
    const int number = parse_number<int>(value, origin, "a whole number");
    check_range(field, number, origin);
    settings.** member = number;
  } else if (const auto* real = std::get_if<double Settings::*>(&field.member)) {
    const double number = parse_number<double>(value, origin, "a number");
    check_range(field, number, origin);
    settings.** real = number;
  } else if (const auto* flag = std::get_if<bool Settings::*>(&field.member)) {
    if (value != "true" && value != "false")
      bad_input("{}: \"{}\" is neither true nor false", origin, value);
    settings.** flag = value == "true";
  } else {
    settings.*std::get<std::string Settings::*>(field.member) = value;
  }
}

Settings parse_method(std::string_view text) {
  const auto end = text.find(':');
  Settings settings = default_settings(method_named(text.substr(0, end)));
  while (end != text.npos && !text.empty()) {
    const auto start = text.find(':');
    if (start == text.npos) break;
    text.remove_prefix(start + 1);
    const std::string_view item = text.substr(0, text.find(':'));
    const auto equals = item.find('=');
    if (equals == item.npos)
      bad_input("\"{}\" in a method: expected NAME=VALUE, as in cbs:steer=0.7", item);
    const std::string_view name = item.substr(0, equals);
    const SettingField* found = nullptr;
    for (const SettingField& field : setting_fields())
      if (field.name == name && field.used_by(settings.method)) found = &field;
    if (!found)
      bad_input("{} has no setting \"{}\"; it has: {}", method_name(settings.method), name,
                fields_of(settings.method));
    set_field(settings, *found, item.substr(equals + 1),
              fmt::format("{}:{}", method_name(settings.method), name));
  }
  validate(settings);
  return settings;
}

void validate(const Settings& settings) {
  for (const SettingField& field : setting_fields()) {
    if (!field.used_by(settings.method)) continue;
    const std::string origin = fmt::format("--{}", field.name);
    if (const auto* member = std::get_if<int Settings::*>(&field.member))
      check_range(field, settings.**member, origin);
    if (const auto* real = std::get_if<double Settings::*>(&field.member))
      check_range(field, settings.**real, origin);
  }
  if (settings.prune > settings.beams)
    bad_input("--prune: {} is more than --beams {}; allowed: 1 to {}", settings.prune,
              settings.beams, settings.beams);
  if (settings.positive.empty() != settings.negative.empty())
    bad_input("--positive and --negative go together: give both, or a named pair by --contexts");
  if (settings.method == TokenContrast && !uses_contexts(settings))
    bad_input("--contexts: token-contrast draws from a contrast and needs a pair, not \"none\"");
  if (settings.policy != "tilt" && settings.policy != "cfg" && settings.policy != "cad")
    bad_input("--policy: \"{}\" is not known; allowed: tilt, cfg, cad", settings.policy);
}

bool uses_contexts(const Settings& settings) {
  const bool named = !settings.positive.empty() || settings.contexts != "none";
  switch (settings.method) {
    case Cbs:
    case TokenContrast:
      return named;
    case BestOfN:
    case SelfConsistency:
      return named && settings.steer != 0;
    default:
      return false;
  }
}

Json to_json(const Settings& settings) {
  Json json = {{"method", method_name(settings.method)}};
  for (const SettingField& field : setting_fields()) {
    if (!field.used_by(settings.method)) continue;
    std::visit([&](auto member) { json[std::string(field.name)] = settings.*member; },
               field.member);
  }
  return json;
}

}  // namespace counterbeam
