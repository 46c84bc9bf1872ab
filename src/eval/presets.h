// The experiments of the paper by name: which methods with which settings, how many samples.
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
  std::vector<std::string> quick_methods;  // --quick, where it differs
  int quick_limit = 24;                    // problems per task
  int concurrency = 0;                     // searches in flight; 1 where time is measured
};

std::span<const Preset> presets();
// Error lists the names.
const Preset& preset_named(std::string_view name);

}  // namespace counterbeam
