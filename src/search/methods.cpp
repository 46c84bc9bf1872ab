#include "search/methods.h"

#include <algorithm>
#include <array>

#include "base/closest.h"
#include "base/error.h"

namespace counterbeam {
namespace {

using Uses = std::vector<SettingUse>;

SettingUse use(std::string_view name, SettingValue otherwise) {
  return {&setting_named(name), std::move(otherwise)};
}

Uses population(int beams, int prune) {
  return {use("beams", beams), use("prune", prune), use("iterations", 0), use("patience", 0)};
}

Uses length(int block = 32) {
  return {use("block", block), use("max-tokens", 3072)};
}

Uses sampling(double temperature) {
  return {use("temperature", temperature), use("top-p", 1.0), use("top-k", 0), use("min-p", 0.0)};
}

Uses contrast(double steer) {
  return {use("steer", steer), use("contexts", "reasoning"), use("positive", ""),
          use("negative", ""), use("joiner", " ")};
}

// In the order of all_settings().
Uses together(std::initializer_list<Uses> parts) {
  Uses all;
  for (const Uses& part : parts) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end(),
            [](const SettingUse& a, const SettingUse& b) { return a.setting < b.setting; });
  return all;
}

std::vector<float> token_mixture(const Settings& settings) {
  const auto steer = static_cast<float>(settings.steer);
  if (settings.policy == "cfg") return {0, steer, 1 - steer};
  if (settings.policy == "cad") return {-steer, 1 + steer, 0};
  return {1, steer, -steer};
}

std::vector<Method> make_methods() {
  return {
      {.name = "cbs",
       .help = "contrastive beam search: likely, and likelier after the positive context than "
               "after the negative one",
       .run = contrastive_beam_search,
       .contrast = Contrast::WhenSteered,
       .ranked = true,
       .settings = together({population(16, 4),
                             length(),
                             sampling(1),
                             contrast(0.25),
                             {use("lookahead", 0), use("horizon", 32)}})},
      {.name = "beam",
       .help = "beam search over mean log-likelihood, without contexts",
       .run = contrastive_beam_search,
       .ranked = true,
       .settings = together({population(16, 4), length(), sampling(1)})},
      {.name = "sample",
       .help = "one sampled answer",
       .run = contrastive_beam_search,
       .ranked = true,
       .settings = together({population(1, 1), length(), sampling(1)})},
      {.name = "low-temperature",
       .help = "one answer sampled at temperature 0.25",
       .run = contrastive_beam_search,
       .ranked = true,
       .settings = together({population(1, 1), length(), sampling(0.25)})},
      {.name = "greedy",
       .help = "one answer, the likeliest token at every step",
       .run = contrastive_beam_search,
       .settings = length(),
       .fixed = {use("temperature", 0.0)}},
      {.name = "best-of-n",
       .help = "N full samples, the best by score",
       .run = best_of_n,
       .contrast = Contrast::WhenSteered,
       .ranked = true,
       .ranks_whole_samples = true,
       .settings = together({{use("beams", 16)}, length(), sampling(1), contrast(0)})},
      {.name = "self-consistency",
       .help = "N full samples, the answer that most of them give",
       .run = self_consistency,
       .contrast = Contrast::WhenSteered,
       .votes = true,
       .settings = together({{use("beams", 16)}, length(), sampling(1), contrast(0)})},
      {.name = "power",
       .help = "scalable power sampling: draws from p^alpha by rollouts",
       .run = power_sampling,
       .weighs_draws = true,
       .settings = together(
           {length(),
            {use("temperature", 0.25), use("horizon", 32), use("alpha", 4.0), use("draws", 16),
             use("candidates", 16), use("rollouts", 16), use("jackknife", true)}})},
      {.name = "mcmc-power",
       .help = "power sampling by Metropolis-Hastings",
       .run = mcmc_power_sampling,
       .traced = false,
       .weighs_draws = true,
       .settings = together({length(192), {use("alpha", 4.0), use("steps", 10)}})},
      {.name = "token-contrast",
       .help = "one answer, every token drawn from the contrast of the prompts",
       .run = contrastive_beam_search,
       .contrast = Contrast::Required,
       .mixture = token_mixture,
       .settings = together({length(),
                             sampling(1),
                             contrast(0.25),
                             {use("policy", "tilt"), use("plausibility", 0.0)}})},
  };
}

std::string settings_of(const Method& method) {
  std::string names;
  for (const SettingUse& one : method.settings)
    names += (names.empty() ? "" : ", ") + std::string(one.setting->name);
  return names;
}

std::string nearest_setting(const Method& method, std::string_view name) {
  std::vector<std::string_view> names;
  for (const SettingUse& one : method.settings) names.push_back(one.setting->name);
  return did_you_mean(name, names);
}

}  // namespace

