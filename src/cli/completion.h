// Completions for shells, made from the description of the command line: commands, options, the
// choices of values, files and folders.
#pragma once

#include <string>

#include "cli/command.h"

namespace counterbeam::cli {

std::string bash_completion(const Program& program);
std::string zsh_completion(const Program& program);
std::string fish_completion(const Program& program);

}  // namespace counterbeam::cli
