// A file written in pieces beside its target and renamed over it when finished: a reader sees the
// old file or the whole new one. Dropped before finish(), it leaves nothing behind.
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
  void finish();  // flushes to the disk and renames

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  [[noreturn]] void fail() const;

  std::filesystem::path path_, partial_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace counterbeam
