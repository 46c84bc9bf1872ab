// The settings of a method as command-line options, made from the one table of settings.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/contexts_option.h"
#include "search/method_strings.h"

namespace counterbeam::cli {

class MethodOptions {
 public:
  // Adds --method and one option per setting. REQUIRES this to outlive the parse.
  void add_to(Command& command);

  // The method's published settings with what the user gave put over them. Error for a setting
  // that the method does not use, and for values out of range.
  Settings settings() const;

 private:
  std::string method_ = "cbs";
  std::map<std::string, std::string> given_;  // by setting name
  ContextsOption contexts_;
};

// The names of all methods, for completion.
std::vector<std::string> method_choices();

// The methods with what they do.
Section methods_section();

// The settings as they stand in method strings, with their types, defaults and ranges.
Section settings_section();

}  // namespace counterbeam::cli
