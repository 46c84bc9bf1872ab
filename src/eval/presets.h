// The experiments of the paper by name: methods, settings and number of samples. Settings that a
// method does not name are the paper's: blocks of 32 tokens, at most 3072 tokens (96 blocks of 32).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace counterbeam {

struct Preset {
  std::string_view name;
  std::string_view about;
  std::vector<std::string> methods;
  int samples = 1;
  std::vector<std::string> quick_methods = {};  // for --quick; empty if the same
  int quick_limit = 24;                         // problems per task
  int concurrency = 0;                          // concurrent searches; 1 if time is measured
};

std::span<const Preset> presets();
// Throws an Error that lists the names.
const Preset& preset_named(std::string_view name);

}  // namespace counterbeam
