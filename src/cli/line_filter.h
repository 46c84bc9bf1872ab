// Lines of standard input, worked on by several threads and answered on standard output in their
// order: the --jsonl form of commands.
#pragma once

#include <functional>
#include <string>

namespace counterbeam::cli {

// Calls answer(line, name) for every line that is not blank, on `threads` threads; `name` ("line 3
// of standard input") opens error messages. What it returns is printed with a line end, in the
// order of the lines, and flushed. The first exception ends the work: it is thrown when the answers
// to the lines before it are printed.
void filter_lines(
    int threads,
    const std::function<std::string(const std::string& line, const std::string& name)>& answer);

}  // namespace counterbeam::cli
