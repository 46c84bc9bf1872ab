// The text of --help, and the pieces of it that the manual page and the completions share.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace counterbeam::cli {

std::string program_help(const Program& program, int width);
std::string command_help(const Program& program, const Command& command, int width);

// The columns that help has on standard output: those of the terminal, within reason.
int help_width();

// "counterbeam ask [OPTIONS] QUESTION"; of a group "counterbeam contexts COMMAND ...".
std::string usage(const Program& program, const Command& command);

// "-q, --quiet" and "--beams INT".
std::string names_of(const Option& option);

// What help shows in brackets after the text: "[1 to 4096]", "[default: 16]", "[methods: cbs]".
std::vector<std::string> details_of(const Option& option);

// The headings of the command's options, in the order of their first option.
std::vector<std::string> groups_of(const Command& command);

}  // namespace counterbeam::cli
