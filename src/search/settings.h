// What a user can set about a method: names, defaults (METHOD by METHOD as published) and ranges.
// One table serves the command line, method strings such as `cbs:steer=0.7:block=16`, the errors
// and the JSON of a result.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/json_fwd.h"

namespace counterbeam {

enum class Method {
  Cbs,
  Beam,
  Sample,
  LowTemperature,
  BestOfN,
  SelfConsistency,
  Power,
  McmcPower,
  TokenContrast,
};

struct Settings {
  Method method = Method::Cbs;
  int beams = 16;            // N
  int prune = 4;             // W: the best N/W survive a block
  int block = 32;            // K
  int iterations = 0;        // T; 0: as many as max_tokens needs
  int max_tokens = 3072;     // of an answer
  double temperature = 1.0;  // tau
  double top_p = 1.0;
  int top_k = 0;
  double steer = 0.25;  // 1/alpha

  std::string contexts = "reasoning";  // a named pair, neutral, or none
  std::string positive, negative;      // the user's own pair; both or neither
  std::string joiner = " ";            // between question and context

  int lookahead = 0;  // M rollouts per candidate; 0: off
  int horizon = 32;   // H tokens of a rollout

  double alpha = 4;     // power and mcmc-power: the exponent
  int draws = 16;       // power: L chunks drawn per block
  int candidates = 16;  // power: K_t likeliest of them kept
  int rollouts = 16;    // power: M_t rollouts per candidate
  bool jackknife = true;
  int steps = 10;  // mcmc-power: Metropolis steps per block

  std::string policy = "tilt";  // token-contrast: tilt, cfg, cad
  double plausibility = 0;      // token-contrast: drop tokens below this share of the likeliest
};

using SettingMember =
    std::variant<int Settings::*, double Settings::*, bool Settings::*, std::string Settings::*>;

struct SettingField {
  std::string_view name;  // on the command line: --NAME
  SettingMember member;
  double least, most;     // for numbers
  std::uint32_t methods;  // a bit per Method that uses it
  std::string_view help;

  bool used_by(Method method) const { return methods >> static_cast<int>(method) & 1; }
};

std::span<const SettingField> setting_fields();

std::string_view method_name(Method method);
// Error lists the names.
Method method_named(std::string_view name);
std::string method_names();  // "cbs, beam, ..."

// The published settings of a method.
Settings default_settings(Method method);

// "cbs", "cbs:steer=0.7:block=16". Error names the setting and what is allowed.
Settings parse_method(std::string_view text);

// Sets one field from text; `origin` ("--steer", "cbs:steer=x") opens the error.
void set_field(Settings& settings, const SettingField& field, std::string_view value,
               std::string_view origin);

// Ranges of single fields and what must hold between them; the error names the flag and the range.
void validate(const Settings& settings);

// Contrast is wanted: there is a pair, and the method looks at it.
bool uses_contexts(const Settings& settings);

// The fields the method uses.
Json to_json(const Settings& settings);

}  // namespace counterbeam
