// The manual page, made from the description of the command line.
#pragma once

#include <string>

#include "cli/command.h"

namespace counterbeam::cli {

// In the man macros of troff, for section 1. Equal descriptions give equal pages: no date.
std::string manual_page(const Program& program);

}  // namespace counterbeam::cli
