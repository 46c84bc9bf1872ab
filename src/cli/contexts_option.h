// --contexts as commands take it: the name of a pair, and files of pairs (@FILE).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "search/method_strings.h"

namespace counterbeam::cli {

class ContextsOption {
 public:
  // For commands with one method: a name, files, or both. REQUIRES this to outlive the parse.
  Value name_or_files();
  // For commands with several methods, which name their pairs themselves: files only.
  Option files_option();

  // The shipped pairs and those of the files.
  ContextBook book() const;

  // Gives the method the named pair. With files, without a name and where the method names no
  // contexts itself, the only pair of the files; the error lists the names where there are several.
  void give_to(GivenMethod& method, const ContextBook& book) const;

 private:
  std::optional<std::string> name_;
  std::vector<std::string> files_;
};

}  // namespace counterbeam::cli
