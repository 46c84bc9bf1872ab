// The two streams of a program. Results go to standard output and must arrive: a full disk or a
// closed stream is an Error. Messages go to standard error and may be lost: a program whose
// messages cannot be written continues.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "counterbeam/error.h"

namespace counterbeam {

// Standard output cannot be written, so that no further result can arrive: code that answers many
// requests must not take it for the error of one of them.
class ResultsLost : public Failed {
 public:
  ResultsLost(const std::string& message, bool reader_left)
      : Failed(message), reader_left_(reader_left) {}
  // The other end of the pipe is closed, as in "counterbeam ... | head": nobody wants more results.
  bool reader_left() const { return reader_left_; }

 private:
  bool reader_left_;
};

// Throws ResultsLost with the system's reason if standard output cannot be written. Output is
// buffered: call flush_results before the end of the program, or where a reader waits for it.
void write_result(std::string_view text);
void flush_results();

template <typename... Args>
void print_result(fmt::format_string<Args...> format, Args&&... args) {
  write_result(fmt::vformat(format, fmt::make_format_args(args...)));
}

// Written and flushed at once; a failure is ignored.
void write_message(std::string_view text, std::FILE* stream = stderr) noexcept;

// The same with control characters escaped, except line ends: text from outside, such as the name
// of a file, could act on a terminal. Allocates nothing.
void write_escaped(std::string_view text, std::FILE* stream = stderr) noexcept;

template <typename... Args>
void print_message(fmt::format_string<Args...> format, Args&&... args) {
  write_message(fmt::vformat(format, fmt::make_format_args(args...)));
}

// Occupies those of the file descriptors 0, 1 and 2 that the caller of the program closed, such
// that reading or writing them fails. Otherwise the next file that is opened would take the number
// and results would be written into it. Call it first in main.
void occupy_closed_streams();

// Makes writing into a closed pipe, or beyond the limit on the size of files, an error of that
// write in place of a signal that ends the program. Child processes inherit this.
void make_write_signals_errors();

}  // namespace counterbeam
