// Reads a command line as its description says.
#pragma once

#include <span>
#include <string>

#include "cli/command.h"

namespace counterbeam::cli {

struct Parsed {
  enum class Wish { Run, Help, Version };
  Wish wish = Wish::Run;
  const Command* command = nullptr;  // null: none was named; then there is no wish to run
};

// Stores what `arguments` (without the program's name) give. Long options take their value as
// `--x v` or `--x=v`, `--` ends the options, and global options may stand before or after the
// command. Without arguments, after the name of a group alone, and wherever --help or -h stands,
// the wish is help; nothing else is then checked. Throws BadInput that names the argument: an
// unknown command or option (with the nearest known one), a value that is missing, wrong or given
// twice, an argument too many or missing.
Parsed parse(const Program& program, std::span<const std::string> arguments);

}  // namespace counterbeam::cli
