// Writes a file in pieces and replaces its target atomically: the data goes to a temporary file,
// which finish() renames, so that a reader sees either the old file or the complete new one.
// Without finish() the destructor removes the temporary file. A target that exists and is no
// regular file (a device, a pipe) is written to directly and never replaced.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace counterbeam {

class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  OutputFile(OutputFile&&) = default;
  ~OutputFile();

  void write(const void* data, std::size_t size);
  void finish();  // flushes to disk and renames

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  [[noreturn]] void fail() const;

  std::filesystem::path path_, partial_;  // the same where it is written to directly
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace counterbeam