const Setting* Method::find(std::string_view setting) const {
  for (const SettingUse& one : settings)
    if (one.setting->name == setting) return one.setting;
  return nullptr;
}

std::span<const Method> methods() {
  static const std::vector<Method> kMethods = make_methods();
  return kMethods;
}

const Method& default_method() {
  return methods().front();
}

std::string method_names() {
  std::string names;
  for (const Method& method : methods())
    names += (names.empty() ? "" : ", ") + std::string(method.name);
  return names;
}

const Method& method_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Method& method : methods()) {
    if (method.name == name) return method;
    names.push_back(method.name);
  }
  bad_input("method \"{}\" is not known; known: {}{}", name, method_names(),
            did_you_mean(name, names));
}

Settings default_settings(const Method& method) {
  Settings settings;
  settings.method = &method;
  for (const auto* uses : {&method.settings, &method.fixed})
    for (const SettingUse& one : *uses)
      std::visit(
          [&](auto member) {
            using Value = std::remove_cvref_t<decltype(settings.*member)>;
            settings.*member = std::get<Value>(one.otherwise);
          },
          one.setting->member);
  return settings;
}

Settings default_settings(std::string_view method) {
  return default_settings(method_named(method));
}

Settings without_contexts(Settings settings) {
  settings.steer = 0;
  settings.contexts = "none";
  settings.positive = settings.negative = "";
  settings.joiner = " ";
  return settings;
}

namespace {

// The pieces of `text` between separators that stand outside quotes.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  std::size_t start = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (text[i] == separator && !quoted) {
      pieces.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  if (quoted) bad_input("{}: a quote is opened and not closed", text);
  pieces.push_back(text.substr(start));
  return pieces;
}

// The value itself, quotes and escapes taken away.
std::string unquoted(std::string_view value, std::string_view origin) {
  if (!value.starts_with('"')) return std::string(value);
  std::string text;
  std::size_t i = 1;
  for (; i < value.size() && value[i] != '"'; ++i) {
    if (value[i] == '\\' && i + 1 < value.size()) ++i;
    text += value[i];
  }
  if (i + 1 != value.size())
    bad_input("{}: {}: nothing may follow the closing quote but : or ,", origin, value);
  return text;
}

}  // namespace

Settings parse_method(std::string_view text) {
  const std::vector<std::string_view> pieces = split(text, ':');
  const Method& method = method_named(pieces[0]);
  Settings settings = default_settings(method);
  std::vector<std::string_view> given;
  for (const std::string_view item : std::span(pieces).subspan(1)) {
    const auto equals = item.find('=');
    if (equals == item.npos)
      bad_input("\"{}\" in a method: expected NAME=VALUE, as in cbs:steer=0.7", item);
    const std::string_view name = item.substr(0, equals);
    const Setting* setting = method.find(name);
    if (!setting)
      bad_input("{} has no setting \"{}\"; it has: {}{}", method.name, name, settings_of(method),
                nearest_setting(method, name));
    const std::string origin = fmt::format("{}:{}", method.name, name);
    if (std::find(given.begin(), given.end(), name) != given.end())
      bad_input("{}: given twice; give it once", origin);
    given.push_back(name);
    set_value(settings, *setting, unquoted(item.substr(equals + 1), origin), origin);
  }
  validate(settings);
  return settings;
}

std::vector<std::string> settings_given(std::string_view text) {
  std::vector<std::string> names;
  const std::vector<std::string_view> pieces = split(text, ':');
  for (const std::string_view item : std::span(pieces).subspan(1))
    names.emplace_back(item.substr(0, item.find('=')));
  return names;
}

std::vector<MethodString> parse_methods(std::span<const std::string> texts) {
  std::vector<MethodString> parsed;
  for (const std::string& text : texts) {
    for (const MethodString& former : parsed)
      if (former.text == text) bad_input("--methods: {} is given twice", text);
    parsed.push_back({text, parse_method(text)});
  }
  return parsed;
}

std::vector<MethodString> parse_methods(std::string_view list) {
  std::vector<std::string> texts;
  for (const std::string_view text : split(list, ',')) texts.emplace_back(text);
  return parse_methods(texts);
}

}  // namespace counterbeam
