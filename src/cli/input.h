// Standard input, read whole or line by line. A folder or a closed stream in its place is BadInput,
// and so is more than kMostInput: an endless device must not fill the memory.
#pragma once

#include <cstddef>
#include <string>

namespace counterbeam::cli {

// Bytes of a line, or of the whole.
inline constexpr std::size_t kMostInput = std::size_t{64} << 20;

std::string read_standard_input();

// The next line without its end; false after the last one. `line` is reused.
bool read_input_line(std::string& line);

}  // namespace counterbeam::cli
