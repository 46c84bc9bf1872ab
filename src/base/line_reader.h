// Reads a file line by line and holds one line of bounded length, so that neither a huge file nor a
// file without line ends costs memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/regular_file.h"

namespace counterbeam {

class LineReader {
 public:
  // Throws an Error if the file is no regular file or cannot be opened.
  LineReader(std::filesystem::path path, std::size_t most_bytes_of_a_line);

  // Reads the next complete line, without its end; false after the last one. Throws an Error that
  // names the file and the line if a line, also one without an end, is too long.
  bool next(std::string& line);

  std::string place() const;  // "FILE: line 3", of the line that was read last
  // The bytes after the last line end, once next() has returned false.
  std::size_t rest() const { return rest_; }

 private:
  bool refill();
  void append(std::string& line, const char* text, std::size_t size) const;

  std::filesystem::path path_;
  std::size_t most_, rest_ = 0;
  OpenFile file_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, filled_ = 0;  // what of the buffer is not read yet
  std::int64_t number_ = 0;
};

}  // namespace counterbeam
