// Settings that `eval` and `reproduce` take for all methods at once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/command.h"
#include "search/method_strings.h"

namespace counterbeam::cli {

class SharedSettings {
 public:
  // Adds --max-tokens and --temperature. REQUIRES that this outlives the parse.
  void add_to(Command& command);

  // Gives them to every method that has the setting and whose string does not give it. Error where
  // no method has it, or where a value is out of range.
  void apply_to(std::vector<MethodString>& methods, const ContextBook& book) const;

 private:
  std::map<std::string, std::string> given_;  // by setting name
};

}  // namespace counterbeam::cli
