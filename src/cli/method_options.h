// The settings of a method as command-line options, made from the one table of settings.
#pragma once

#include <map>
#include <string>

#include "cli/command.h"
#include "search/methods.h"

namespace counterbeam::cli {

class MethodOptions {
 public:
  // Adds --method and one option per setting. REQUIRES this to outlive the parse.
  void add_to(CLI::App& command);

  // The method's published settings with what the user gave put over them. Error for a setting
  // that the method does not use, and for values out of range.
  Settings settings() const;

 private:
  std::string method_ = "cbs";
  std::map<std::string, std::string> given_;  // by setting name
};

}  // namespace counterbeam::cli
