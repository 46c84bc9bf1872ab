// What a user can set about a method. A Setting describes one value: its name, where it is kept,
// its range and its help text. Which settings a method has, and their defaults, stands in the table
// of methods (search/methods.h). Flags, method strings, the JSON of a result and the help texts are
// made from these two tables.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json_fwd.h"
#include "search/score.h"

namespace counterbeam {

struct Method;

// The values a method runs with. A method reads the settings of its row; the others keep the
// neutral values given here. Make one by parse_method(), or by default_settings().
struct Settings {
  const Method* method = nullptr;

  int beams = 1;             // N
  int prune = 1;             // W: the best N/W survive a block
  int block = 32;            // K
  int iterations = 0;        // T; 0: as many as max_tokens needs
  int max_tokens = 3072;     // of an answer
  int patience = 0;          // blocks without a better finished answer; 0: off
  double temperature = 1.0;  // tau
  double top_p = 1.0;
  int top_k = 0;
  double min_p = 0;
  double steer = 0;  // 1/alpha

  std::string contexts = "reasoning";  // a named pair, neutral, "own", or none
  std::string positive, negative;      // the texts of the pair; empty: those of a named one
  std::string joiner = " ";            // between question and context
  std::string contrast = "both";       // or one of the pair against the plain prompt
  std::string aggregate = "mean";      // of the scores of tokens: mean or sum

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

struct Setting {
  std::string_view name;  // --NAME on the command line, NAME=VALUE in a method string
  SettingMember member;
  double least = 0, most = 0;                   // of a number
  std::span<const std::string_view> choices{};  // of a text; empty: any text
  std::string_view help;

  std::string_view type_name() const;  // "INT", "NUMBER", "true|false", "TEXT", or the choices
};

// Every setting, in the order of help texts.
std::span<const Setting> all_settings();

// REQUIRES a name of the table.
const Setting& setting_named(std::string_view name);

// Sets one value from text. `origin` ("--steer", "cbs:steer") opens the error.
void set_value(Settings& settings, const Setting& setting, std::string_view value,
               std::string_view origin);

// The value as text, as a user would write it: "0.25", "16", "true", "reasoning".
std::string value_text(const Settings& settings, const Setting& setting);

// Ranges of single settings and what must hold between them; the error names the flag and the
// range.
void validate(const Settings& settings);

// True where the method scores answers under a pair of contexts with these settings.
bool uses_contexts(const Settings& settings);

Aggregate aggregate_of(const Settings& settings);

// {"method": NAME, ...}: the settings of the method.
Json to_json(const Settings& settings);

}  // namespace counterbeam
