// Rows of a data file: JSON lines (plain or gzip) and CSV. Byte-order marks and CRLF are taken as
// they come; every error names the file and the row.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json_fwd.h"

namespace counterbeam {

// The content of a file, unpacked where it is gzip. Error for a damaged or truncated archive.
std::string read_maybe_gzip(const std::filesystem::path& path);

struct DataRow {
  std::string place;                                        // "FILE: row 3"
  std::vector<std::pair<std::string, std::string>> fields;  // strings by name, in order

  // Error when absent.
  const std::string& text(const std::string& field) const;
  const std::string* find(const std::string& field) const;
};

// One object a line; string members become fields, others their JSON text.
std::vector<DataRow> read_json_lines(const std::filesystem::path& path);

// The first record names the columns; fields may be quoted and hold line ends.
std::vector<DataRow> read_csv(const std::filesystem::path& path);

}  // namespace counterbeam
