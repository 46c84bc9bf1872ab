// Writes a float32 matrix as .npy (format version 1.0), row by row, to a file that the user names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "base/output_file.h"

namespace counterbeam {

class NpyWriter {
 public:
  NpyWriter(const std::filesystem::path& path, std::int64_t rows, std::int64_t columns);

  void row(std::span<const float> values);  // REQUIRES: `columns` values
  void finish();                            // REQUIRES: all rows were written

 private:
  OutputFile file_;
  std::int64_t rows_left_, columns_;
};

}  // namespace counterbeam
