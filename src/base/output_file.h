// Writes a file in pieces and replaces its target atomically: a reader sees either the old file or
// the complete new one. Until finish() the data has no name (O_TMPFILE), so that nothing is left
// behind when the program is killed; where the file system cannot do that, and for the instant in
// which a target is replaced, it has a name of ours beside the target
// (.counterbeam-PID-NUMBER.part). A target that exists and is no regular file (a device, a FIFO) is
// never replaced: where the user named it, it is written to directly, otherwise it is refused. So
// are the descriptors of this process (/dev/stdout), whatever they are.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace counterbeam {

enum class Target {
  RegularFile,  // a file of ours in a folder, where a device or a FIFO is a mistake or a trap
  Any,          // the user gave the name of the file itself
};

class OutputFile {
 public:
  // Throws an Error that names the file if it cannot be opened. Never waits: a FIFO that nobody
  // reads is an error.
  explicit OutputFile(std::filesystem::path path, Target target = Target::RegularFile);
  OutputFile(OutputFile&&) = default;
  ~OutputFile();

  void write(const void* data, std::size_t size);
  void finish();  // flushes to disk and gives the file its name

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void open();
  void open_direct();
  void open_copy_of(int descriptor);
  void give_name();
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  std::filesystem::path partial_;  // the name it has until finish(); empty: none
  bool direct_ = false;            // written to as it is
  std::unique_ptr<std::FILE, Close> file_;
};

// Removes what an OutputFile of a killed process may have left in the folder. Files of others are
// never touched.
void remove_partial_files(const std::filesystem::path& folder);

}  // namespace counterbeam
