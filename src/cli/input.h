// Standard input, read whole or line by line. A folder or a closed stream in its place is BadInput.
#pragma once

#include <string>

namespace counterbeam::cli {

std::string read_standard_input();

// The next line without its end; false after the last one. `line` is reused.
bool read_input_line(std::string& line);

}  // namespace counterbeam::cli
