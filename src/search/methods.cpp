#include "search/methods.h"

#include <algorithm>
#include <array>

#include "base/closest.h"
#include "base/error.h"
#include "base/quote.h"

namespace counterbeam {
namespace {

using Uses = std::vector<SettingUse>;

SettingUse use(std::string_view name, SettingValue otherwise, std::vector<DefaultWhen> when = {}) {
  return {&setting_named(name), std::move(otherwise), std::move(when)};
}

DefaultWhen when(std::string_view other, std::string_view value, SettingValue otherwise) {
  return {&setting_named(other), value, std::move(otherwise)};
}

Uses population(int beams, int prune) {
  return {use("beams", beams), use("prune", prune), use("iterations", 0), use("patience", 0),
          use("aggregate", "mean")};
}

Uses length(int block = 32) {
  return {use("block", block), use("max-tokens", 3072)};
}

Uses sampling(double temperature) {
  return {use("temperature", temperature), use("top-p", 1.0), use("top-k", 0), use("min-p", 0.0)};
}

Uses contexts() {
  return {use("contexts", "reasoning"), use("positive", ""), use("negative", ""),
          use("joiner", " ")};
}

Uses contrast(double steer) {
  return {use("steer", steer), use("contrast", "both")};
}

Uses full_samples() {
  return {use("beams", 16), use("aggregate", "mean")};
}

// Classifier-free guidance starts at 1, the positive context alone; 1.5 is what Sanchez et al. 2023
// recommend. Context-aware decoding at 0.5 is the setting of Shi et al. 2023; it contrasts the
// positive context with the plain prompt.
Uses token_contrast() {
  return {use("steer", 0.25, {when("policy", "cfg", 1.5), when("policy", "cad", 0.5)}),
          use("contrast", "both", {when("policy", "cad", "positive")}), use("policy", "tilt"),
          use("plausibility", 0.0)};
}

void put(Settings& settings, const Setting& setting, const SettingValue& value) {
  std::visit(
      [&](auto member) {
        using Value = std::remove_cvref_t<decltype(settings.*member)>;
        settings.*member = std::get<Value>(value);
      },
      setting.member);
}

// In the order of all_settings().
Uses together(std::initializer_list<Uses> parts) {
  Uses all;
  for (const Uses& part : parts) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end(),
            [](const SettingUse& a, const SettingUse& b) { return a.setting < b.setting; });
  return all;
}

std::array<float, 3> token_mixture(const Settings& settings) {
  const auto steer = static_cast<float>(settings.steer);
  if (settings.policy == "cfg") return {0, steer, 1 - steer};
  if (settings.policy == "cad") return {-steer, 1 + steer, 0};
  return {1, steer, -steer};
}

void check_token_contrast(const Settings& settings) {
  if (settings.policy == "cfg" && settings.steer < 1)
    bad_input(
        "token-contrast:policy=cfg: a scale of {} (steer) leans towards the negative context, and "
        "1 is the positive context alone; give 1 or more, or use policy=tilt",
        settings.steer);
  if (settings.policy == "cad" && settings.contrast == "negative")
    bad_input(
        "token-contrast:policy=cad: it contrasts the positive context with the plain prompt, so "
        "contrast=negative leaves nothing; use contrast=positive, or policy=tilt");
}

std::vector<Method> make_methods() {
  return {
      {.name = "cbs",
       .help = "contrastive beam search: answers that are likely, and likelier with the positive "
               "context than with the negative one",
       .run = contrastive_beam_search,
       .contrast = Contrast::WhenSteered,
       .streams = true,
       .ranked = true,
       .settings = together({population(16, 4),
                             length(),
                             sampling(1),
                             contexts(),
                             contrast(0.25),
                             {use("lookahead", 0), use("horizon", 32)}})},
      {.name = "beam",
       .help = "beam search over mean log-likelihood, without contexts",
       .run = contrastive_beam_search,
       .streams = true,
       .ranked = true,
       .settings = together({population(16, 4), length(), sampling(1)})},
      {.name = "sample",
       .help = "one sampled answer",
       .run = contrastive_beam_search,
       .streams = true,
       .ranked = true,
       .settings = together({population(1, 1), length(), sampling(1)})},
      {.name = "low-temperature",
       .help = "one answer sampled at temperature 0.25",
       .run = contrastive_beam_search,
       .streams = true,
       .ranked = true,
       .settings = together({population(1, 1), length(), sampling(0.25)})},
      {.name = "greedy",
       .help = "one answer, the likeliest token at every step",
       .run = contrastive_beam_search,
       .streams = true,
       .settings = length(),
       .fixed = {use("temperature", 0.0)}},
      {.name = "best-of-n",
       .help = "N full samples; takes the one with the best score",
       .run = best_of_n,
       .contrast = Contrast::WhenSteered,
       .ranked = true,
       .ranks_whole_samples = true,
       .settings = together({full_samples(), length(), sampling(1), contexts(), contrast(0)})},
      {.name = "self-consistency",
       .help = "N full samples; takes the answer that most of them give",
       .run = self_consistency,
       .contrast = Contrast::WhenSteered,
       .votes = true,
       .settings = together({full_samples(), length(), sampling(1), contexts(), contrast(0)})},
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
       .help = "one answer; every token is drawn from a combination of the three prompts",
       .run = contrastive_beam_search,
       .contrast = Contrast::Required,
       .mixture = token_mixture,
       .check = check_token_contrast,
       .streams = true,
       .settings = together({length(), sampling(1), contexts(), token_contrast()})},
  };
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
  bad_input("method \"{}\" is not known; known: {}{}", printable(name, 60), method_names(),
            did_you_mean(name, names));
}

Settings default_settings(const Method& method) {
  Settings settings;
  settings.method = &method;
  for (const auto* uses : {&method.settings, &method.fixed})
    for (const SettingUse& one : *uses) put(settings, *one.setting, one.otherwise);
  return settings;
}

Settings default_settings(std::string_view method) {
  return default_settings(method_named(method));
}

void set_dependent_defaults(Settings& settings, std::span<const std::string_view> given) {
  for (const SettingUse& one : settings.method->settings) {
    if (std::find(given.begin(), given.end(), one.setting->name) != given.end()) continue;
    const auto applies = std::find_if(
        one.when.begin(), one.when.end(),
        [&](const DefaultWhen& when) { return value_text(settings, *when.other) == when.value; });
    if (applies != one.when.end()) put(settings, *one.setting, applies->otherwise);
  }
}

Settings without_contexts(Settings settings) {
  settings.steer = 0;
  settings.contexts = "none";
  settings.positive = settings.negative = "";
  settings.joiner = " ";
  settings.contrast = "both";
  settings.aggregate = "mean";
  return settings;
}

}  // namespace counterbeam
